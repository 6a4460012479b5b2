"""Writing released columns as CSV or Parquet.

A column arrives as the distinct texts it may show and one code per row, so a text is quoted,
defused or looked at once, however many rows carry it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from moanon.errors import OutputError

#: Rows that are put together at a time.
_BLOCK = 1 << 16

#: First characters (also in full width) that make a spreadsheet take a cell for a formula, behind
#: any apostrophes: those are counted so that taking one away always gives the cell back.
_FORMULA = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_QUOTED = re.compile('[",\r\n]')


@dataclass(frozen=True, eq=False)
class ReleasedColumn:
    """One column of a release.

    Attributes
    ----------
    name : str
    texts : array of object
        What a cell may show; None where it shows nothing.
    codes : array (rows,) of int
        Index into `texts` for each released row.
    native : array or None
        The first of `texts` in their own type, where the source was typed and all cells still are.
    """

    name: str
    texts: npt.NDArray[np.object_]
    codes: npt.NDArray[np.integer[Any]]
    native: npt.NDArray[Any] | None = None

    @property
    def zoned(self) -> bool:
        """Whether the column holds instants: times in UTC, whose texts say so."""
        return (
            self.native is not None
            and self.native.dtype.kind == "M"
            and str(self.texts[0]).endswith("+00:00")
        )


def defuse(text: str) -> str:
    """Put an apostrophe before a cell that a spreadsheet would run as a formula.

    Plain numbers such as -3 or +1.5e3 stay as they are. A cell that already begins with apostrophes
    and then such a character gets one more, so that no two cells become the same and a reader can
    undo it.

    Examples
    --------
    >>> [defuse(text) for text in ("=1+1", "-3", "'=1+1", "it's")]
    ["'=1+1", '-3', "''=1+1", "it's"]
    """
    if _FORMULA.match(text) and not _NUMBER.fullmatch(text):
        return "'" + text
    return text


def write_csv(path: Path, columns: Sequence[ReleasedColumn], *, raw_cells: bool) -> None:
    r"""Write a CSV file: UTF-8, ``\n``, a header, quotes where RFC 4180 asks for them.

    A missing cell is empty; an empty text is a pair of quotes.
    """
    spelled = [
        np.array([_cell(text, raw_cells) for text in c.texts], dtype=object) for c in columns
    ]
    rows = len(columns[0].codes)
    with path.open("w", encoding="utf-8", newline="") as stream:
        stream.write(",".join(_cell(column.name, raw_cells) for column in columns) + "\n")
        for start in range(0, rows, _BLOCK):
            block = [
                texts[column.codes[start : start + _BLOCK]].tolist()
                for texts, column in zip(spelled, columns, strict=True)
            ]
            lines = map(",".join, zip(*block, strict=True))
            stream.write("\n".join(lines) + "\n")


def _cell(text: str | None, raw: bool) -> str:
    if text is None:
        return ""
    if not raw:
        text = defuse(text)
    if not text or _QUOTED.search(text):
        return '"' + text.replace('"', '""') + '"'
    return text


def write_parquet(path: Path, columns: Sequence[ReleasedColumn]) -> None:
    """Write a Parquet file: texts as VARCHAR, other columns in their own types.

    Only texts of released rows are handed over, so that the file's dictionaries and statistics can
    hold nothing else.

    Names that differ in case only are refused, since such a file cannot hold both.
    """
    import duckdb  # here, because a CSV must not wait for it
    import pandas as pd

    seen: dict[str, str] = {}
    for column in columns:
        other = seen.setdefault(column.name.lower(), column.name)
        if other != column.name:
            raise OutputError(
                f"columns {other!r} and {column.name!r} differ in case only, which a Parquet file "
                "written here cannot keep; write a CSV file"
            )
    cells = {f"c{i}": column.texts[column.codes] for i, column in enumerate(columns)}
    released = pd.DataFrame(cells, dtype=object)
    chosen = ", ".join(
        f"CAST(c{i} AS {sql_type(column)}) AS {_quoted(column.name)}"
        for i, column in enumerate(columns)
    )
    place = str(path.absolute()).replace("'", "''")
    try:
        with duckdb.connect(":memory:", config={"temp_directory": ""}) as database:
            # 0: columns of objects are texts. Otherwise DuckDB looks at some cells and guesses.
            database.execute("SET pandas_analyze_sample = 0")
            database.register("released", released)
            database.execute(
                f"COPY (SELECT {chosen} FROM released) TO '{place}' "
                "(FORMAT PARQUET, USE_TMP_FILE false)"
            )
    except duckdb.Error as error:
        raise OSError(_reason(error, path)) from None


def _reason(error: Exception, path: Path) -> str:
    """Give the first sentence of DuckDB's error, without the name the file has for now."""
    message = str(error).splitlines()[0]
    number = re.search(r'"errno":"([0-9]+)"', message)
    if number:
        return os.strerror(int(number[1]))
    return message.removeprefix("IO Error: ").replace(f' "{path.absolute()}"', "")


def sql_type(column: ReleasedColumn) -> str:
    """Type of a column in Parquet: numbers, booleans and dates keep theirs, all else is text."""
    if column.native is None:
        return "VARCHAR"
    dtype = column.native.dtype
    if column.zoned:
        return "TIMESTAMP WITH TIME ZONE"
    if dtype.kind == "M":
        units = {"D": "DATE", "ns": "TIMESTAMP_NS"}
        return units.get(np.datetime_data(dtype)[0], "TIMESTAMP")
    names = {"b": "BOOLEAN", "i": "BIGINT", "f": "FLOAT" if dtype.itemsize < 8 else "DOUBLE"}
    return names.get(dtype.kind, "VARCHAR")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
