"""One grouping applied to the rows.

A `Release` shows each row of a group that is kept by the labels of that group. `Release.promised`
says what it must measure as; `Release.to_frame` shows the rows; `Release.write` puts them in a file
whose certificate comes from an independent reader. If what that reader finds in the file is not
what was promised, nothing is left under the file's name.

What a released cell shows: a quasi-identifier the label of its block, every other released column
its own value. A missing value is a value of its own, ``(missing)``, in quasi-identifying and
sensitive columns; in insensitive ones it stays missing. Identifying and undeclared columns are not
released.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from moanon import __version__
from moanon.arrays import Bools, Ints, Outlined, Values
from moanon.atomic import StagedFiles, StagedFolder
from moanon.data.cell_reading import defuse, is_formula
from moanon.data.cells import SensitiveCounts
from moanon.data.column import Column
from moanon.data.domain import MISSING
from moanon.data.hierarchy import SUPPRESSED
from moanon.data.rows import Labelling, RowOrder, RowStore, Shuffle, own_codes
from moanon.data.table import Role, Table, is_of_counts, kept, new_key
from moanon.engines.duck import spell
from moanon.errors import ConfigError, GenomeError, OutputError, got
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.measures import MEASURES
from moanon.measures.evaluate import score_grouping
from moanon.measures.loss import optimality
from moanon.measures.measure import LARGEST, is_number
from moanon.measures.suppression import RECURSIVE_C, Suppression, check_recursive_c
from moanon.release.certificate import Certificate, certify, front_measures
from moanon.release.labels import label_rules
from moanon.release.readback import Format, NamedValues, Reading
from moanon.release.reader_privacy import sensitive_facts

if TYPE_CHECKING:
    import pandas as pd

    from moanon.engines.addresses import Address
    from moanon.release.bucketized import BucketCertificate

#: What the groups of rows are called where they are a column of their own; no table has this name.
_GROUP = ""
#: How suppressed rows are shown: not at all, or as rows of stars.
SuppressedRows = Literal["absent", "star"]


@dataclass(frozen=True, eq=False, repr=False)
class Release(Outlined):
    """A table as its groups show it, without the rows of suppressed ones.

    Attributes
    ----------
    grouping : Grouping
        The table and its groups, of which at least one is kept.
    recursive_c : float
        The constant of recursive (c,ℓ)-diversity.
    rows_outside : int
        Of new rows, how many hold a value that the generalization has no place for. They are
        suppressed and stand in no group; ``grouping`` has the rest.
    stated : tuple of (str, number)
        What a front says about this release, by names of measures. A file that does not show the
        same is not written.
    least : float or None
        A loss that no generalization of the table with as large a k goes below, if one is proven.
    promises : tuple of (str, float)
        Bounds on measures that were demanded of the release and that it meets.

    Examples
    --------
    >>> import pandas as pd
    >>> from moanon.data.domain import IntervalSpec
    >>> from moanon.engines import read_table
    >>> people = pd.DataFrame({"age": [21, 24, 35], "ill": ["flu", "gout", "flu"]})
    >>> table = read_table(people, {"age": "quasi", "ill": "sensitive"})
    >>> instance = Instance.build(table, {"age": IntervalSpec(range=(20, 39), granularity=10)})
    >>> Release.of(instance, [1], k=2).to_frame()
           age   ill
    0  [20-29]   flu
    1  [20-29]  gout
    """

    grouping: Grouping
    recursive_c: float = RECURSIVE_C
    rows_outside: int = 0
    stated: tuple[tuple[str, float], ...] = ()
    least: float | None = None
    promises: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        """Refuse a release of nothing, or of what no label can be written for."""
        check_recursive_c(self.recursive_c)
        if not self.grouping.has_meaning:
            raise ConfigError("a release needs to know what the labels of its columns mean")
        self._refuse_false_labels()
        if not self.grouping.kept.any():
            raise OutputError(f"no row of {self.instance.table.source} would be released")

    def _refuse_false_labels(self) -> None:
        """Refuse blocks that do not hold the rows that would be shown by them."""
        grouping = self.grouping
        if grouping.cell_group is not None or grouping.starts is None or grouping.stops is None:
            return
        cells, group = self.instance.cells, grouping.row_group[grouping.is_kept]
        codes = cells.codes[:, self.instance.row_cell[grouping.is_kept]].astype(np.int64)
        held = (codes >= grouping.starts[:, group]) & (codes < grouping.stops[:, group])
        if not held.all():
            column = self.instance.layout.columns[int(np.argwhere(~held)[0][0])]
            raise ConfigError(f"a label of column {column!r} would not hold the value of its row")

    @classmethod
    def of(
        cls,
        instance: Instance,
        genome: npt.ArrayLike,
        *,
        k: int | None = None,
        suppressed: Bools | None = None,
        recursive_c: float = RECURSIVE_C,
    ) -> Release:
        """Apply a valid genome to the rows of a table.

        Every group smaller than `k` is suppressed; or those groups of
        ``Grouping.of_genome(instance, genome)`` that `suppressed` marks; by default none.
        `recursive_c` is the constant for which recursive diversity is promised and certified.

        Raises
        ------
        GenomeError
            If the genome is not valid, or is not one.
        ConfigError
            If `k`, `suppressed` or `recursive_c` cannot be used.
        OutputError
            If no row would be left.
        """
        if (given := len(instance.layout.check(genome))) != 1:
            raise GenomeError(f"a release takes one genome. Got {given}")
        grouping = Grouping.of_genome(instance, genome)
        if k is not None and suppressed is not None:
            raise ConfigError("a release takes k or a set of suppressed groups. Got both")
        if k is not None:
            suppressed = grouping.sizes < check_k(k)
        elif suppressed is None:
            suppressed = np.zeros(len(grouping), dtype=bool)
        suppressed = np.asarray(suppressed)
        if suppressed.shape != grouping.sizes.shape or suppressed.dtype != np.bool_:
            raise ConfigError(
                f"suppressed must hold one truth value for each of the {len(grouping)} groups. "
                f"Got {suppressed.dtype} of shape {suppressed.shape}"
            )
        if k is not None and suppressed.all():
            raise OutputError(
                f"no row of {instance.table.source} would be released: every group is smaller than "
                f"k = {k}"
            )
        return cls(grouping.keep(~suppressed), recursive_c)

    # -- looking ---------------------------------------------------------------------------------

    @property
    def instance(self) -> Instance:
        """The table."""
        return self.grouping.instance

    @property
    def rows(self) -> int:
        """Rows that could be released: those of the table, and those outside its domains."""
        return self.grouping.rows + self.rows_outside

    @cached_property
    def promised(self) -> NamedValues:
        """What the file must measure as, by the names of measures; see `NamedValues`.

        Worked out by the loops of a search; the reader finds the same numbers by its own means.
        """
        grouping, rows = self.grouping, self.rows
        sizes = grouping.sizes[grouping.kept]
        columns, scale = len(self.instance.layout.columns), self.instance.losses.scale
        lost = int((grouping.integer_losses[grouping.kept] * sizes).sum())
        released = int(sizes.sum())
        found: NamedValues = {
            ("rows", ""): released,
            ("suppressed", ""): rows - released,
            ("groups", ""): len(sizes),
            ("k", ""): int(sizes.min()),
            ("weighted_k_kept", ""): Fraction(int((sizes**2).sum()), released),
            ("gl", ""): lost / (scale * rows * columns),
            ("sl", ""): (rows - released) / rows,
            ("loss", ""): (lost + (rows - released) * columns * scale) / (scale * rows * columns),
        }
        models = [m for m in MEASURES.values() if m.certified and m.requires == "sensitive"]
        rule = Suppression(recursive_c=self.recursive_c)
        names = self.instance.table.sensitive
        for name in names:
            # A copy, so that what is listed for it goes with it.
            alone = replace(self.instance).without([other for other in names if other != name])
            scores = score_grouping(replace(grouping, instance=alone), models, rule)
            found |= {(model.name, name): model.of(scores)[0].item() for model in models}
        return found

    # -- showing ---------------------------------------------------------------------------------

    def to_frame(self, suppressed: SuppressedRows = "absent") -> pd.DataFrame:
        """Return the released rows as a new frame.

        Suppressed rows are left out, or show ``*`` in all their cells; then every column is text.
        Refused if rows of stars would look like released rows.
        """
        import pandas as pd  # here, because a release can be written as CSV without it

        rows, labelling = self._labelling(suppressed)
        columns = rows.store.held([*labelling.columns, *labelling.codes]).released(labelling)
        return pd.DataFrame({column.name: column.to_series() for column in columns})

    def _labelling(
        self, suppressed: SuppressedRows, shuffle: Shuffle | None = None, safe: bool = False
    ) -> tuple[ShownRows, Labelling]:
        """The rows that are released, and what they show."""
        if suppressed not in get_args(SuppressedRows):
            raise ConfigError(f"suppressed rows are 'absent' or 'star'. Got {suppressed!r}")
        rows, stars = ShownRows.of(self.grouping), suppressed == "star"
        if stars:
            refuse_doubtful_stars(rows, self.grouping)
        return rows, generalized(rows, self.grouping, stars=stars, shuffle=shuffle, safe=safe)

    # -- writing ---------------------------------------------------------------------------------

    def write(
        self,
        path: str | Path,
        *,
        suppressed: SuppressedRows = "absent",
        force: bool = False,
        spreadsheet_safe: bool = False,
        shuffle: int | None = None,
        keep_order: bool = False,
        spared: Iterable[Path] = (),
    ) -> Certificate:
        """Write the release and its certificate, ``PATH.certificate.json``.

        Both are written beside their places and get their names only once the release was read
        back and measured as promised.

        Parameters
        ----------
        path : path
            Ends in ``.csv`` or ``.parquet``. A text that ends in ``/`` is a folder, which gets a
            file in parts: of CSV if its name ends in ``.csv``, otherwise of Parquet.
        suppressed : {"absent", "star"}
            As for `to_frame`.
        force : bool
            Replace files that exist.
        spreadsheet_safe : bool
            Put an apostrophe before cells that a spreadsheet would run as formulas. The certificate
            says how many there are, and whether this was done.
        shuffle : int, optional
            Seed of the order of rows, which then depends on nothing but the seed and what the rows
            show. By default the system's randomness shuffles them.
        keep_order : bool
            Leave the rows in the order of the source, where that has one.
        spared : iterable of path
            Files that must not be replaced, besides those of the table.

        Raises
        ------
        ConfigError
            If `suppressed`, `shuffle` or `keep_order` cannot be used.
        OutputError
            If the files exist and `force` is not set, are spared, or cannot be written.
        CertificateError
            If the written file does not measure as promised.
        """
        in_parts = os.fspath(path).endswith(("/", os.sep))
        path = Path(path)
        form = _format(path, in_parts)
        if form == "parquet":
            _refuse_names_alike(self.instance.table)
        order = checked_order(shuffle, keep_order)
        rows, labelling = self._labelling(suppressed, order, spreadsheet_safe)
        header, stars = tuple(labelling.columns), suppressed == "star"
        reading = self._reading(form, header, stars=stars, defused=spreadsheet_safe)
        notice = path.with_name(path.name + ".certificate.json")
        spared = (*self.instance.table.files, *spared)
        force = force and may_replace(self.instance.table, path, notice)
        kind = StagedFolder if in_parts else StagedFiles
        try:
            with kind(path, notice, force=force, spared=spared) as staged:
                for texts, _ in labelling.labels.values():
                    "".join(texts).encode()  # no file holds half a character
                found, row_order = rows.store.write(
                    labelling, staged[path], spell if form == "csv" else None
                )
                found += formula_cells(self.grouping, labelling)
                del rows, labelling  # not held while the file is read
                staged.sync(path)
                certificate = self._certify(staged[path], reading, path.name, row_order, found)
                staged[notice].write_text(certificate.to_json(), encoding="utf-8", newline="\n")
                staged.move()
        except UnicodeEncodeError as error:
            raise OutputError(f"{path} cannot be written: a text is not Unicode: {error}") from None
        return certificate

    def write_table(
        self,
        name: str,
        *,
        force: bool = False,
        keep: Callable[[Certificate], None] | None = None,
    ) -> Certificate:
        """Write the release into a table (``NAME``, ``SCHEMA.NAME``) of the database of its rows.

        The database labels the rows itself; what it wrote is then measured by it, over another
        connection. The table gets its name only if it measures as promised, and if `keep`, which is
        given the certificate before, does not fail. With `force` it replaces a table that exists,
        unless the release is made of it.
        """
        rows, labelling = self._labelling("absent")
        reading = self._reading("table", tuple(labelling.columns), stars=False, defused=False)
        with rows.store.new_table(labelling, name, force) as address:
            certificate = self._certify(address, reading, name, "unordered", 0)
            if keep is not None:
                keep(certificate)
        return certificate

    def record(
        self, certificate: Certificate | BucketCertificate, config_digest: str | None = None
    ) -> dict[str, Any]:
        """What the publisher may want to know beside a certificate; as secret as the table.

        Exact measures beside the whole table, suppressed rows included, the generalization, how far
        it can be from the optimum, and digests that tie the release to its original.
        """
        genome, digest = self.grouping.genome, self.instance.table.digest
        key = new_key(digest)  # of counts, which could be guessed
        measures = {**dict(self.stated), **front_measures(self.promised), **self._known}
        columns: dict[str, dict[str, Any]] = {}
        for (name, column), value in self.promised.items():
            if column:
                columns.setdefault(column, {})[name] = _plain_number(value)
        return {
            "moanon": __version__,
            "secret": "These numbers depend on rows that were not released. Do not publish them.",
            "file": certificate.file,
            "rows_in": self.instance.table.rows_in + self.rows_outside,
            "measures": {name: _plain_number(value) for name, value in measures.items()},
            "columns": columns,
            "least_loss": self.least,
            "optimality": None
            if self.least is None
            else optimality(float(self.promised["loss", ""]), self.least) or "not known",
            "genome": None if genome is None else self.instance.layout.text(genome),
            "digests": {
                "input": kept(digest, key),
                **({} if key is None else {"input_key": key}),
                "config": config_digest,
                "output": certificate.output_digest,
            },
        }

    def _reading(
        self, form: Format, header: tuple[str, ...], *, stars: bool, defused: bool
    ) -> Reading:
        """What the independent reader must know."""
        table = self.instance.table
        return Reading(
            format=form,
            header=header,
            quasi={name: label_rules(d) for name, d in self.instance.layout.domains.items()},
            sensitive={
                name: sensitive_facts(table.columns[name], self.instance.distances.get(name))
                for name in table.sensitive
            },
            table_rows=self.rows,
            stars=stars,
            defused=defused,
            c=self.recursive_c,
            declared=all(d.is_declared for d in self.instance.layout.domains.values()),
        )

    def _certify(
        self,
        place: Path | Address,
        reading: Reading,
        name: str,
        row_order: RowOrder,
        formula_cells: int,
    ) -> Certificate:
        table = self.instance.table
        return certify(
            place,
            reading,
            self.promised,
            stated=self.stated,
            known=self._known,
            file=name,
            rows_in=table.rows_in + self.rows_outside,
            rows_dropped=table.rows_dropped,
            row_order=row_order,
            formula_cells=formula_cells,
            promises=self.promises,
            notes=self._notes(),
        )

    def _notes(self) -> tuple[str, ...]:
        """Say what nobody compared with what a search has read."""
        table = self.instance.table
        if not is_of_counts(table.digest) or not table.insensitive:
            return ()
        return (
            f"{', '.join(table.insensitive)}: read from a database, and not compared with what the "
            "run has read there",
        )

    @property
    def _known(self) -> dict[str, float]:
        """Measures that the file does not show and a front has: of all groups, if all are known."""
        if not self.grouping.is_complete:
            return {}
        squares = int((self.grouping.sizes**2).sum())
        return {"weighted_k": float(Fraction(squares, self.rows))}


def check_k(k: int) -> int:
    """Refuse what cannot be the size of a group."""
    if not isinstance(k, (int, np.integer)) or not is_number(k) or k < 1:
        raise ConfigError(
            f"k must be a whole number of at least 1 and at most {LARGEST:g}. Got {got(k)}"
        )
    return int(k)


def checked_order(shuffle: int | None, keep_order: bool) -> Shuffle | None:
    """How rows are shuffled; None where they keep the order of the source."""
    whole = isinstance(shuffle, (int, np.integer)) and not isinstance(shuffle, bool)
    if shuffle is not None and not (whole and shuffle >= 0):
        raise ConfigError(f"shuffle must be a whole number of at least 0. Got {shuffle!r}")
    if keep_order:
        if shuffle is not None:
            raise ConfigError("rows are shuffled, or keep the order of the source. Got both")
        return None
    return "random" if shuffle is None else int(shuffle)


def may_replace(table: Table, *targets: Path) -> bool:
    """Whether files may be replaced at all; refused where it is not known which ones are read."""
    if not table.unlisted:
        return True
    for target in targets:
        if os.path.lexists(target):
            raise OutputError(
                f"{target} is not replaced: which files {table.source} reads is not known; name a "
                "file that does not exist"
            )
    return False


def _plain_number(value: float | Fraction) -> Any:
    """A number as JSON can hold it."""
    number = float(value) if isinstance(value, Fraction) else value
    return "inf" if number == math.inf else number


def _refuse_names_alike(table: Table) -> None:
    """Refuse names that differ in case only, since a Parquet file cannot hold both."""
    seen: dict[str, str] = {}
    for name, role in table.roles.items():
        if role is Role.IDENTIFYING:
            continue
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise OutputError(
                f"columns {other!r} and {name!r} differ in case only, which a Parquet file "
                "written here cannot keep; write a CSV file"
            )


def _format(path: Path, in_parts: bool) -> Format:
    known: dict[str, Format] = {".csv": "csv", ".parquet": "parquet"}
    if in_parts:
        return known.get(path.suffix.lower(), "parquet")
    if path.suffix.lower() not in known:
        raise OutputError(
            f"a release is a .csv or a .parquet file, or a folder of parts, whose name ends in /. "
            f"Got {path.name!r}"
        )
    return known[path.suffix.lower()]


# -- what rows show -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class ShownRows(Outlined):
    """The rows of the groups that are kept, of all that a store has."""

    store: RowStore
    codes: Mapping[str, Values]  # of values of some columns, as of `RowStore`
    tuples: Values  # (columns, tuples) of codes whose rows are shown
    group: Ints  # of each tuple

    @classmethod
    def of(cls, grouping: Grouping) -> ShownRows:
        """Find out what says which rows are kept.

        Under a genome the blocks of values say it all; otherwise their base values, and the tuples
        are cells. Where rows of one cell are in several groups, only the rows themselves do.
        """
        table, instance = grouping.table, grouping.instance
        groups = np.flatnonzero(grouping.kept)
        if grouping.cell_group is None:
            names = tuple(str(number) for number in range(len(grouping)))
            column = Column(_GROUP, grouping.row_group.astype(np.int32), names, None)
            shown = [name for name, role in table.roles.items() if role is not Role.IDENTIFYING]
            store = table.store.held(shown).beside(column)
            return cls(store, {_GROUP: own_codes(column)}, groups[None, :], groups)
        codes: dict[str, Values] = {
            name: domain.codes(table.columns[name])
            for name, domain in instance.layout.domains.items()
        }
        if grouping.genome is not None and grouping.starts is not None:
            tuples = []
            decoded = instance.layout.decode(grouping.genome)
            for (name, blocks), starts in zip(decoded.items(), grouping.starts, strict=True):
                widths = [stop - start for start, stop in blocks]
                block_of = np.repeat(np.arange(len(blocks), dtype=np.int32), widths)
                codes[name] = block_of[codes[name]]
                tuples.append(block_of[starts[groups]])
            return cls(table.store, codes, np.stack(tuples), groups)
        cells = np.flatnonzero(np.append(grouping.kept, False)[grouping.cell_group])
        return cls(table.store, codes, instance.cells.codes[:, cells], grouping.cell_group[cells])

    def count(self, marked: Mapping[str, Values], groups: Bools | None = None) -> int:
        """Count the shown rows, perhaps of some groups, that hold a marked value in some columns.

        As codes are, values are marked one by one, missing cells last.
        """
        codes: dict[str, Values] = dict(self.codes)
        for name, marks in marked.items():
            codes[name] = np.asarray(codes.get(name, 0)) * 2 + marks.astype(np.int64)
        tuples, counts = self.store.count(codes)
        parts = dict(zip(codes, tuples, strict=True))
        is_held = np.logical_and.reduce([parts[name] % 2 == 1 for name in marked])
        own = [parts[name] // (1 + (name in marked)) for name in self.codes]
        known = self.tuples if groups is None else self.tuples[:, groups[self.group]]
        shown = set(map(tuple, known.T.tolist()))
        held = zip(np.stack(own)[:, is_held].T.tolist(), counts[is_held].tolist(), strict=True)
        return sum(rows for cell, rows in held if tuple(cell) in shown)


def generalized(
    rows: ShownRows, grouping: Grouping, *, stars: bool, shuffle: Shuffle | None, safe: bool
) -> Labelling:
    """Rows as their groups show them; options as of `Release.write`.

    Without a `shuffle` rows stay in the order of the source.
    """
    table, labels = grouping.table, {}
    for name in grouping.instance.layout.columns:
        texts, number = grouping.shown_blocks(name)
        labels[name] = texts, number[rows.group]
    header = [name for name, role in table.roles.items() if role is not Role.IDENTIFYING]
    counts = grouping.instance.cells.sensitive
    return Labelling(
        rows.codes,
        rows.tuples,
        labels,
        {name: defuse(name) if safe else name for name in header},
        dict.fromkeys(table.sensitive, MISSING),
        frozenset(each.name for each in counts if _shows_gap(grouping, each)),
        stars,
        shuffle,
        defuse if safe else None,
    )


def _shows_gap(grouping: Grouping, column: SensitiveCounts) -> bool:
    """Whether a released row misses a value of a sensitive column."""
    if MISSING not in column.labels or not grouping.table.columns[column.name].missing:
        return False
    group, value, _ = grouping.values_of(column)
    gaps = group[value == column.labels.index(MISSING)]
    return bool(_is_kept(grouping)[gaps].any())


def _is_kept(grouping: Grouping) -> Bools:
    """Whether each group is kept; one more, the last, for what is in no group."""
    return np.append(grouping.kept, False)


def formula_cells(grouping: Grouping, labelling: Labelling) -> int:
    """Labels, sensitive values and names that a spreadsheet would run."""
    found = sum(map(is_formula, labelling.columns))
    for name in grouping.instance.layout.columns:
        texts, number = grouping.shown_blocks(name)
        runs = np.array([is_formula(label) for label in texts], dtype=bool)
        if runs.any():
            found += int(grouping.sizes[grouping.kept & runs[number]].sum())
    for column in grouping.instance.cells.sensitive:
        native = grouping.table.columns[column.name].native
        typed = native is not None and native.dtype.kind != "O"
        runs = np.array([is_formula(label) for label in column.labels], dtype=bool)
        if not runs.any() or (typed and column.name not in labelling.with_gaps):  # run by nobody
            continue
        group, value, rows = grouping.values_of(column)
        found += int(rows[_is_kept(grouping)[group] & runs[value]].sum())
    return found


def refuse_doubtful_stars(rows: ShownRows, grouping: Grouping) -> None:
    """Refuse stars that could mean two things: a value of the table, or a suppressed row."""
    table = grouping.table
    for name in table.sensitive:
        if SUPPRESSED in table.columns[name].values:
            raise OutputError(
                f"column {name!r}: the sensitive value {SUPPRESSED!r} would look like a "
                "suppressed one; leave suppressed rows absent, or rename the value"
            )
    starred = grouping.kept.copy()
    for name in grouping.instance.layout.columns:
        texts, number = grouping.shown_blocks(name)
        starred &= np.array([label == SUPPRESSED for label in texts], dtype=bool)[number]
    if table.sensitive or not starred.any():
        return
    marked = {
        name: np.array([*(v == SUPPRESSED for v in table.columns[name].values), False])
        for name in table.insensitive
    }
    found = rows.count(marked, starred) if marked else int(grouping.sizes[starred].sum())
    if found:
        raise OutputError(
            f"{found} released rows show {SUPPRESSED!r} in every cell, as suppressed "
            "ones would; leave suppressed rows absent"
        )
