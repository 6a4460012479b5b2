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
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from moanon import __version__
from moanon.arrays import Bools, Outlined
from moanon.atomic import StagedFiles, StagedFolder
from moanon.data.column import TEXT, ZONED_TIME, Profile
from moanon.data.domain import MISSING, Domain, IntervalDomain, TreeDomain
from moanon.data.rows import Labelling, ReleasedColumn, RowOrder, Shuffle
from moanon.data.source import is_of_counts, kept, new_key
from moanon.data.table import Role, Table
from moanon.engines.duck import spell
from moanon.errors import ConfigError, GenomeError, OutputError, got
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.measures import MEASURES
from moanon.measures.evaluate import score_grouping
from moanon.measures.loss import optimality
from moanon.measures.measure import LARGEST, is_number
from moanon.measures.suppression import RECURSIVE_C, Suppression, check_recursive_c
from moanon.release.certificate import (
    Certificate,
    Origin,
    certify_file,
    certify_table,
    front_measures,
)
from moanon.release.labels import label_rules
from moanon.release.readback import Format, NamedValues, Reading
from moanon.release.reader_privacy import SensitiveFacts
from moanon.release.released_rows import (
    ShownRows,
    formula_cells,
    generalized,
    refuse_doubtful_stars,
)

if TYPE_CHECKING:
    import pandas as pd

    from moanon.release.bucketized import BucketCertificate

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
        Where a stored generalization is applied to new rows: how many of them hold a value that
        the generalization has no place for. Such rows are suppressed like the others, but stand in
        no group; ``grouping`` has the rest.
    stated : tuple of (str, number)
        What a front says about this release: names of measures with their values, a name twice
        where the front has two names for it. A file that does not show the same is not written.
    least : float or None
        A loss that no generalization of the table with as large a k goes below, where one was
        proven.
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
        """Apply a genome to the rows of a table.

        Parameters
        ----------
        instance : Instance
            The table.
        genome : array of 0 and 1
            A valid genome of it.
        k : int, optional
            Suppress every group smaller than this.
        suppressed : array (groups,) of bool, optional
            Or: which groups of ``Grouping.of_genome(instance, genome)`` to suppress. Default: none.
        recursive_c : float
            The constant for which recursive diversity is promised and certified.

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

        Worked out on the writer's side, by the loops of a search; the reader finds the same numbers
        in the file by its own means.
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

        Parameters
        ----------
        suppressed : {"absent", "star"}
            Leave suppressed rows out, or show ``*`` in all their cells; then every column is text.

        Refused if rows of stars would look like released rows.
        """
        import pandas as pd  # here, because a release can be written as CSV without it

        rows, labelling = self._labelling(suppressed)
        columns = rows.store.held(list(labelling.columns) + list(labelling.codes)).released(
            labelling
        )
        return pd.DataFrame({column.name: _series(column) for column in columns})

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
            Put an apostrophe before cells that a spreadsheet would run as formulas; by default they
            are written as they are. The certificate says how many there are, and which was done.
        shuffle : int, optional
            Seed of the order of rows, to get the same file again: that depends on nothing but the
            seed and what the rows show. By default the system's randomness shuffles them.
        keep_order : bool
            Leave the rows in the order of the source, where that has one.
        spared : iterable of path
            Files that must not be replaced; those of the table are none that may.

        Raises
        ------
        ConfigError
            If `suppressed`, `shuffle` or `keep_order` cannot be used.
        OutputError
            If the files exist and `force` is not set, if one of them was read as the table or is
            spared, or if they cannot be written.
        CertificateError
            If the written file does not measure as promised.
        """
        in_parts = os.fspath(path).endswith(("/", os.sep))
        path = Path(path)
        form = _format(path, in_parts)
        if form == "parquet":
            _refuse_names_alike(self.instance.table)
        order = checked_order(shuffle, keep_order)
        held = [self._labelling(suppressed, order, spreadsheet_safe)]
        header = tuple(held[0][1].columns)
        notice = path.with_name(path.name + ".certificate.json")
        spared = (*self.instance.table.files, *spared)

        def fill(place: Path, sync: Callable[[], None]) -> Certificate:
            rows, labelling = held.pop()  # not held while the file is read
            for texts, _ in labelling.labels.values():
                "".join(texts).encode()  # no file holds half a character
            found, row_order = rows.store.write(labelling, place, spell if form == "csv" else None)
            found += formula_cells(self.grouping, labelling)
            del rows, labelling
            sync()
            return certify_file(
                place,
                self._reading(form, header, stars=suppressed == "star", defused=spreadsheet_safe),
                self.promised,
                self._origin(row_order, found),
                stated=self.stated,
                known=self._known,
                name=path.name,
            )

        try:
            return write_staged(path, notice, fill, in_parts, force=force, spared=spared)
        except UnicodeEncodeError as error:
            raise OutputError(f"{path} cannot be written: a text is not Unicode: {error}") from None

    def write_table(
        self,
        name: str,
        *,
        force: bool = False,
        keep: Callable[[Certificate], None] | None = None,
    ) -> Certificate:
        """Write the release into a table of the database that its rows are in.

        The database labels the rows itself; what it wrote is then measured by it, over another
        connection. The table gets its name only if it measures as promised.

        Parameters
        ----------
        name : str
            Of the new table: ``NAME`` or ``SCHEMA.NAME``.
        force : bool
            Replace a table that exists, unless the release is made of it.
        keep : callable, optional
            Given the certificate before the table gets its name, which it does not get if this
            fails.
        """
        rows, labelling = self._labelling("absent")
        reading = self._reading("table", tuple(labelling.columns), stars=False, defused=False)
        with rows.store.new_table(labelling, name, force) as address:
            certificate = certify_table(
                address,
                reading,
                self.promised,
                self._origin("unordered", formula_cells=0),
                stated=self.stated,
                known=self._known,
                name=name,
            )
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
        columns: dict[str, dict[str, Any]] = {}
        for (name, column), value in self.promised.items():
            if column:
                columns.setdefault(column, {})[name] = _plain_number(value)
        return {
            "moanon": __version__,
            "secret": "These numbers depend on rows that were not released. Do not publish them.",
            "file": certificate.file,
            "rows_in": self.instance.table.rows_in + self.rows_outside,
            "measures": {
                name: _plain_number(value)
                for name, value in {
                    **dict(self.stated),
                    **front_measures(self.promised),
                    **self._known,
                }.items()
            },
            "columns": columns,
            "least_loss": self.least,
            "optimality": None if self.least is None else self._optimality(self.least),
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

    def _origin(self, row_order: RowOrder, formula_cells: int) -> Origin:
        table = self.instance.table
        return Origin(
            table.rows_in + self.rows_outside,
            table.rows_dropped,
            row_order,
            formula_cells,
            self.promises,
            self._notes(),
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

    def _optimality(self, least: float) -> str:
        """Say how far the release can be above the optimum."""
        return optimality(float(self.promised["loss", ""]), least) or "not known"


def sensitive_facts(column: Profile, domain: Domain | None) -> SensitiveFacts:
    """Say in plain texts and numbers which values a sensitive column has, and where they stand."""
    rows = dict(zip(column.values, column.counts.tolist(), strict=True))
    if column.missing:
        rows[MISSING] = column.missing
    if domain is None:
        return SensitiveFacts(rows)
    levels, bare, last_step = _levels(domain, with_missing=True), _levels(domain), None
    if isinstance(domain, IntervalDomain) and domain.has_declared_ends:
        steps = domain.steps
        assert steps.high is not None
        last_step = math.floor((steps.high - steps.origin) / steps.width) - steps.first
    return SensitiveFacts(
        rows, label_rules(domain), levels, domain.has_declared_ends, bare, last_step
    )


def _levels(domain: Domain, *, with_missing: bool = False) -> tuple[tuple[int, ...], ...]:
    """Levels of a tree below its root, from the leaves on: the first places of their nodes."""
    if not isinstance(domain, TreeDomain):
        return ()
    tree, dropped = domain.hierarchy, domain.has_missing and not with_missing
    cuts = [
        tuple(sorted(tree.starts[node] for node in cut))[: -1 if dropped else None]
        for cut in tree.levels
        if cut != (0,)
    ]
    # A level of one node is the root's, over which nothing passes.
    return tuple(cut for cut in dict.fromkeys(cuts) if not dropped or len(cut) > 1)


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


def _plain_number(value: float | Fraction) -> Any:
    """A number as JSON can hold it."""
    number = float(value) if isinstance(value, Fraction) else value
    return "inf" if number == math.inf else number


def write_staged(
    path: Path,
    notice: Path,
    fill: Callable[[Path, Callable[[], None]], Certificate],
    in_parts: bool,
    *,
    force: bool,
    spared: Iterable[Path],
) -> Certificate:
    """Have a file or a folder of parts filled and certified before it gets its name."""
    if in_parts:
        with StagedFolder(path, notice, force=force, spared=spared) as parts:
            certificate = fill(parts.folder, parts.sync)
            parts.notice.write_text(certificate.to_json(), encoding="utf-8", newline="\n")
            parts.move()
    else:
        with StagedFiles(path, notice, force=force, spared=spared) as staged:
            certificate = fill(staged[path], lambda: staged.sync(path))
            staged[notice].write_text(certificate.to_json(), encoding="utf-8", newline="\n")
            staged.move()
    return certificate


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


#: Type of a released column → its type in a frame, and its type there if it has gaps.
_FRAME_TYPES: dict[str, tuple[Any, Any]] = {
    "BIGINT": ("int64", "Int64"),
    "UBIGINT": ("uint64", "UInt64"),
    "BOOLEAN": ("bool", "boolean"),
    "DOUBLE": ("float64", "float64"),
    "FLOAT": ("float32", "float32"),
    "DATE": ("M8[s]", "M8[s]"),
    "TIMESTAMP": ("M8[us]", "M8[us]"),
    "TIMESTAMP_NS": ("M8[ns]", "M8[ns]"),
    ZONED_TIME: ("M8[us]", "M8[us]"),
}


def _series(column: ReleasedColumn) -> pd.Series[Any]:
    """A column of a frame: in its own type where there is one, otherwise texts and None."""
    import pandas as pd

    native = column.native
    if native is None:
        return pd.Series(column.texts[column.codes], dtype=object)
    if column.sql_type == TEXT:
        return pd.Series(np.array([*native, None], dtype=object)[column.codes], dtype=object)
    dtype, with_gaps = _FRAME_TYPES[column.sql_type]
    gap = {"f": np.nan, "M": "NaT"}.get(np.dtype(dtype).kind, 0)
    # Released values alone take the type: it need not hold others.
    values = np.append(native, np.array([gap], dtype=native.dtype))[column.codes].astype(dtype)
    series, gaps = pd.Series(values), column.codes == len(native)
    if dtype != with_gaps and gaps.any():
        return series.astype(with_gaps).mask(gaps)
    return series.dt.tz_localize("UTC") if column.sql_type == ZONED_TIME else series
