"""The array types that signatures speak of, each in one word; and how what holds them is shown.

A `State` is arrays by name: what has to be saved to go on from there.
"""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Bits = npt.NDArray[np.uint8]  #: genomes: 0 and 1
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.uint16]  #: base values of cells
UInts = npt.NDArray[np.uint32]  #: indices and counts of kernels
Floats = npt.NDArray[np.float64]
Values = npt.NDArray[Any]  #: numbers of any type, such as those of a measure
State = dict[str, Values]  #: what is saved: no objects, so nothing has to be pickled

#: Longer texts are no names.
_LONGEST_NAME = 200


class Outlined:
    """A dataclass whose `repr` is one line that says how much it holds, and no value of a table.

    The last line of a notebook cell is shown and saved with the notebook, whoever reads it; so are
    tracebacks and logs. To be declared with ``repr=False``, as are fields that show a value.
    """

    def __repr__(self) -> str:
        parts = (
            f"{each.name}={_outline(getattr(self, each.name))}"
            for each in fields(self)  # type: ignore[arg-type]
            if each.repr
        )
        return f"{type(self).__name__}({', '.join(parts)})"


def _outline(value: Any) -> str:
    """A number, a name or something outlined as it is, anything else by its size or type."""
    if value is None or isinstance(value, (int, float, Path, Outlined)):
        return repr(value)
    if isinstance(value, str) and len(value) <= _LONGEST_NAME and value.isprintable():
        return repr(str(value))
    if isinstance(value, np.ndarray):
        return f"<{' x '.join(map(str, value.shape))}>"
    return f"<{len(value):,}>" if isinstance(value, Sized) else f"<{type(value).__name__}>"
