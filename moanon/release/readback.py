"""An independent reader of released files, which finds out what a file itself shows.

Nothing here is shared with the code that writes a release. The file is parsed from its bytes, its
labels are taken apart as texts, and groups are counted from those labels: in plain Python, or in
large files by DuckDB out of core (``counted_files``). All that the reader is told (`Reading`) are
plain facts: the columns' roles, what a label of each column may say, how many rows the table had
and with which sensitive values. A mistake in the writer can therefore not hide behind itself.

Everything is measured twice over where that makes a difference (`Measured`): beside the whole
table, to be compared with what was promised, and by the file alone, to be published.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from operator import itemgetter
from pathlib import Path

from moanon.data.alike import alike_note
from moanon.data.readers import long_fields
from moanon.errors import CertificateError
from moanon.release.counted_files import count_csv, count_parquet
from moanon.release.reader_privacy import GroupCounts, SensitiveFacts, worst_privacy
from moanon.release.reading import Counted, Reading, parts_of, undefuse

# Written here again on purpose: these are promises about a released file, not about its writer.
_STAR = "*"

#: What a released file measures as: numbers by the names they have in a front, each with the
#: sensitive column that it is of, or an empty name where it is of the whole file. ``rows`` are
#: those released.
NamedValues = dict[tuple[str, str], int | float | Fraction]
#: Numbers of the whole file that depend on how many base values its columns have.
_OF_DOMAINS = (("gl", ""), ("loss", ""))
#: How often each tuple of measured cells occurs: the quasi-identifiers, then the sensitive ones.
#: Cells as they stand in the file; apostrophes are taken away only where a text is looked at.
Tally = dict[tuple[str | None, ...], int]
#: CSV files of so many bytes are not read row by row.
_LARGE = 32 << 20


@dataclass(frozen=True)
class Measured:
    """What a released file was measured to be.

    Attributes
    ----------
    values : mapping
        All that was promised; groups are compared with the whole table.
    public : mapping
        What follows from the file, from declared domains and from the number of rows of the table:
        groups are compared with the released rows, and what else would depend on rows that are not
        released is absent.
    notes : tuple of str
        Sensitive columns whose released values look alike: ℓ counts them as different ones.
    """

    values: NamedValues
    public: NamedValues
    notes: tuple[str, ...] = ()


def measure_file(path: Path, reading: Reading) -> Measured:
    """Measure a released file, or a folder of parts, from what is in it.

    Raises
    ------
    CertificateError
        If the file cannot be read as a release: other columns, no rows, a label that stands for no
        block of its column, a sensitive value that the table does not have.
    """
    with _count(path, reading) as counted:
        return measure_counted(counted, reading)


def measure_counted(counted: Counted, reading: Reading) -> Measured:
    """Measure what was counted in a file or table; see `measure_file`."""
    rows = sum(counted.cells[next(iter(reading.quasi))].values())
    if not rows:
        raise CertificateError("it has no rows")
    suppressed = counted.starred if reading.stars else reading.table_rows - rows
    gl = _lost(counted, reading) / (reading.table_rows * len(reading.quasi))
    sl = Fraction(suppressed, reading.table_rows)
    sizes = counted.sizes()
    squares = sum(size * size * groups for size, groups in sizes.items())
    found: NamedValues = {
        ("rows", ""): rows,
        ("suppressed", ""): suppressed,
        ("groups", ""): sum(sizes.values()),
        ("k", ""): min(sizes),
        ("weighted_k_kept", ""): Fraction(squares, rows),
        ("gl", ""): float(gl),
        ("sl", ""): float(sl),
        ("loss", ""): float(gl + sl),
    }
    public = {
        measure: value
        for measure, value in found.items()
        if reading.declared or measure not in _OF_DOMAINS
    }
    notes: list[str] = []
    for name, facts in reading.sensitive.items():
        texts = reading.texts(name, counted.cells[name], counted.spelled)
        released: defaultdict[str, int] = defaultdict(int)
        for cell, count in counted.cells[name].items():
            released[texts[cell]] += count
        besides = (facts, facts.among(dict(released)))
        try:
            table, file = counted.worst_privacy(name, texts, besides, Fraction(str(reading.c)))
        except CertificateError as error:
            raise CertificateError(f"column {name!r}: {error}") from None
        found |= {(measure, name): value for measure, value in table.items()}
        public |= {(measure, name): value for measure, value in file.items()}
        if note := alike_note(name, sorted(released)):
            notes.append(note)
    return Measured(found, public, tuple(notes))


def _lost(counted: Counted, reading: Reading) -> Fraction:
    """Sum the losses of all released cells (D eq. 3), exactly."""
    total = Fraction(0)
    for name, labels in reading.quasi.items():
        for cell, count in counted.cells[name].items():
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


class TalliedCells(Counted):
    """Tuples of cells, counted in memory."""

    def __init__(self, tally: Tally, reading: Reading, starred: int = 0) -> None:
        self._tally, self.starred = tally, starred
        self._names = [*reading.quasi, *reading.sensitive]
        known: dict[tuple[str | None, ...], int] = {}
        width = len(reading.quasi)
        self._groups = [known.setdefault(cells[:width], len(known)) for cells in tally]
        self.cells = {name: self._count(place) for place, name in enumerate(self._names)}

    def _count(self, place: int) -> dict[str | None, int]:
        found: defaultdict[str | None, int] = defaultdict(int)
        for cells, count in self._tally.items():
            found[cells[place]] += count
        return found

    def sizes(self) -> dict[int, int]:
        rows: defaultdict[int, int] = defaultdict(int)
        for group, count in zip(self._groups, self._tally.values(), strict=True):
            rows[group] += count
        found: defaultdict[int, int] = defaultdict(int)
        for size in rows.values():
            found[size] += 1
        return found

    def worst_privacy(
        self,
        name: str,
        texts: Mapping[str | None, str],
        besides: Sequence[SensitiveFacts],
        c: Fraction,
    ) -> list[dict[str, float]]:
        entries: defaultdict[tuple[int, str], int] = defaultdict(int)
        place = self._names.index(name)
        for group, (cells, count) in zip(self._groups, self._tally.items(), strict=True):
            entries[group, texts[cells[place]]] += count
        return worst_privacy(GroupCounts.of(entries), besides, c)


# -- reading ------------------------------------------------------------------------------------


@contextmanager
def _count(path: Path, reading: Reading) -> Iterator[Counted]:
    """Count the measured cells of the rows of a release."""
    parts = parts_of(path)
    if reading.format == "parquet":
        with count_parquet(parts, reading) as counted:
            yield counted
    elif sum(part.stat().st_size for part in parts) < _LARGE:
        yield _count_rows(parts, reading)
    else:
        for part in parts:
            with part.open(encoding="utf-8", newline="") as stream, long_fields():
                reading.check_header(next(csv.reader(stream, strict=True), []))
        with count_csv(parts, reading) as counted:
            yield counted


def _count_rows(parts: tuple[Path, ...], reading: Reading) -> TalliedCells:
    """Count the cells of CSV files row by row."""
    pick = _picker(reading.measured)
    counts: Tally = defaultdict(int)
    starred = 0
    for part in parts:
        try:
            with long_fields(), part.open(encoding="utf-8", newline="") as stream:
                rows = csv.reader(stream, strict=True)
                reading.check_header(next(rows, []))
                for row in rows:
                    if len(row) != len(reading.header):
                        raise CertificateError(
                            f"the row that ends in line {rows.line_num} has {len(row)} cells "
                            f"instead of {len(reading.header)}"
                        )
                    if reading.stars and set(row) == {_STAR}:
                        starred += 1
                    else:
                        counts[pick(row)] += 1
        except (csv.Error, UnicodeDecodeError) as error:
            raise CertificateError(f"it is not a readable CSV file: {error}") from None
    return TalliedCells(counts, reading, starred)


def _picker(places: tuple[int, ...]) -> Callable[[list[str]], tuple[str, ...]]:
    if len(places) == 1:
        return lambda row: (row[places[0]],)
    return itemgetter(*places)
