"""The array types that signatures speak of, each in one word."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Bits = npt.NDArray[np.uint8]  #: genomes: 0 and 1
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
UInts = npt.NDArray[np.uint32]  #: indices and counts of kernels
Floats = npt.NDArray[np.float64]
Values = npt.NDArray[Any]  #: numbers of any type, such as those of a measure
