"""Ordered domains: what the values of a quasi-identifier are, and what blocks of them are called.

Every quasi-identifier has an ordered list of *base values*; a generalization cuts that list into
blocks of neighbours. Three kinds of domain differ in where base values come from and which blocks
are allowed:

- `IntervalDomain`: integers, decimals or dates in steps of equal width; any block.
- `OrderedDomain`: categories in a declared order; any block.
- `TreeDomain`: the leaves of a hierarchy; only blocks that are nodes of the tree, or, where groups
  have blocks of their own, any neighbouring nodes if that is asked for.

A domain is *declared* (`IntervalSpec`, `OrderedSpec`, `TreeSpec`) and then *built* for the column
at hand, because an interval may take its range from the data and a column with missing values gets
one more base value, last in the order, called ``(missing)``. It has no place among numbers or in an
order, so a block that holds it and others says so: ``S..M or (missing)``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from moanon.arrays import Bits, Bools, Ints, Outlined
from moanon.data.cell_reading import PLAIN, Notation
from moanon.data.column import Column, Profile
from moanon.data.hierarchy import MAX_LEAVES, SUPPRESSED, Hierarchy
from moanon.data.steps import Scale, Steps
from moanon.errors import DataError

#: Base values are coded in 16 bits; a domain this fine is a typo or an identifier.
MAX_BASE_VALUES = MAX_LEAVES
#: The base value that missing cells get under the policy ``category``.
MISSING = "(missing)"
#: Stands between the first and the last value of an ordered block.
RANGE_MARK = ".."
#: Ends the label of a block that holds missing cells beside others.
OR_MISSING = f" or {MISSING}"
#: Stands in results for a label that would reveal a value of suppressed rows.
NOT_SHOWN = "(not shown)"
#: Which names of a tree reveal values of the table, because a rule made them from these: none,
#: those of leaves, or those of all nodes, which show how the values below begin or end.
Telling = Literal["nothing", "leaves", "heads", "tails"]


class Domain(Outlined, ABC):
    """An ordered list of base values with a name for every allowed block.

    Blocks are given as ``start, stop``: base values ``start .. stop - 1``.
    """

    kind: ClassVar[str]
    has_missing: bool  # whether the last base value stands for missing cells

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of base values ``m``; the column has ``m - 1`` bits."""

    @property
    @abstractmethod
    def has_declared_ends(self) -> bool:
        """Whether all base values but that of missing cells follow from the declaration alone."""

    @property
    def is_declared(self) -> bool:
        """Whether all base values follow from the declaration alone, whatever the rows hold.

        If not, numbers that depend on them say something about rows that no release shows.
        """
        return self.has_declared_ends and not self.has_missing

    @property
    def several(self) -> Mapping[int, int]:
        """Base values that stand for more than one value, each with how many: clamped ends."""
        return {}

    @property
    def spans(self) -> Ints:
        """How many values each base value stands for."""
        spans = np.ones(self.size, dtype=np.int64)
        for place, values in self.several.items():
            spans[place] = values
        return spans

    @property
    def values(self) -> int:
        """Number of values that all base values stand for: the ``m`` of losses."""
        return self.size + sum(values - 1 for values in self.several.values())

    @abstractmethod
    def find(self, values: Sequence[str]) -> Ints:
        """Index of the base value of each text; -1 where the domain has none."""

    @abstractmethod
    def _block_name(self, start: int, stop: int) -> str:
        """Name of a block that is neither the whole domain nor forbidden."""

    def label(self, start: int, stop: int) -> str:
        """Return what a released cell of this block shows."""
        if self.size > 1 and stop - start == self.size:
            return SUPPRESSED
        return self._block_name(start, stop)

    def allows(self, start: int, stop: int) -> bool:
        """Whether a group that has blocks of its own may show this one."""
        return True

    def reveals(self, start: int, stop: int) -> bool:
        """Whether the label of a block names a value that is known only from the table."""
        return False

    def meeting(self, values: Iterable[str]) -> Domain:
        """The same domain beside rows with these values, which may name hidden leaves."""
        return self

    def is_valid(self, bits: Bits) -> Bools:
        """Return for each row of boundary bits whether all its blocks are allowed."""
        return np.ones(len(bits), dtype=bool)

    def count(self) -> int:
        """Count all valid generalizations of the column."""
        return int(2 ** (self.size - 1))

    def sample(self, number: int, rng: np.random.Generator) -> Bits:
        """Draw valid generalizations, one row of boundary bits each."""
        return rng.integers(0, 2, size=(number, self.size - 1), dtype=np.uint8)

    def enumerate(self) -> Iterator[Bits]:
        """Yield the boundary bits of every valid generalization."""
        width = self.size - 1
        for number in range(2**width):
            yield np.array([number >> i & 1 for i in range(width)], dtype=np.uint8)

    def full_domain(self) -> tuple[Bits, ...]:
        """Generalizations that treat the whole domain alike, finest first; of a tree its levels."""
        width = self.size - 1
        return tuple(np.full(width, bit, dtype=np.uint8) for bit in ((1, 0) if width else (1,)))

    def encode(self, column: Column) -> npt.NDArray[np.uint16]:
        """Return the base value of every row of `column`; refuses values outside the domain."""
        # Missing cells have code -1, which picks the last entry.
        return self.codes(column).astype(np.uint16)[column.codes]

    def codes(self, column: Profile) -> Ints:
        """Return the base value of every value of `column` and, last, that of its missing cells.

        Refused are values outside the domain, and missing cells where it has no place for them.
        """
        check_size(column.name, self.size)  # or codes would wrap around and merge strangers
        found = self.find(column.values)
        outside = np.flatnonzero(found < 0)
        if len(outside):
            number = int(column.counts[outside].sum())
            hold = "row holds a value" if number == 1 else "rows hold values"
            shown = ", ".join(repr(column.values[i]) for i in outside[:3])
            more = f" and {len(outside) - 3} more" if len(outside) > 3 else ""
            raise DataError(
                f"column {column.name!r}: {number} {hold} outside its {self.kind} domain "
                f"({self.describe()}): {shown}{more}"
            )
        if not self.has_missing and column.missing:
            rows_have = "row has" if column.missing == 1 else "rows have"
            raise DataError(
                f"column {column.name!r}: {column.missing} {rows_have} no value, and its "
                f"{self.kind} domain was built without one for missing cells"
            )
        return np.append(found, self.size - 1)

    @abstractmethod
    def describe(self) -> str:
        """Say in a few words which values the domain holds."""

    def record(self, blocks: Iterable[tuple[int, int]], salt: str) -> dict[str, Any]:
        """The domain as JSON can hold it, to be read again without the table (`domain_from`).

        New rows must meet the same domain, and a range or a tree may come from the data. Stored are
        names of base values and where they begin, no counts and no rows. Of a tree only those nodes
        keep their names that somebody has seen already, in the label of one of `blocks`. A leaf
        that no label shows by itself may be a value of suppressed rows. All that is stored of it is
        a digest, made with `salt`, by which the same value is known in other rows. These then also
        name the nodes above it that show a part of the value (``1305*``).
        """
        return {"kind": self.kind, "missing": self.has_missing, **self._record(blocks, salt)}

    @abstractmethod
    def _record(self, blocks: Iterable[tuple[int, int]], salt: str) -> dict[str, Any]:
        """What a domain of this kind stores of itself."""


@dataclass(frozen=True, repr=False)
class IntervalDomain(Domain):
    """Numbers or dates in steps of equal width."""

    steps: Steps
    has_missing: bool = False
    kind: ClassVar[str] = "interval"

    @property
    def size(self) -> int:
        return self.steps.size + self.has_missing

    @property
    def has_declared_ends(self) -> bool:
        return self.steps.is_declared

    @property
    def several(self) -> Mapping[int, int]:
        return self.steps.several

    def find(self, values: Sequence[str]) -> Ints:
        return self.steps.find(values)

    def _block_name(self, start: int, stop: int) -> str:
        if stop <= self.steps.size:
            return self.steps.label(start, stop)
        if start == self.steps.size:
            return MISSING
        return self.steps.label(start, stop - 1) + OR_MISSING

    def describe(self) -> str:
        return self.steps.describe()

    def _record(self, blocks: Iterable[tuple[int, int]], salt: str) -> dict[str, Any]:
        return {"steps": self.steps.record()}


@dataclass(frozen=True, repr=False)
class OrderedDomain(Domain):
    """Categories in a declared order."""

    order: tuple[str, ...]
    has_missing: bool = False
    kind: ClassVar[str] = "ordered"

    @property
    def size(self) -> int:
        return len(self.order)

    @property
    def has_declared_ends(self) -> bool:
        return True

    @property
    def _declared(self) -> tuple[str, ...]:
        return self.order[:-1] if self.has_missing else self.order

    @cached_property
    def _index(self) -> dict[str, int]:
        return {value: i for i, value in enumerate(self._declared)}

    def find(self, values: Sequence[str]) -> Ints:
        return np.array([self._index.get(value, -1) for value in values], dtype=np.int64)

    def _block_name(self, start: int, stop: int) -> str:
        if stop - start == 1:
            return self.order[start]
        if self.has_missing and stop == self.size:
            return self._block_name(start, stop - 1) + OR_MISSING
        return self.order[start] + RANGE_MARK + self.order[stop - 1]

    def describe(self) -> str:
        first, last = self._declared[0], self._declared[-1]
        return first if first == last else f"{first} … {last}"

    def _record(self, blocks: Iterable[tuple[int, int]], salt: str) -> dict[str, Any]:
        return {"order": list(self.order)}


@dataclass(frozen=True, repr=False)
class TreeDomain(Domain):
    """The leaves of a hierarchy; blocks are its nodes.

    Leaves are values as they are written, or `steps` of numbers or dates under the names that these
    have. With `sets`, a group that has blocks of its own may also show several neighbouring nodes,
    as ``{Married, Widowed}``: the largest that make up the block. `telling` says which names come
    from the table, and `made` that a rule made the tree from the values of the column.

    Some leaves may be `hidden`: known only by a digest of their names with `salt`. Whoever has a
    name finds its leaf; nobody can read the names off, but a guess can be tested. Nodes above them
    that show how a value begins or ends are named after the values that are found: `forms` has how
    many characters each shows, and what stands for the others.
    """

    hierarchy: Hierarchy
    has_missing: bool = False
    steps: Steps | None = None
    sets: bool = False
    telling: Telling = "nothing"
    made: bool = False
    salt: str = ""
    hidden: Mapping[str, int] = field(default_factory=dict)
    forms: Mapping[int, tuple[int, str]] = field(default_factory=dict)
    kind: ClassVar[str] = "tree"

    @property
    def size(self) -> int:
        return len(self.hierarchy.leaves)

    @property
    def has_declared_ends(self) -> bool:
        return not self.made

    @property
    def several(self) -> Mapping[int, int]:
        return {} if self.steps is None else self.steps.several

    @cached_property
    def _index(self) -> dict[str, int]:
        # A cell that reads "(missing)" is not a missing cell.
        leaves = self.hierarchy.leaf_index
        apart = {*self.hidden.values()}
        if self.has_missing:
            apart.add(leaves[MISSING])
        return {leaf: i for leaf, i in leaves.items() if i not in apart}

    def find(self, values: Sequence[str]) -> Ints:
        if self.steps is not None:
            return self.steps.find(values)
        found = np.array([self._index.get(value, -1) for value in values], dtype=np.int64)
        if self.hidden:
            for place in np.flatnonzero(found < 0).tolist():
                found[place] = self._find_hidden(values[place])
        return found

    def _find_hidden(self, value: str) -> int:
        return self.hidden.get(_digest(self.salt, value), -1)

    def _block_name(self, start: int, stop: int) -> str:
        names = [self.hierarchy.names[node] for node in self.hierarchy.covering(start, stop)]
        return names[0] if len(names) == 1 else f"{{{', '.join(map(_quoted, names))}}}"

    def allows(self, start: int, stop: int) -> bool:
        return self.sets or (start, stop) in self.hierarchy.node_of

    def reveals(self, start: int, stop: int) -> bool:
        number = stop - start
        if self.telling == "nothing" or (number == 1 and self.has_missing and stop == self.size):
            return False
        return number == 1 if self.telling == "leaves" else number < self.size

    def meeting(self, values: Iterable[str]) -> TreeDomain:
        if not self.hidden:
            return self
        tree, names = self.hierarchy, list(self.hierarchy.names)
        for value in values:
            node = -1 if (leaf := self._find_hidden(value)) < 0 else tree.node_of[leaf, leaf + 1]
            if node >= 0:
                names[node] = value
            while node >= 0:
                if node in self.forms:
                    shown, rest = self.forms[node]
                    from_left, end = self.telling == "heads", len(value) - shown
                    names[node] = value[:shown] + rest if from_left else rest + value[end:]
                node = tree.parents[node]
        return replace(self, hierarchy=replace(tree, names=tuple(names)))

    def is_valid(self, bits: Bits) -> Bools:
        return self.hierarchy.is_cut(bits)

    def count(self) -> int:
        return self.hierarchy.count_cuts()

    def sample(self, number: int, rng: np.random.Generator) -> Bits:
        return self.hierarchy.sample(number, rng)

    def enumerate(self) -> Iterator[Bits]:
        for cut in self.hierarchy.cuts():
            yield self.hierarchy.cut_bits(cut)

    def full_domain(self) -> tuple[Bits, ...]:
        return tuple(self.hierarchy.cut_bits(cut) for cut in dict.fromkeys(self.hierarchy.levels))

    def describe(self) -> str:
        number = self.size - self.has_missing
        if self.steps is not None:
            return self.steps.describe()
        if number == 1:
            return self.hierarchy.leaves[0]
        return f"the {number} leaves of {self.hierarchy.names[0]!r}"

    def _record(self, blocks: Iterable[tuple[int, int]], salt: str) -> dict[str, Any]:
        tree = self.hierarchy
        named = {node for block in blocks for node in tree.covering(*block)}
        if self.has_missing:
            named.add(tree.names.index(MISSING))
        if self.size > 1:
            named.discard(0)  # the root shows as a star
        unnamed = [node for node in range(len(tree.names)) if node not in named]
        masked = self.telling in ("heads", "tails")
        return {
            "hierarchy": tree.record(unnamed),
            "steps": None if self.steps is None else self.steps.record(),
            "sets": self.sets,
            "salt": salt,
            "hidden": {
                _digest(salt, tree.names[node]): tree.starts[node]
                for node in unnamed
                if not tree.children[node] and self.steps is None
            },
            "telling": self.telling,
            "made": self.made,
            "forms": [
                [node, *self._form(tree.names[node])]
                for node in unnamed
                if masked and node and tree.children[node]
            ],
        }

    def _form(self, name: str) -> tuple[int, str]:
        """How many characters of the values below a node its name shows, and what hides others."""
        shown = len(name.rstrip(SUPPRESSED) if self.telling == "heads" else name.lstrip(SUPPRESSED))
        return shown, SUPPRESSED * (len(name) - shown)


def domain_from(record: Mapping[str, Any]) -> Domain:
    """Read what `Domain.record` gave; anything else is refused as damaged."""
    try:
        missing = bool(record["missing"])
        if record["kind"] == "ordered":
            return OrderedDomain(tuple(record["order"]), missing)
        if record["kind"] == "interval":
            return IntervalDomain(Steps.of_record(record["steps"]), missing)
        return TreeDomain(
            Hierarchy.of_record(record["hierarchy"]),
            missing,
            None if record["steps"] is None else Steps.of_record(record["steps"]),
            record["sets"],
            record.get("telling", "nothing"),
            record.get("made", True),  # earlier versions did not store it: nothing is declared
            str(record["salt"]),
            dict(record["hidden"]),
            {node: (shown, rest) for node, shown, rest in record.get("forms", ())},
        )
    except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise DataError(f"a stored domain is damaged: {error!r}") from None


def _digest(salt: str, name: str) -> str:
    """What stands for the name of a hidden leaf."""
    return sha256(f"{salt}\0{name}".encode()).hexdigest()[:32]


@dataclass(frozen=True)
class IntervalSpec:
    """Declare an interval column.

    Parameters
    ----------
    granularity : int, float, str, optional
        Width of a step: a positive number; for dates a number of days or one of ``day``, ``week``,
        ``month``, ``quarter``, ``year``, ``decade``. Default 1; decimals need one.
    range : pair, optional
        First and last value of the domain, both included. Default: from the data. Where steps
        are made of months, the ends stand for their whole months.
    origin : int, float or str, optional
        A value where a step begins. Default: the range's first value; without a range 0, for days
        and weeks a Monday.
    type : {"integer", "decimal", "date"}, optional
        Default: the narrowest type that fits all values.
    outside : {"clamp"}, optional
        What happens to values outside the range: one base value below it and one from its end on
        stand for as many steps as the data reach beyond it. Default: they are refused.
    notation : Notation
        How cells are written; range and origin are plain.
    """

    granularity: int | float | str | None = None
    range: tuple[int | float | str, int | float | str] | None = None
    origin: int | float | str | None = None
    type: Literal["integer", "decimal", "date"] | None = None
    outside: Literal["clamp"] | None = None
    notation: Notation = PLAIN
    kind: ClassVar[str] = "interval"

    def build(self, column: Profile) -> IntervalDomain:
        """Fix the steps for the values of `column`."""
        steps = self.steps(column)
        missing = column.missing > 0
        check_size(column.name, steps.size + missing)
        return IntervalDomain(steps, missing)

    def steps(self, column: Profile) -> Steps:
        """Lay the steps over the values of `column`."""
        values, name, notation = column.values, column.name, self.notation.of(column)
        ends = self.range or ()
        scale = Scale.choose(values, name, self.type, self.granularity, ends, notation)
        given, clamped = (self.granularity, self.range, self.origin), self.outside == "clamp"
        return Steps.build(scale, values, name, *given, clamped=clamped)


@dataclass(frozen=True, repr=False)
class OrderedSpec(Outlined):
    """Declare a column of categories in a given order.

    Examples
    --------
    >>> from moanon.data.column import Column
    >>> sizes = Column("size", np.array([1, 0, -1], dtype=np.int32), ("L", "S"), None)
    >>> domain = OrderedSpec(("S", "M", "L")).build(sizes)
    >>> domain.encode(sizes).tolist()
    [0, 2, 3]
    >>> domain.label(0, 2), domain.label(2, 4), domain.label(0, 4)
    ('S..M', 'L or (missing)', '*')
    """

    order: tuple[str, ...]
    kind: ClassVar[str] = "ordered"

    def build(self, column: Profile) -> OrderedDomain:
        """Check the order's labels and add the missing category where the column needs it."""
        where = f"column {column.name!r}"
        if not isinstance(self.order, list | tuple):  # a text would be taken for its characters
            raise DataError(f"{where}: order must be a list of texts. Got {self.order!r}")
        if not self.order:
            raise DataError(f"{where}: order must name at least one value. Got none")
        seen, missing = set[str](), column.missing > 0
        for value in self.order:
            if not isinstance(value, str):
                raise DataError(f"{where}: order must hold texts. Got {value!r}")
            if value in seen:
                raise DataError(f"{where}: order names {value!r} twice")
            if "\0" in value:
                raise DataError(
                    f"{where}: a value of the order must not hold a NUL character. Got {value!r}"
                )
            says_missing = value == MISSING or value.endswith(OR_MISSING)
            if value == SUPPRESSED or (missing and says_missing):
                raise DataError(f"{where}: the value {value!r} is a reserved label; rename it")
            seen.add(value)
        domain = OrderedDomain((*self.order, MISSING) if missing else tuple(self.order), missing)
        check_size(column.name, domain.size)
        _check_labels(where, self.order)
        return domain


#: What makes the tree of a column from its values; see `moanon.data.rules.TreeRule`.
Rule = Callable[[Profile], tuple[Hierarchy, Steps | None, Telling]]


@dataclass(frozen=True)
class TreeSpec:
    """Declare a column whose values are the leaves of a hierarchy.

    Parameters
    ----------
    hierarchy : Hierarchy or rule
        The tree, or what makes one from the values of the column.
    sets : bool
        Whether groups of a local recoding may show several neighbouring nodes, as ``{a, b}``.

    Examples
    --------
    >>> from moanon.data.column import Column
    >>> tree = Hierarchy.from_nested("any", {"north": ["a", "b"], "south": ["c", "d"]})
    >>> town = Column("town", np.array([0, 1], dtype=np.int32), ("a", "d"), None)
    >>> domain = TreeSpec(tree, sets=True).build(town)
    >>> domain.label(0, 2), domain.label(1, 3), domain.label(0, 3), domain.label(0, 4)
    ('north', '{b, c}', '{north, c}', '*')
    """

    hierarchy: Hierarchy | Rule
    sets: bool = False
    kind: ClassVar[str] = "tree"

    def build(self, column: Profile) -> TreeDomain:
        """Add the missing category, directly under the root, where the column needs it."""
        steps: Steps | None = None
        telling: Telling = "nothing"
        if made := not isinstance(self.hierarchy, Hierarchy):
            hierarchy, steps, telling = self.hierarchy(column)
        else:
            hierarchy = self.hierarchy
        wrong, missing = "", column.missing > 0
        as_sets = (name for name in hierarchy.all_names if name.startswith("{"))
        if SUPPRESSED in hierarchy.leaf_index:
            wrong = f"leaf called {SUPPRESSED!r}, which fully generalized cells carry; rename it"
        elif missing and MISSING in hierarchy.all_names:
            wrong = f"node called {MISSING!r}, which missing cells would carry; rename it"
        elif self.sets and (name := next(as_sets, "")):
            wrong = f"node called {name!r}, which reads as a set of values; rename it, or do "
            wrong += "without sets"
        if wrong:
            raise DataError(f"column {column.name!r}: the hierarchy has a {wrong}")
        check_size(column.name, len(hierarchy.leaves) + missing)
        hierarchy = hierarchy.with_leaf(MISSING) if missing else hierarchy
        return TreeDomain(hierarchy, missing, steps, self.sets, telling, made)


def _quoted(name: str) -> str:
    """A name as a member of a set: in quotes where it could be taken for more or less than one."""
    if name.strip() == name and not any(sign in name for sign in ',{}"'):
        return name
    return '"' + name.replace('"', '""') + '"'


DomainSpec = IntervalSpec | OrderedSpec | TreeSpec


def _check_labels(where: str, order: Sequence[str]) -> None:
    """Refuse an order in which a label ``first..last`` could be read in two ways.

    Trying all pairs of blocks would take minutes for a long order. But a second reading needs a
    dot at the seam. Either a value is itself two values with a mark between them. Or
    ``a..b = c..d`` with `c` longer than `a`: then ``c = a + more`` and ``b = rest + d`` such that
    ``".." + rest = more + ".."``, so that `more` and `rest` are ``.`` or have a mark inside. Where
    the values stand in the order does not matter here: a reader does not know it by heart.
    """
    known = set(order)
    dots = [(value, at) for value in order for at, sign in enumerate(value) if sign == "."]
    longer: dict[str, tuple[str, str]] = {}
    for value, at in dots:
        head, more = value[:at], value[at:]
        if head not in known or not (more == "." or more.startswith(RANGE_MARK)):
            continue
        longer[more + RANGE_MARK] = head, value
        if more[len(RANGE_MARK) :] in known and more != ".":
            raise _two_readings(where, value, "the value", (head, more[len(RANGE_MARK) :]))
    for value, at in dots:
        rest, tail = value[: at + 1], value[at + 1 :]
        if tail in known and RANGE_MARK + rest in longer:
            short, long = longer[RANGE_MARK + rest]
            label = short + RANGE_MARK + value
            raise _two_readings(where, label, f"{short!r} to {value!r}", (long, tail))


def _two_readings(where: str, label: str, reading: str, other: tuple[str, str]) -> DataError:
    return DataError(
        f"{where}: the label {label!r} could mean two things, {reading} or {other[0]!r} to "
        f"{other[1]!r}; rename a value of the order"
    )


def check_size(name: str, size: int) -> None:
    """Refuse a domain that is too fine to be coded."""
    if size > MAX_BASE_VALUES:
        number = size if size < 10**15 else "more than 10^15"
        raise DataError(
            f"column {name!r}: the domain has {number} base values; at most {MAX_BASE_VALUES} are "
            "possible. Choose a larger granularity, or another role"
        )
