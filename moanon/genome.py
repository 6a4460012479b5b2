"""Genomes: one bit string that generalizes a whole table.

The bits of all quasi-identifiers stand side by side. In a column of ``m`` base values bit ``i`` is
1 where base values ``i`` and ``i + 1`` stay apart and 0 where they are merged (Iyengar's encoding,
D §6.1). All ones is the base table, all zeros suppresses every cell. A genome is valid when every
block of every column is allowed by its domain; invalid ones are refused, never repaired.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise, product
from math import prod

import numpy as np
import numpy.typing as npt

from moanon.arrays import Bits, Bools, Floats, Ints, Outlined, State
from moanon.data.cells import Cells, SensitiveCounts, check_rows, count_values
from moanon.data.domain import (
    MISSING,
    Domain,
    DomainSpec,
    IntervalDomain,
    OrderedDomain,
    TreeDomain,
)
from moanon.data.hierarchy import Hierarchy
from moanon.data.populations import Subpopulations, SubpopulationSpec
from moanon.data.rows import find_tuples
from moanon.data.table import Role, Table, with_cells
from moanon.errors import ConfigError, DataError, GenomeError
from moanon.kernels.costs import Prices, make_prices
from moanon.kernels.histograms import (
    EQUAL,
    ORDERED,
    TREE,
    Distance,
    HistogramColumn,
    Plan,
    Sensitive,
    make_plan,
)
from moanon.kernels.join import LossScale
from moanon.kernels.population import PopulationKernel
from moanon.sealing import table_key

#: Blocks of each column, each as (start, stop) over its base values.
Generalization = dict[str, tuple[tuple[int, int], ...]]

#: `Layout.enumerate` refuses larger spaces.
MAX_ENUMERATED = 10_000_000
#: Longer genomes are cut off in error messages.
_SHOWN_BITS = 60
#: The one column of a table whose labels mean nothing, and its one base value.
_ANY = "any"


@dataclass(frozen=True, repr=False)
class Layout(Outlined):
    """Where each column's bits lie, and what they mean.

    Parameters
    ----------
    domains : mapping of str to Domain
        The quasi-identifiers in the order of their bits.

    Examples
    --------
    >>> from moanon.data.domain import OrderedDomain
    >>> layout = Layout({"size": OrderedDomain(("S", "M", "L")), "sex": OrderedDomain(("f", "m"))})
    >>> layout.bits, layout.count()
    (3, 8)
    >>> layout.labels(layout.parse("010"))
    {'size': ('S..M', 'L'), 'sex': ('*',)}
    """

    domains: Mapping[str, Domain]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the quasi-identifiers."""
        return tuple(self.domains)

    @cached_property
    def sizes(self) -> Ints:
        """Number of base values of each column."""
        return np.array([domain.size for domain in self.domains.values()], dtype=np.int64)

    @cached_property
    def offsets(self) -> Ints:
        """First bit of each column, and the total number of bits."""
        return np.concatenate(([0], np.cumsum(self.sizes - 1))).astype(np.int64)

    @cached_property
    def value_places(self) -> Ints:
        """First place of each column where all base values stand in a row, and their number."""
        return np.concatenate(([0], np.cumsum(self.sizes))).astype(np.int64)

    @cached_property
    def behind_bits(self) -> Ints:
        """Place there of the base value behind each bit: all but the first of each column."""
        return np.delete(np.arange(self.value_places[-1]), self.value_places[:-1])

    @property
    def bits(self) -> int:
        """Length of a genome."""
        return int(self.offsets[-1])

    def slices(self) -> Iterator[tuple[str, Domain, slice]]:
        """Yield each column with its domain and the place of its bits."""
        for i, (name, domain) in enumerate(self.domains.items()):
            yield name, domain, slice(int(self.offsets[i]), int(self.offsets[i + 1]))

    @cached_property
    def trees(self) -> dict[str, Hierarchy]:
        """Hierarchies of the columns that have one."""
        domains = self.domains.items()
        return {name: d.hierarchy for name, d in domains if isinstance(d, TreeDomain)}

    # -- bits that decide others -------------------------------------------------------------------

    @cached_property
    def free(self) -> Ints:
        """Bits that decide all others, ascending: of a tree, the first that each inner node owns.

        A tree of 30,000 leaves under 10,000 inner nodes has 10,000 of them.
        """
        return np.flatnonzero(self.decided_by == np.arange(self.bits))

    @cached_property
    def decided_by(self) -> Ints:
        """For each bit the free one that it equals in every valid genome."""
        decided = np.arange(self.bits)
        for _, domain, place in self.slices():
            if isinstance(domain, TreeDomain):
                tree = domain.hierarchy
                decided[place] = place.start + tree.first_boundary[tree.owner]
        return decided

    @property
    def packed_bytes(self) -> int:
        """Length of a packed genome."""
        return -(-len(self.free) // 8)

    def pack(self, genomes: Bits) -> Bits:
        """Free bits of valid genomes (rows), eight to a byte; they sort as the genomes do."""
        return np.packbits(
            genomes.take(self.free, axis=1) if self._has_decided else genomes, axis=1
        )

    def unpack(self, packed: Bits) -> Bits:
        """Genomes that were packed."""
        free = np.unpackbits(packed, axis=1, count=len(self.free))
        return free.take(self._free_place, axis=1) if self._has_decided else free

    def saved(self, packed: Bits) -> State:
        """Packed genomes as arrays for a file; they say nothing of the rows."""
        return {"genomes": packed}

    def loaded(self, state: State) -> Bits:
        """Packed genomes from what `saved` made of them."""
        return state["genomes"]

    @cached_property
    def _has_decided(self) -> bool:
        return len(self.free) < self.bits

    @cached_property
    def _free_place(self) -> Ints:
        """For each bit the place, among the free ones, of that which decides it."""
        return np.searchsorted(self.free, self.decided_by)

    # -- validity --------------------------------------------------------------------------------

    def is_valid(self, genomes: Bits) -> Bools:
        """Tell for each genome (row) whether every block is allowed by its domain."""
        if genomes.ndim != 2 or genomes.shape[1] != self.bits:
            raise self._wrong_length(genomes)
        valid: Bools = np.all(genomes <= 1, axis=1)
        for _, domain, place in self.slices():
            valid &= domain.is_valid(genomes[:, place])
        return valid

    def check(self, genomes: npt.ArrayLike) -> Bits:
        """Return `genomes` as a matrix of valid genomes, or say what is wrong with one of them."""
        try:
            matrix = np.atleast_2d(np.asarray(genomes))
        except ValueError:  # rows of different lengths
            raise GenomeError(f"every genome of this table has {self.bits} bits") from None
        if matrix.ndim != 2 or matrix.shape[1] != self.bits:
            raise self._wrong_length(matrix)
        if not ((matrix == 0) | (matrix == 1)).all():
            raise GenomeError("a genome holds zeros and ones only")
        matrix = np.ascontiguousarray(matrix, dtype=np.uint8)
        valid = self.is_valid(matrix)
        if not valid.all():
            raise self._no_node(matrix[np.argmin(valid)])
        return matrix

    def _wrong_length(self, genomes: npt.NDArray[np.generic]) -> GenomeError:
        found = genomes.shape[1] if genomes.ndim == 2 else f"an array of shape {genomes.shape}"
        return GenomeError(f"a genome of this table has {self.bits} bits. Got {found}")

    def _no_node(self, genome: Bits) -> GenomeError:
        """Name a block of an invalid genome that its domain does not allow."""
        name, domain, bits = next(
            (name, domain, genome[place])
            for name, domain, place in self.slices()
            if not domain.is_valid(genome[None, place])[0]
        )
        allowed = domain.hierarchy.node_of if isinstance(domain, TreeDomain) else {}
        start, stop = next(block for block in _blocks(bits) if block not in allowed)
        first, last = domain.label(start, start + 1), domain.label(stop - 1, stop)
        return GenomeError(
            f"genome {self._shown(self.text(genome))} is not valid: in column {name!r} the block "
            f"from {first!r} to {last!r} is not a node of the hierarchy"
        )

    def _shown(self, text: str) -> str:
        return text if len(text) <= _SHOWN_BITS else f"{text[:_SHOWN_BITS]}…"

    # -- encoding --------------------------------------------------------------------------------

    def decode(self, genome: npt.ArrayLike) -> Generalization:
        """Return the blocks of each column as ``(start, stop)`` pairs of base values."""
        matrix = self.check(genome)
        if len(matrix) != 1:
            raise GenomeError(f"one genome is decoded at a time. Got {len(matrix)}")
        return {name: _blocks(matrix[0, place]) for name, _, place in self.slices()}

    def encode(self, generalization: Mapping[str, tuple[tuple[int, int], ...]]) -> Bits:
        """Return the genome with these blocks; the inverse of `decode`."""
        if set(generalization) != set(self.columns):
            raise GenomeError(
                f"a generalization names the columns {', '.join(self.columns)}. "
                f"Got {', '.join(generalization)}"
            )
        genome = np.zeros(self.bits, dtype=np.uint8)
        for name, domain, place in self.slices():
            edges = [0]
            for start, stop in generalization[name]:
                if start != edges[-1] or stop <= start or stop != int(stop):
                    raise GenomeError(
                        f"column {name!r}: blocks must follow each other from 0 to {domain.size}. "
                        f"Got ({start}, {stop}) after {edges[-1]}"
                    )
                edges.append(stop)
            if edges[-1] != domain.size:
                raise GenomeError(
                    f"column {name!r}: blocks end at {edges[-1]} instead of {domain.size}"
                )
            genome[place][np.array(edges[1:-1], dtype=np.int64) - 1] = 1
        row: Bits = self.check(genome)[0]
        return row

    def labels(self, genome: npt.ArrayLike) -> dict[str, tuple[str, ...]]:
        """Return what the released cells of each block show, column by column."""
        return {
            name: tuple(self.domains[name].label(start, stop) for start, stop in blocks)
            for name, blocks in self.decode(genome).items()
        }

    def text(self, genome: npt.ArrayLike) -> str:
        """Write a genome as a string of 0 and 1."""
        return "".join("1" if bit else "0" for bit in np.asarray(genome))

    def parse(self, text: str) -> Bits:
        """Read a genome from a string of 0 and 1; it must be valid."""
        if set(text) - {"0", "1"}:
            raise GenomeError(f"a genome is written in 0 and 1. Got {self._shown(text)!r}")
        row: Bits = self.check(np.array([int(bit) for bit in text], dtype=np.uint8))[0]
        return row

    # -- the space of all genomes ----------------------------------------------------------------

    def count(self) -> int:
        """Count all valid genomes, exactly."""
        return prod(domain.count() for domain in self.domains.values())

    def sample(self, number: int, rng: np.random.Generator) -> Bits:
        """Draw `number` valid genomes: fair bits, and D §6.4's coin at each tree node."""
        parts = [domain.sample(number, rng) for domain in self.domains.values()]
        return np.concatenate(parts, axis=1)

    def enumerate(self, limit: int = MAX_ENUMERATED) -> Iterator[Bits]:
        """Yield every valid genome once; refuses a space of more than `limit`."""
        if self.count() > limit:  # the number itself may have thousands of digits
            raise GenomeError(f"the table has more than {limit} valid genomes; too many to list")
        return _combine(tuple(self.domains.values()))

    def full_domain(self, limit: int = MAX_ENUMERATED) -> Bits:
        """All genomes that take one whole level in every column, finest first (rows)."""
        choices = [domain.full_domain() for domain in self.domains.values()]
        if prod(map(len, choices)) > limit:
            raise GenomeError(
                f"the table has more than {limit} full-domain genomes; too many to list"
            )
        return np.stack([np.concatenate(combination) for combination in product(*choices)])


def _blocks(bits: Bits) -> tuple[tuple[int, int], ...]:
    """Blocks between the boundaries of one column, as (start, stop)."""
    edges = [0, *(np.flatnonzero(bits) + 1).tolist(), len(bits) + 1]
    return tuple(pairwise(edges))


def _combine(domains: tuple[Domain, ...]) -> Iterator[Bits]:
    """Yield all combinations of some columns' generalizations, one at a time.

    `itertools.product` would hold those of each column in memory first.
    """
    if not domains:
        yield np.zeros(0, dtype=np.uint8)
        return
    for bits in domains[0].enumerate():
        for rest in _combine(domains[1:]):
            yield np.concatenate([bits, rest])


@dataclass(frozen=True, repr=False)
class Instance(Outlined):
    """One table ready to be generalized: its rows, the layout of its genomes, its cells."""

    table: Table
    layout: Layout
    cells: Cells
    # of sensitive values not all equally far apart
    distances: Mapping[str, Domain] = field(default_factory=dict)
    # of quasi-identifiers in weighted losses; else 1
    weights: Mapping[str, float] = field(default_factory=dict)
    # class labels, for measures of what can be learnt from a release
    label: SensitiveCounts | None = None
    subpopulation_spec: SubpopulationSpec | None = None  # populations a release should speak of

    @cached_property
    def populations(self) -> Subpopulations:
        """Its large populations, found on first use; by L's rule where there is none."""
        rule = self.subpopulation_spec or SubpopulationSpec()
        return Subpopulations.find(self.layout.domains, self.cells, rule)

    @cached_property
    def row_cell(self) -> npt.NDArray[np.int32]:
        """The cell of each row; asked for only where rows themselves are."""
        if len(self.cells) == 1:
            return np.zeros(self.table.rows, dtype=np.int32)
        domains = self.layout.domains.items()
        coded = [domain.encode(self.table.column(name)) for name, domain in domains]
        return find_tuples(self.cells.codes, coded).astype(np.int32)

    @cached_property
    def key(self) -> bytes:
        """What is sealed with it can be read by whoever has the table; see `moanon.sealing`."""
        return table_key(self.table.digest, self.cells.codes, self.cells.counts)

    @cached_property
    def prices(self) -> Prices:
        """What cells cost by other measures than D's loss."""
        domains, counts = self.layout.domains, self.cells.counts
        rows = [
            np.bincount(codes, weights=counts, minlength=domain.size).astype(np.int64)
            for codes, domain in zip(self.cells.codes, domains.values(), strict=True)
        ]
        return make_prices(
            [domain.spans for domain in domains.values()],
            rows,
            _column_shares(domains, self.weights).tolist(),
            [isinstance(domain, IntervalDomain) for domain in domains.values()],
            [_tree_nodes(domain) for domain in domains.values()],
        )

    @cached_property
    def kernel(self) -> PopulationKernel:
        """The table's kernel on one thread, made on first use."""
        return self.make_kernel(1)

    def make_kernel(self, threads: int) -> PopulationKernel:
        """Make a kernel with its own working memory for each of some threads."""
        return PopulationKernel(
            self.cells.codes,
            self.cells.counts,
            self.layout.sizes,
            self.listed_values,
            threads,
            self.plan,
            self.prices,
            losses=self.losses,
        )

    @cached_property
    def losses(self) -> LossScale:
        """Losses of cells as integers."""
        spans = [domain.spans for domain in self.layout.domains.values()]
        # A kernel takes two columns at least: the one beside a single column has one value.
        spans += [np.ones(1, dtype=np.int64)] * (len(spans) == 1)
        return LossScale.build(spans, self.cells.rows)

    @cached_property
    def listed_values(self) -> Sensitive:
        """Sensitive values and class labels of each cell, numbered through."""
        columns, numbers = self.histogram_columns, self.value_numbers
        owners = [np.full(len(number), i) for i, number in enumerate(numbers.values())]
        return Sensitive(
            np.concatenate([np.zeros(0, dtype=np.int64), *owners]),
            *_list_by_cell(columns, [numbers[column.name] for column in columns], len(self.cells)),
        )

    @cached_property
    def digest(self) -> str:
        """That of the table; if it is one of counts, together with those of the cells."""
        return with_cells(self.table.digest, self.cells)

    @property
    def plan(self) -> Plan:
        """What is known about those values."""
        return self._laid_out[0]

    @property
    def value_numbers(self) -> dict[str, Ints]:
        """How the kernel numbers the labels of sensitive and class columns, in its order."""
        return self._laid_out[1]

    @property
    def histogram_columns(self) -> tuple[SensitiveCounts, ...]:
        """The sensitive columns, then the class labels if those are not sensitive."""
        columns = self.cells.sensitive
        if self.label is None or self.label.name in [column.name for column in columns]:
            return columns
        return (*columns, self.label)

    def distance_of(self, name: str) -> Distance:
        """Name the ground distance between the values of a sensitive column."""
        if name not in self.distances:
            return "equal"
        return "tree" if isinstance(self.distances[name], TreeDomain) else "ordered"

    @cached_property
    def _laid_out(self) -> tuple[Plan, dict[str, Ints]]:
        """What is known of the values of all columns of histograms, and their numbers."""
        columns = self.histogram_columns
        names = [column.name for column in columns]
        label = -1 if self.label is None else names.index(self.label.name)
        laid_out = [_histogram_column(c, self.distances.get(c.name)) for c in columns]
        first = np.cumsum([0, *(len(number) for _, number in laid_out)])
        numbers = {
            name: number + shift
            for name, (_, number), shift in zip(names, laid_out, first, strict=False)
        }
        shapes = [column for column, _ in laid_out]
        return make_plan(shapes, len(self.cells.sensitive), label, self.cells.rows), numbers

    @classmethod
    def build(
        cls,
        table: Table,
        specs: Mapping[str, DomainSpec],
        *,
        distances: Mapping[str, DomainSpec] | None = None,
        weights: Mapping[str, float] | None = None,
        label: str | None = None,
        subpopulation_spec: SubpopulationSpec | None = None,
    ) -> Instance:
        """Build the domain of every quasi-identifier and count the cells.

        Parameters
        ----------
        table : Table
        specs : mapping of str to DomainSpec
            The quasi-identifiers.
        distances : mapping of str to DomainSpec, optional
            Sensitive columns whose values have an order or a tree.
        weights, label, subpopulation_spec
            As the attributes; the label is named, and must be released as it is.
        """
        check_rows(table.source, table.rows)
        quasi = table.quasi
        for name in specs:
            if table.roles.get(name) is not Role.QUASI:
                raise DataError(f"column {name!r} has a domain but is not a quasi-identifier")
        for name in quasi:
            if name not in specs:
                raise DataError(
                    f"column {name!r} is a quasi-identifier and needs a domain: interval, ordered "
                    "or tree"
                )
        domains = {name: specs[name].build(table.columns[name]) for name in quasi}
        _column_shares(domains, weights or {})  # refuses weights that mean nothing
        cells = Cells.build(table, domains)
        return cls(
            table,
            Layout(domains),
            cells,
            _build_distances(table, distances or {}),
            dict(weights or {}),
            None if label is None else _count_labels(table, label, domains),
            subpopulation_spec,
        )

    @classmethod
    def without_meaning(cls, table: Table) -> Instance:
        """A table of which nobody knows what labels of its quasi-identifiers would mean.

        One column that says nothing stands for all of them: rows can be grouped by what a released
        file shows, but what was lost is not known.
        """
        cells = Cells(
            (_ANY,),
            np.zeros((1, 1), dtype=np.uint16),
            np.array([table.rows]),
            tuple(count_values(table.store, {}, name)[2] for name in table.sensitive),
        )
        return cls(table, Layout({_ANY: OrderedDomain((_ANY,))}), cells)

    def without(self, names: Collection[str]) -> Instance:
        """The same table without some of its sensitive and class columns."""
        if not names:
            return self
        roles = {n: Role.INSENSITIVE if n in names else r for n, r in self.table.roles.items()}
        sensitive = tuple(c for c in self.cells.sensitive if c.name not in names)
        return replace(
            self,
            table=replace(self.table, roles=roles),
            cells=replace(self.cells, sensitive=sensitive),
            label=None if self.label is None or self.label.name in names else self.label,
        )

    def labelled(self, name: str) -> Instance:
        """The same table with another class column, which must be released as it is."""
        return replace(self, label=_count_labels(self.table, name, self.layout.domains))

    def over(self, table: Table) -> Instance:
        """The same domains, distances, weights and class column over other rows."""
        domains = {
            name: domain.meeting(table.columns[name].values)
            for name, domain in self.layout.domains.items()
        }
        cells = Cells.build(table, domains)
        label = None if self.label is None else _count_labels(table, self.label.name, domains)
        return replace(self, table=table, layout=Layout(domains), cells=cells, label=label)


def _column_shares(domains: Mapping[str, Domain], weights: Mapping[str, float]) -> Floats:
    """Weights of all columns over their sum; refuses what is none."""
    for name, weight in weights.items():
        if name not in domains:
            raise ConfigError(f"column {name!r} has a weight but is not a quasi-identifier")
        if not (weight >= 0 and np.isfinite(weight)):
            raise ConfigError(f"the weight of column {name!r} must be at least 0. Got {weight}")
    given = np.array([weights.get(name, 1.0) for name in domains], dtype=np.float64)
    if not given.max() > 0:
        raise ConfigError("the weights of the quasi-identifiers must not all be 0")
    given = np.ldexp(given, -np.frexp(given.max())[1])  # the sum of huge ones would be infinite
    return np.asarray(given / given.sum())


def _tree_nodes(domain: Domain) -> tuple[Ints, Ints, Ints] | None:
    if not isinstance(domain, TreeDomain):
        return None
    tree = domain.hierarchy
    return np.array(tree.starts), np.array(tree.stops), tree.heights


def _histogram_column(
    counts: SensitiveCounts, domain: Domain | None
) -> tuple[HistogramColumn, Ints]:
    """Lay a column out for kernels, with values as far apart as their domain says."""
    total = counts.total()
    if domain is None:
        return HistogramColumn.arrange(total, EQUAL, np.arange(len(total)), len(total))
    places = domain.find(counts.labels)
    if domain.has_missing and MISSING in counts.labels:
        places[counts.labels.index(MISSING)] = domain.size - 1
    if not isinstance(domain, TreeDomain):
        return HistogramColumn.arrange(total, ORDERED, places, domain.size)
    levels = domain.hierarchy.node_starts[:-1]
    return HistogramColumn.arrange(total, TREE, places, domain.size, levels)


def _build_distances(table: Table, specs: Mapping[str, DomainSpec]) -> dict[str, Domain]:
    built: dict[str, Domain] = {}
    for name, spec in specs.items():
        if table.roles.get(name) is not Role.SENSITIVE:
            raise DataError(f"column {name!r} has a distance but is not sensitive")
        domain = spec.build(table.columns[name])
        domain.codes(table.columns[name])  # says which values it has no place for
        built[name] = domain
    return built


def _list_by_cell(
    columns: Sequence[SensitiveCounts], numbers: Sequence[Ints], cells: int
) -> tuple[Ints, npt.NDArray[np.int32], npt.NDArray[np.int32] | Ints]:
    """List the values of some columns, renumbered, cell by cell: where cells begin, values, rows.

    There may be as many values as rows, so nothing is sorted, and of one column nothing is copied
    but the numbers.
    """
    if len(columns) == 1:
        renumbered = numbers[0].astype(np.int32)[columns[0].values]
        return columns[0].starts, renumbered, columns[0].counts
    starts = np.zeros(cells + 1, dtype=np.int64)
    for column in columns:
        starts += column.starts
    values = np.empty(int(starts[-1]), dtype=np.int32)
    kinds = [column.counts.dtype for column in columns]
    counts = np.empty(len(values), dtype=np.result_type(np.int32, *kinds))
    place = starts[:-1].copy()  # where the next column goes in each cell
    for column, number in zip(columns, numbers, strict=True):
        lengths = np.diff(column.starts)
        at = np.repeat(place - column.starts[:-1], lengths) + np.arange(len(column.values))
        values[at], counts[at] = number[column.values], column.counts
        place += lengths
    return starts, values, counts


def _count_labels(table: Table, name: str, domains: Mapping[str, Domain]) -> SensitiveCounts:
    table.checked(name)
    if table.roles[name] not in (Role.SENSITIVE, Role.INSENSITIVE):
        raise ConfigError(
            f"the class column must be released as it is, so its role must be sensitive or "
            f"insensitive. Got {table.roles[name]} for {name!r}"
        )
    codes = {quasi: domain.codes(table.columns[quasi]) for quasi, domain in domains.items()}
    return count_values(table.store, codes, name)[2]
