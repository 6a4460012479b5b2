"""Writing released columns as CSV or Parquet.

A column arrives as the distinct texts it may show and one code per row, so a text is quoted,
defused or looked at once, however many rows carry it.

Cells are written as they are. Some could be run by a spreadsheet that opens the file
(`formula_cells` counts them); on request they get an apostrophe (`spreadsheet_safe`), in both kinds
of files alike.

The type of a column in Parquet must not tell of rows that are not released. It is text where the
source has no types of columns (CSV, sheets), for labels, and where released cells show more than
values (stars, ``(missing)``). Where the source has a schema (Parquet, databases), the schema says
it, in memory and out of core alike. A frame has one, too, but its types follow its values: one gap
makes whole numbers floats. There the values of released cells say it, and no value says text
(`moanon.data.column.type_of_values`).
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from moanon.arrays import Outlined
from moanon.data.column import TEXT
from moanon.data.file_form import defuse, is_formula
from moanon.errors import OutputError

#: Rows that are put together at a time.
_BLOCK = 1 << 16

#: Rows of a part, where a release is a folder of parts.
_PART_ROWS = 1_000_000

_QUOTED = re.compile('[",\r\n]')


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedColumn(Outlined):
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
    sql_type : str
        Type in Parquet.
    """

    name: str
    texts: npt.NDArray[np.object_]
    codes: npt.NDArray[np.integer[Any]]
    native: npt.NDArray[Any] | None = None
    sql_type: str = TEXT

    @property
    def is_text(self) -> bool:
        """Whether its cells are texts; numbers, truth values and dates are run by nobody."""
        return self.sql_type == TEXT


def formula_cells(columns: Sequence[ReleasedColumn]) -> int:
    """Number of cells that a spreadsheet would run, names of columns included."""
    found = sum(is_formula(column.name) for column in columns)
    for column in columns:
        if column.is_text:
            runs = np.array([is_formula(text) for text in column.texts], dtype=bool)
            found += int(runs[column.codes].sum()) if runs.any() else 0
    return found


def spreadsheet_safe(columns: Sequence[ReleasedColumn]) -> list[ReleasedColumn]:
    """Columns with an apostrophe before each cell, and each name, that a spreadsheet would run."""
    safe = [replace(column, name=defuse(column.name)) for column in columns]
    for place, column in enumerate(safe):
        if column.is_text:
            texts = [None if text is None else defuse(text) for text in column.texts]
            safe[place] = replace(column, texts=np.array(texts, dtype=object))
    return safe


def in_parts(columns: Sequence[ReleasedColumn]) -> Iterator[list[ReleasedColumn]]:
    """Cut rows into parts."""
    for start in range(0, len(columns[0].codes), _PART_ROWS):
        yield [replace(c, codes=c.codes[start : start + _PART_ROWS]) for c in columns]


def shuffled(columns: Sequence[ReleasedColumn], seed: int | None) -> list[ReleasedColumn]:
    """Put rows in an order that depends on the seed and on what they show, and on nothing else.

    Without a seed the system's randomness orders them. Otherwise they are sorted by a digest of the
    seed and their line of a CSV file; lines that are the same are numbered. So the same rows have
    the same order wherever they come from, and neither a line number nor the seed tells where a row
    stood in the source. Engines sort by the same digests (`moanon.engines.duck.shuffled`).
    """
    if seed is None:
        drawn = np.random.default_rng(secrets.randbits(128)).permutation(len(columns[0].codes))
        return [replace(column, codes=column.codes[drawn]) for column in columns]
    spelled = [np.array([spell(text) for text in c.texts], dtype=object) for c in columns]
    cells = [texts[c.codes] for texts, c in zip(spelled, columns, strict=True)]
    seen: Counter[str] = Counter()
    digests = []
    for line in map(",".join, zip(*cells, strict=True)):
        key = f"{seed}/{seen[line]}/{line}"
        digests.append(hashlib.md5(key.encode(), usedforsecurity=False).digest())
        seen[line] += 1
    order = np.array(sorted(range(len(digests)), key=digests.__getitem__), dtype=np.int64)
    return [replace(column, codes=column.codes[order]) for column in columns]


def write_csv(path: Path, columns: Sequence[ReleasedColumn]) -> None:
    r"""Write a CSV file: UTF-8, ``\n``, a header, quotes where RFC 4180 asks for them.

    A missing cell is empty; an empty text is a pair of quotes.
    """
    spelled = [np.array([spell(text) for text in c.texts], dtype=object) for c in columns]
    rows = len(columns[0].codes)
    with path.open("w", encoding="utf-8", newline="") as stream:
        stream.write(",".join(spell(column.name) for column in columns) + "\n")
        for start in range(0, rows, _BLOCK):
            block = [
                texts[column.codes[start : start + _BLOCK]].tolist()
                for texts, column in zip(spelled, columns, strict=True)
            ]
            lines = map(",".join, zip(*block, strict=True))
            stream.write("\n".join(lines) + "\n")


def spell(text: str | None) -> str:
    """Write a cell of a CSV file, in quotes where RFC 4180 asks for them."""
    if text is None:
        return ""
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

    refuse_names_alike([column.name for column in columns])
    cells = {f"c{i}": column.texts[column.codes] for i, column in enumerate(columns)}
    released = pd.DataFrame(cells, dtype=object)
    chosen = ", ".join(
        f"CAST(c{i} AS {column.sql_type}) AS {_quoted(column.name)}"
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


def refuse_names_alike(names: Sequence[str]) -> None:
    """Refuse names that differ in case only."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise OutputError(
                f"columns {other!r} and {name!r} differ in case only, which a Parquet file "
                "written here cannot keep; write a CSV file"
            )


def _reason(error: Exception, path: Path) -> str:
    """Give the first sentence of DuckDB's error, without the name the file has for now."""
    message = str(error).splitlines()[0]
    number = re.search(r'"errno":"([0-9]+)"', message)
    if number:
        return os.strerror(int(number[1]))
    return message.removeprefix("IO Error: ").replace(f' "{path.absolute()}"', "")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
