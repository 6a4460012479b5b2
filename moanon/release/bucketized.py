"""Bucketized releases: quasi-identifiers as they are, sensitive values known per bucket only.

A grouping can be published in another way than by its blocks. The rows of a group become a
*bucket*; every row shows its own quasi-identifiers and the number of its bucket, and a second file
tells how often each sensitive value occurs in each bucket, as Anatomy publishes them (Xiao and Tao,
VLDB 2006; L §2.1). Who is found in a bucket may have any of its sensitive values, each with the
share it has there: that is what ℓ, t and δ of buckets bound. But **k protects nobody from being
found**: whether somebody is in the table can be read off the first file.

- ``FILE``: one line for each row that is not suppressed: its quasi-identifying and insensitive
  columns as they were read, ``(missing)`` where a quasi-identifier has no value, and ``bucket``.
- ``STEM.sensitive.csv``: one line for each value in a bucket: ``bucket``, ``column``, ``value`` and
  ``rows``. Of several sensitive columns it does not say which values go together.
- ``FILE.certificate.json``: what both were measured to be, by a reader that parses them anew and
  counts in plain Python; see `BucketCertificate`.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from moanon import __version__
from moanon.arrays import Outlined
from moanon.atomic import StagedFiles
from moanon.data.cell_reading import alike_note, is_formula
from moanon.data.domain import MISSING
from moanon.data.rows import Labelling, Shuffle
from moanon.data.table import Role, digest_files
from moanon.engines.duck import spell
from moanon.errors import CertificateError, OutputError
from moanon.release.applied import Release, ShownRows, checked_order, may_replace
from moanon.release.certificate import VERSION, stated_promises
from moanon.release.readback import rows_of
from moanon.release.reader_privacy import (
    GroupCounts,
    SensitiveFacts,
    sensitive_facts,
    worst_privacy,
)

#: What a certificate and the page say wherever buckets are published.
PRESENCE = (
    "Quasi-identifiers are published as they are: k does not protect against presence disclosure. "
    "Who knows a person's quasi-identifiers sees whether the person is in the table; only which "
    "sensitive value is theirs is hidden, as far as the numbers for buckets say."
)
#: The columns of the second file beside that of buckets.
_VALUES = ("column", "value", "rows")


@dataclass(frozen=True)
class BucketCertificate:
    """What two linked files were measured to be, for everybody to read.

    Like `Certificate` it states only what anybody can find in the files, and how many rows were
    read and left out; ℓ, t and δ compare buckets with the released rows.
    """

    files: tuple[str, str]  # with the rows, and with the sensitive values
    bucket_column: str  # links them
    rows_in: int  # of the source
    rows_dropped: int  # for missing values
    rows: int  # released
    suppressed: int  # of the table, and not released
    buckets: int
    smallest_bucket: int
    unique_rows: int  # whose quasi-identifiers no other one shares: whoever knows these finds them
    models: Mapping[str, Mapping[str, float]]  # by column and name in a front, of the worst bucket
    # what the distance of t_closeness is measured along; see ``certificate``
    scales: Mapping[str, str]
    recursive_c: float  # of recursive (c,ℓ)-diversity
    formula_cells: int  # that a spreadsheet would run
    row_order: str  # source or shuffled
    digests: Mapping[str, str]  # SHA-256 of the two files
    promises: tuple[tuple[str, float], ...] = ()  # bounds that were demanded and checked
    # sensitive columns whose values look alike: ℓ counts them as different
    notes: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        """Name of the file with the rows."""
        return self.files[0]

    @property
    def output_digest(self) -> str:
        """SHA-256 of the file with the rows."""
        return self.digests[self.file]

    def to_dict(self) -> dict[str, Any]:
        """Return the entries as numbers, texts, lists and dicts only."""
        models = {
            column: {name: "inf" if value == math.inf else value for name, value in found.items()}
            for column, found in self.models.items()
        }
        return {
            "moanon": __version__,
            "certificate": VERSION,
            "method": "bucketized",
            "presence": PRESENCE,
            "files": list(self.files),
            "bucket_column": self.bucket_column,
            "rows_in": self.rows_in,
            "rows_dropped_missing": self.rows_dropped,
            "rows": self.rows,
            "suppressed": self.suppressed,
            "row_order": self.row_order,
            "formula_cells": self.formula_cells,
            "buckets": self.buckets,
            "smallest_bucket": self.smallest_bucket,
            "unique_rows": self.unique_rows,
            "privacy_of_buckets": models,
            "scales": dict(self.scales),
            "recursive_c": self.recursive_c,
            "compared_with": "the released rows",
            "promises": stated_promises(self.promises),
            "notes": list(self.notes),
            "digests": dict(self.digests),
        }

    def to_json(self) -> str:
        """Return the text of a certificate file."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


@dataclass(frozen=True, eq=False, repr=False)
class BucketizedRelease(Outlined):
    """A release whose kept groups are published as buckets; the table must have a sensitive column.

    Examples
    --------
    >>> import pandas as pd
    >>> from moanon import Instance, IntervalSpec, read_table
    >>> people = pd.DataFrame({"age": [21, 24, 35], "ill": ["flu", "gout", "flu"]})
    >>> table = read_table(people, {"age": "quasi", "ill": "sensitive"})
    >>> instance = Instance.build(table, {"age": IntervalSpec(range=(20, 39), granularity=10)})
    >>> BucketizedRelease(Release.of(instance, [1], k=2)).values_of_buckets()
    [(1, 'ill', 'flu', 1), (1, 'ill', 'gout', 1)]
    """

    release: Release

    def __post_init__(self) -> None:
        """Refuse a table in which nothing is to be hidden."""
        if not self.release.instance.table.sensitive:
            raise OutputError(
                "a bucketized release hides which sensitive value is whose, and the table has no "
                "sensitive column"
            )

    @property
    def bucket_column(self) -> str:
        """Name of the column that links the files: ``bucket``, unless the table has one."""
        name = "bucket"
        while name in self.release.instance.table.roles:
            name += "_"
        return name

    def values_of_buckets(self) -> list[tuple[int, str, str, int]]:
        """The lines of the second file: number of a bucket, sensitive column, value, rows."""
        grouping = self.release.grouping
        number = np.cumsum(grouping.kept)  # of kept groups, from 1
        lines: list[tuple[int, str, str, int]] = []
        for column in grouping.instance.cells.sensitive:
            group, value, rows = grouping.values_of(column)
            kept = np.append(grouping.kept, False)[group]
            keys = number[group[kept]] * len(column.labels) + value[kept]
            seen, place = np.unique(keys, return_inverse=True)
            counts = np.bincount(place.reshape(-1), rows[kept]).astype(np.int64)
            for key, count in zip(seen.tolist(), counts.tolist(), strict=True):
                bucket, label = divmod(key, len(column.labels))
                lines.append((bucket, column.name, column.labels[label], count))
        return sorted(lines)

    def _labelling(self, shuffle: Shuffle | None) -> tuple[ShownRows, Labelling]:
        """What rows show: their own values, and the number of their bucket."""
        grouping, table = self.release.grouping, self.release.instance.table
        rows = ShownRows.of(grouping)
        number = (np.cumsum(grouping.kept) - 1).astype(np.int32)
        names = [n for n, role in table.roles.items() if role in (Role.QUASI, Role.INSENSITIVE)]
        labelling = Labelling(
            rows.codes,
            rows.tuples,
            {self.bucket_column: ([str(i + 1) for i in range(len(grouping))], number[rows.group])},
            {name: name for name in (*names, self.bucket_column)},
            dict.fromkeys(table.quasi, MISSING),
            shuffle=shuffle,
        )
        return rows, labelling

    def _formula_cells(self, rows: ShownRows, labelling: Labelling) -> int:
        """Quasi-identifiers and names that a spreadsheet would run."""
        found = sum(map(is_formula, labelling.columns))
        for name in self.release.instance.table.quasi:
            texts = self.release.instance.table.columns[name].values
            runs = np.array([*map(is_formula, texts), False], dtype=bool)
            found += rows.count({name: runs}) if runs.any() else 0
        return found

    def write(
        self,
        path: str | Path,
        *,
        force: bool = False,
        shuffle: int | None = None,
        keep_order: bool = False,
        spared: Iterable[Path] = (),
    ) -> BucketCertificate:
        """Write both files and their certificate, all of them or none.

        `path` is that of the file with the rows and ends in ``.csv``; the rest as for
        `moanon.release.Release.write`.
        """
        path = Path(path)
        if path.suffix.lower() != ".csv":
            raise OutputError(f"a bucketized release is a .csv file. Got {path.name!r}")
        order = checked_order(shuffle, keep_order)
        beside = path.with_name(f"{path.stem}.sensitive.csv")
        notice = path.with_name(path.name + ".certificate.json")
        spared = (*self.release.instance.table.files, *spared)
        force = force and may_replace(self.release.instance.table, path, beside, notice)
        rows, labelling = self._labelling(order)
        lines = [(self.bucket_column, *_VALUES), *self.values_of_buckets()]
        try:
            with StagedFiles(path, beside, notice, force=force, spared=spared) as staged:
                formulas, row_order = rows.store.write(labelling, staged[path], spell)
                formulas += self._formula_cells(rows, labelling)
                with staged[beside].open("w", encoding="utf-8", newline="") as stream:
                    for line in lines:
                        stream.write(",".join(spell(str(cell)) for cell in line) + "\n")
                staged.sync(path)
                staged.sync(beside)
                certificate = self._certify(
                    staged[path],
                    staged[beside],
                    (path.name, beside.name),
                    formulas + sum(is_formula(str(cell)) for line in lines for cell in line),
                    row_order,
                )
                staged[notice].write_text(certificate.to_json(), encoding="utf-8", newline="\n")
                staged.move()
        except UnicodeEncodeError as error:
            raise OutputError(f"{path} cannot be written: a text is not Unicode: {error}") from None
        return certificate

    def _certify(
        self,
        rows_file: Path,
        values_file: Path,
        names: tuple[str, str],
        formula_cells: int,
        row_order: str,
    ) -> BucketCertificate:
        release, table = self.release, self.release.instance.table
        facts = {
            name: sensitive_facts(table.columns[name], release.instance.distances.get(name))
            for name in table.sensitive
        }
        header = [n for n, role in table.roles.items() if role in (Role.QUASI, Role.INSENSITIVE)]
        places = [header.index(name) for name in table.quasi]
        header.append(self.bucket_column)
        c = Fraction(str(release.recursive_c))
        found, models = _measure(rows_file, values_file, header, places, facts, c)
        promised = release.promised
        for key, name in (("rows", "rows"), ("buckets", "groups"), ("smallest_bucket", "k")):
            _compare(names[0], name, found[key], promised[name, ""])
        for column, of_column in models.items():
            for name, value in of_column.items():
                _compare(names[1], f"{name} of column {column!r}", value, promised[name, column])
        return BucketCertificate(
            files=names,
            bucket_column=self.bucket_column,
            rows_in=table.rows_in,
            rows_dropped=table.rows_dropped,
            suppressed=release.rows - found["rows"],
            scales={name: each.scale for name, each in facts.items()},
            recursive_c=release.recursive_c,
            formula_cells=formula_cells,
            row_order=row_order,
            digests={
                name: digest_files([file])
                for name, file in zip(names, (rows_file, values_file), strict=True)
            },
            # k is not among them: it protects nobody in buckets.
            promises=tuple((name, bound) for name, bound in release.promises if name != "k"),
            **found,
        )


# -- reading back ----------------------------------------------------------------------------------

# From here on nothing is shared with what writes: the files are parsed from their bytes, and
# counted in plain Python.


def _measure(
    rows_file: Path,
    values_file: Path,
    header: list[str],
    quasi: list[int],
    facts: Mapping[str, SensitiveFacts],
    c: Fraction,
) -> tuple[dict[str, Any], dict[str, dict[str, float]]]:
    """Measure two linked files from what is in them.

    Given are the entries of a certificate, with models beside the released rows; and the models
    beside the whole table.
    """
    sizes: Counter[str] = Counter()
    people: Counter[tuple[str, ...]] = Counter()
    for row in rows_of(rows_file, header):
        sizes[row[-1]] += 1
        people[tuple(row[place] for place in quasi)] += 1
    if not sizes:
        raise CertificateError("the released file has no rows")
    listed: dict[str, dict[str, dict[str, int]]] = {name: defaultdict(dict) for name in facts}
    for bucket, column, value, rows in rows_of(values_file, [header[-1], *_VALUES]):
        if column not in listed or bucket not in sizes or value in listed[column][bucket]:
            raise CertificateError("a line of the sensitive values belongs to nothing released")
        if not rows.isascii() or not rows.isdigit() or int(rows) < 1:
            raise CertificateError("a line of the sensitive values counts no rows")
        listed[column][bucket][value] = int(rows)
    models, public, notes = {}, {}, []
    for column, of_buckets in listed.items():
        if {bucket: sum(counts.values()) for bucket, counts in of_buckets.items()} != sizes:
            raise CertificateError(f"column {column!r} has not a value for each row of a bucket")
        buckets = {
            (place, value): number
            for place, counts in enumerate(of_buckets.values())
            for value, number in counts.items()
        }
        released: Counter[str] = Counter()
        for (_, value), number in buckets.items():
            released[value] += number
        besides = (facts[column], facts[column].among(released))
        models[column], public[column] = worst_privacy(GroupCounts.of(buckets), besides, c)
        if note := alike_note(column, sorted(released)):
            notes.append(note)
    return {
        "rows": sum(sizes.values()),
        "buckets": len(sizes),
        "smallest_bucket": min(sizes.values()),
        "unique_rows": sum(count == 1 for count in people.values()),
        "models": public,
        "notes": tuple(notes),
    }, models


def _compare(file: str, name: str, here: float | Fraction, there: float | Fraction) -> None:
    same = here == there or math.isclose(here, there, rel_tol=1e-9, abs_tol=1e-10)
    if isinstance(here, int):
        same = here == there
    if not same:
        raise CertificateError(
            f"{file} does not measure as promised: {name} is {here} in the file, {there} was "
            "promised"
        )
