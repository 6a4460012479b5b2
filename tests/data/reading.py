"""How the tests of this folder read a source, and random cells to put into one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from hypothesis import strategies as st

from moanon.data.column import Column
from moanon.engines import Source, open_source
from moanon.errors import DataError
from tests.refusals import refusal_of

Cells = list[tuple[str | None, ...]]
SPECIAL = ["", "NA", "nan", "NULL", '"', '""', ",", ";", "\t", "|", "\n", "\r", "\r\n", " x ", "#"]
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
CELL = st.one_of(st.sampled_from(SPECIAL), ANY_TEXT)
NAME = ANY_TEXT.filter(lambda name: name and "\ufeff" not in name)


def texts(column: Column) -> list[str | None]:
    return [None if code < 0 else column.values[code] for code in column.codes]


def columns(source: Source) -> list[Column]:
    return [source.store.column(name) for name in source.store.columns]


def rows(source: Source) -> Cells:
    return list(zip(*map(texts, columns(source)), strict=True))


def names(source: Source) -> list[str]:
    return [column.name for column in source.columns]


def write(folder: Path, data: str | bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def refusal(source: Any, **options: Any) -> str:
    return refusal_of(DataError, open_source, source, **options)


def one(values: Any, **options: Any) -> Column:
    """The column that comes of one column of a frame."""
    return columns(open_source(pd.DataFrame({"x": values}), **options))[0]


@st.composite
def text_tables(draw: st.DrawFn, cell: st.SearchStrategy[Any] = CELL) -> tuple[list[str], Any]:
    header = draw(st.lists(NAME, min_size=1, max_size=4, unique=True))
    row = st.tuples(*[cell] * len(header))
    return header, draw(st.lists(row, min_size=1, max_size=8))
