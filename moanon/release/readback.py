"""An independent reader of released files, which finds out what a file itself shows.

Nothing here is shared with the code that writes a release. The file is parsed from its bytes, its
labels are taken apart as texts, and groups are counted from those labels, in plain Python or, in
large files, by DuckDB out of core. All that
the reader is told (`Reading`) are plain facts: the columns' roles, what a label of each column may
say, how many rows the table had and with which sensitive values. A mistake in the writer can
therefore not hide behind itself.
"""

from __future__ import annotations

import csv
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from moanon.arrays import Outlined
from moanon.data.readers import long_fields
from moanon.errors import CertificateError
from moanon.release.labels import BlockLabels
from moanon.release.reader_privacy import SensitiveFacts, worst_privacy

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Written here again on purpose: these are promises about a released file, not about its writer.
_STAR = "*"
#: An apostrophe in front of a cell that a spreadsheet would run as a formula.
_DEFUSED = re.compile("'+[=+\\-@\t\r\n＝＋－＠]")

Format = Literal["csv", "parquet", "table"]
#: What a released file measures as: numbers by the names they have in a front, each with the
#: sensitive column that it is of, or an empty name where it is of the whole file. ``rows`` are
#: those released.
NamedValues = dict[tuple[str, str], int | float | Fraction]
#: How often each tuple of measured cells occurs: the quasi-identifiers, then the sensitive ones.
#: Cells as they stand in the file; apostrophes are taken away only where a text is looked at.
Tally = dict[tuple[str | None, ...], int]
#: For sensitive columns that a file holds in another type than text: what its cells are as texts.
Spelled = dict[str, dict[str | None, str]]
#: CSV files of so many bytes are not read row by row.
_LARGE = 32 << 20
#: What DuckDB may hold before it spills.
_MEMORY = "500MB"
#: Floats hold every whole number up to here.
_WHOLE = 2**53


@dataclass(frozen=True, repr=False)
class Reading(Outlined):
    """What the reader is told about a released file; nothing of what was promised.

    Attributes
    ----------
    format : {"csv", "parquet", "table"}
        How the file is written, or that it is a table of a database.
    header : tuple of str
        All its columns in order.
    quasi : mapping of str to BlockLabels
        The quasi-identifiers, and what their labels may say.
    sensitive : mapping of str to SensitiveFacts
        The sensitive columns, and which values the whole table has there.
    table_rows : int
        Rows of the table before any suppression.
    stars : bool
        Whether suppressed rows are present, every cell a star.
    defused : bool
        Whether cells that a spreadsheet would run carry an apostrophe.
    c : float
        The constant of recursive (c,ℓ)-diversity.
    """

    format: Format
    header: tuple[str, ...]
    quasi: Mapping[str, BlockLabels]
    sensitive: Mapping[str, SensitiveFacts]
    table_rows: int
    stars: bool = False
    defused: bool = False
    c: float = 3

    @property
    def measured(self) -> tuple[int, ...]:
        """Positions of the columns that are measured: quasi-identifiers, then sensitive ones."""
        return tuple(self.header.index(name) for name in (*self.quasi, *self.sensitive))

    @property
    def has_exact_quotients(self) -> bool:
        """Whether compiled loops, which divide floats, find the same quotients to the last bit."""
        spans = [facts.span for facts in self.sensitive.values()]
        return self.table_rows**2 * max([1, *spans]) < _WHOLE


def measure_file(path: Path, reading: Reading) -> NamedValues:
    """Measure a released file from what is in it.

    Raises
    ------
    CertificateError
        If the file cannot be read as a release: other columns, no rows, a label that stands for no
        block of its column, a sensitive value that the table does not have.
    """
    return measure_tally(*_read(path, reading), reading)


def measure_tally(tally: Tally, starred: int, spelled: Spelled, reading: Reading) -> NamedValues:
    """Measure what was counted in a file or table; see `measure_file`."""
    if not tally:
        raise CertificateError("it has no rows")
    rows = sum(tally.values())
    suppressed = starred if reading.stars else reading.table_rows - rows
    width = len(reading.quasi)
    numbers, sizes = _number_groups(tally, width)
    gl = _lost(tally, reading) / (reading.table_rows * width)
    sl = Fraction(suppressed, reading.table_rows)
    found: NamedValues = {
        ("rows", ""): rows,
        ("suppressed", ""): suppressed,
        ("groups", ""): len(sizes),
        ("k", ""): min(sizes),
        ("weighted_k_kept", ""): Fraction(sum(size * size for size in sizes), rows),
        ("gl", ""): float(gl),
        ("sl", ""): float(sl),
        ("loss", ""): float(gl + sl),
    }
    for place, (name, facts) in enumerate(reading.sensitive.items(), width):
        texts = _texts(name, tally, place, reading, spelled)
        try:
            values = worst_privacy(
                _histograms(tally, numbers, place, texts), facts, Fraction(str(reading.c))
            )
        except CertificateError as error:
            raise CertificateError(f"column {name!r}: {error}") from None
        found |= {(measure, name): value for measure, value in values.items()}
    return found


def _number_groups(tally: Tally, width: int) -> tuple[list[int], list[int]]:
    """Give the number of each tuple's group, and the rows in each group."""
    known: dict[tuple[str | None, ...], int] = {}
    numbers = [known.setdefault(cells[:width], len(known)) for cells in tally]
    sizes = [0] * len(known)
    for number, count in zip(numbers, tally.values(), strict=True):
        sizes[number] += count
    return numbers, sizes


def _lost(tally: Tally, reading: Reading) -> Fraction:
    """Sum the losses of all released cells (D eq. 3), exactly."""
    total = Fraction(0)
    for place, (name, labels) in enumerate(reading.quasi.items()):
        rows: defaultdict[str | None, int] = defaultdict(int)
        for cells, count in tally.items():
            rows[cells[place]] += count
        for cell, count in rows.items():
            label = undefuse(cell) if cell is not None and reading.defused else cell
            values = None if label is None else labels.count(label)
            if values is None:
                raise CertificateError(
                    f"column {name!r}: the label {label!r} stands for no block of its values, or "
                    "for more than one"
                )
            if (most := labels.values_in(0, labels.size)) > 1:
                total += Fraction((values - 1) * count, most - 1)
    return total


def _texts(
    name: str, tally: Tally, place: int, reading: Reading, spelled: Spelled
) -> dict[str | None, str]:
    """Texts that the cells of a sensitive column stand for."""
    found: dict[str | None, str] = {}
    for cell in {cells[place] for cells in tally}:
        if cell is None:
            raise CertificateError(f"column {name!r}: a sensitive cell has no value")
        if name in spelled:
            found[cell] = spelled[name].get(cell, cell)
        else:
            found[cell] = undefuse(cell) if reading.defused else cell
    return found


def _histograms(
    tally: Tally, numbers: list[int], place: int, texts: Mapping[str | None, str]
) -> list[dict[str, int]]:
    """Count the values of one sensitive column, group by group."""
    groups: defaultdict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for number, (cells, count) in zip(numbers, tally.items(), strict=True):
        groups[number][texts[cells[place]]] += count
    return list(groups.values())


# -- reading ------------------------------------------------------------------------------------


def _read(path: Path, reading: Reading) -> tuple[Tally, int, Spelled]:
    """Count the measured cells of the rows of a file; suppressed rows are counted apart."""
    if reading.format == "parquet":
        return _read_parquet(path, reading)
    return (_read_csv if path.stat().st_size < _LARGE else _read_large_csv)(path, reading)


def _read_csv(path: Path, reading: Reading) -> tuple[Tally, int, Spelled]:
    """Do so row by row."""
    pick = _picker(reading.measured)
    counts: Tally = defaultdict(int)
    starred = 0
    try:
        with long_fields(), path.open(encoding="utf-8", newline="") as stream:
            rows = csv.reader(stream, strict=True)
            header = next(rows, [])
            _check_header(header, reading)
            for row in rows:
                if len(row) != len(reading.header):
                    raise CertificateError(
                        f"the row that ends in line {rows.line_num} has {len(row)} cells instead "
                        f"of {len(reading.header)}"
                    )
                if reading.stars and set(row) == {_STAR}:
                    starred += 1
                else:
                    counts[pick(row)] += 1
    except (csv.Error, UnicodeDecodeError) as error:
        raise CertificateError(f"it is not a readable CSV file: {error}") from None
    return counts, starred, {}


def _read_large_csv(path: Path, reading: Reading) -> tuple[Tally, int, Spelled]:
    """Do so out of core, by DuckDB."""
    with path.open(encoding="utf-8", newline="") as stream, long_fields():
        header = next(csv.reader(stream, strict=True), [])
    _check_header(header, reading)
    names = [f"c{i}" for i in range(len(header))]
    columns = ", ".join(f"{name}: 'VARCHAR'" for name in names)
    table = (
        f"read_csv({_place(path)}, auto_detect = false, header = true, delim = ',', quote = '\"', "
        f"escape = '\"', strict_mode = true, columns = {{{columns}}}, force_not_null = {names})"
    )
    return _count_cells(table, names, reading, "CSV", lambda _: {})


def _picker(places: tuple[int, ...]) -> Callable[[list[str]], tuple[str, ...]]:
    if len(places) == 1:
        return lambda row: (row[places[0]],)
    return itemgetter(*places)


def undefuse(cell: str) -> str:
    """Take away the apostrophe that kept a spreadsheet from running a cell."""
    return cell[1:] if _DEFUSED.match(cell) else cell


def _read_parquet(path: Path, reading: Reading) -> tuple[Tally, int, Spelled]:
    # Columns go by position, since DuckDB takes names that differ in case for the same.
    names = [f"c{i}" for i in range(len(reading.header))]
    place = _place(path)
    table = f"read_parquet({place}, hive_partitioning = false) AS t({', '.join(names)})"

    def look(database: DuckDBPyConnection) -> Spelled:
        schema = database.execute(f"SELECT name FROM parquet_schema({place})").fetchall()
        _check_header([name for (name,) in schema[1:]], reading)
        return _spellings(database, table, reading)

    return _count_cells(table, names, reading, "Parquet", look)


def _place(path: Path) -> str:
    """A path in SQL, where it is a glob: brackets make its special characters plain."""
    plain = re.sub(r"([*?[])", r"[\1]", str(path.absolute()))
    return "'" + plain.replace("'", "''") + "'"


def _count_cells(
    table: str,
    names: list[str],
    reading: Reading,
    kind: str,
    look: Callable[[DuckDBPyConnection], Spelled],
) -> tuple[Tally, int, Spelled]:
    """Count the measured cells of a table in SQL, out of core, after a look at what it is."""
    import duckdb  # here, because a small CSV must not wait for it

    suppressed = " AND ".join(f"{name}::VARCHAR IS NOT DISTINCT FROM '{_STAR}'" for name in names)
    kept = f"NOT ({suppressed})" if reading.stars else "true"
    cells = ", ".join(f"c{i}::VARCHAR" for i in reading.measured)
    with tempfile.TemporaryDirectory(prefix="moanon-") as folder:
        config: dict[str, str | bool | int | float | list[str]] = {
            "temp_directory": folder,
            "memory_limit": _MEMORY,
        }
        try:
            with duckdb.connect(":memory:", config=config) as database:
                spelled = look(database)
                found = database.execute(
                    f"SELECT {cells}, count(*) FROM {table} WHERE {kept} GROUP BY ALL"
                ).fetchall()
                starred = 0
                if reading.stars:
                    (starred,) = database.execute(
                        f"SELECT count(*) FROM {table} WHERE NOT ({kept})"
                    ).fetchall()[0]
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            raise CertificateError(f"it is not a readable {kind} file: {reason}") from None
    return {row[:-1]: row[-1] for row in found}, starred, spelled


def _spellings(database: DuckDBPyConnection, table: str, reading: Reading) -> Spelled:
    """Find how the types of a file spell the table's values: floats may have 39.0 for 39."""
    types = [row[1] for row in database.execute(f"DESCRIBE FROM {table}").fetchall()]
    spelled = {}
    for name, facts in reading.sensitive.items():
        sql_type = types[reading.header.index(name)]
        if sql_type != "VARCHAR":
            shown = database.execute(
                f"SELECT TRY_CAST(value AS {sql_type})::VARCHAR, value "
                "FROM (SELECT unnest(?::VARCHAR[]) AS value)",
                [list(facts.rows)],
            )
            spelled[name] = dict(shown.fetchall())
    return spelled


def _check_header(header: list[str], reading: Reading) -> None:
    found = tuple(map(undefuse, header) if reading.defused else header)
    if found != reading.header:
        raise CertificateError(
            f"its columns are {', '.join(found)} instead of {', '.join(reading.header)}"
        )
