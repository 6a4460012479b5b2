"""Columns made by hand: cells as texts, None where one is missing."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from moanon.data.column import Column


def column_of(cells: Iterable[str | None], name: str = "x") -> Column:
    """Factorize cells as a reader would: distinct texts, sorted; code -1 for a missing cell."""
    cells = list(cells)
    values = sorted({cell for cell in cells if cell is not None})
    index = {value: code for code, value in enumerate(values)}
    codes = [-1 if cell is None else index[cell] for cell in cells]
    return Column(name, np.array(codes, dtype=np.int32), tuple(values), None)
