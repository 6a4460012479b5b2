"""What the labels of a released file say, worked out from their text alone.

A label stands for a block of base values, and the loss of a cell follows from how many. The writer
gets a label from a block; here the block is got back from the label, by other means: a list of
names, an order, or arithmetic on the numbers and dates between the brackets.
"""

from __future__ import annotations

import datetime
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar, Literal

from moanon.arrays import Outlined
from moanon.data.cell_reading import PLAIN, Notation
from moanon.data.domain import Domain, IntervalDomain, OrderedDomain, TreeDomain
from moanon.data.steps import Steps

# Written here again on purpose: these are promises about a released file, not about its writer.
_STAR = "*"
_MISSING = "(missing)"
_BETWEEN = ".."
_OR_MISSING = " or (missing)"
_NOT_MISSING = "(not missing)"
_MEMBER = re.compile(r'"(?:[^"]|"")*"|[^,{}"\s](?:[^,{}"]*[^,{}"\s])?')
_SET = re.compile(rf"\{{(?:{_MEMBER.pattern})(?:, (?:{_MEMBER.pattern}))+\}}")
_INTEGER = re.compile("-?[0-9]+")
_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?")

#: Base values ``start .. stop - 1``.
Block = tuple[int, int]


class _Readings(Outlined, ABC):
    """What the labels of one column may say."""

    distance: ClassVar[Literal["ordered", "tree"]]  # by what values are apart, if not all equally
    several: Mapping[int, int]  # base values that stand for more than one value: for how many

    @abstractmethod
    def place_of(self, value: str, *, merge_end: bool = True) -> int | None:
        """Where a value of the table, in any usual notation, stands; None if nowhere.

        The end of a declared range belongs to the last step, if it is to be merged: whether it is
        in a table depends on what other rows hold, whole numbers or fractions.
        """

    def values_in(self, start: int, stop: int) -> int:
        """Number of values that a block of base values stands for."""
        more = (n - 1 for place, n in self.several.items() if start <= place < stop)
        return stop - start + sum(more)

    @abstractmethod
    def readings(self, label: str) -> set[Block]:
        """All blocks that `label` may stand for."""

    def find(self, label: str) -> Block | None:
        """Block behind `label`; None if it has no reading, or more than one."""
        found = self.readings(label)
        return found.pop() if len(found) == 1 else None

    def count(self, label: str) -> int | None:
        """Number of values behind `label`; None if that is open."""
        found = {self.values_in(start, stop) for start, stop in self.readings(label)}
        return found.pop() if len(found) == 1 else None


@dataclass(frozen=True, repr=False)
class _NamedLabels(_Readings):
    """Labels that are names: each with the block it stands for.

    With `sets`, also several of them in braces, whose blocks follow one another: ``{a, b}``. A name
    in quotes may hold any sign; a quote in it stands there twice. Where the names are those of
    `steps`, these say where a value of the table belongs.
    """

    distance = "tree"
    blocks: Mapping[str, Block]
    size: int
    sets: bool = False
    several: Mapping[int, int] = field(default_factory=dict)
    steps: _IntervalLabels | None = None

    def place_of(self, value: str, *, merge_end: bool = True) -> int | None:
        if self.steps is not None and value != _MISSING:
            return self.steps.place_of(value)
        return self.blocks.get(value, (None, None))[0]

    def readings(self, label: str) -> set[Block]:
        if label in self.blocks:
            return {self.blocks[label]}
        if not (self.sets and _SET.fullmatch(label)):
            return set()
        names = [
            found[0][1:-1].replace('""', '"') if found[0].startswith('"') else found[0]
            for found in _MEMBER.finditer(label[1:-1])
        ]
        parts = [self.blocks.get(name) for name in names]
        known = [part for part in parts if part is not None]
        follows = all(one[1] == other[0] for one, other in pairwise(known))
        return {(known[0][0], known[-1][1])} if known == parts and follows else set()


@dataclass(frozen=True, repr=False)
class _OrderLabels(_Readings):
    """Labels of an ordered column: a value, ``first..last``, each perhaps or missing, or ``*``."""

    distance = "ordered"
    places: Mapping[str, int]
    size: int
    missing: bool = False
    several: Mapping[int, int] = field(default_factory=dict)

    def place_of(self, value: str, *, merge_end: bool = True) -> int | None:
        return self.places.get(value)

    def readings(self, label: str) -> set[Block]:
        found = self._among_values(label)
        if self.missing and label.endswith(_OR_MISSING):
            # A block of neighbours that holds the missing ones, which are last, reaches there.
            others = self._among_values(label.removesuffix(_OR_MISSING))
            found |= {(start, self.size) for start, stop in others if stop == self.size - 1}
        return found

    def _among_values(self, label: str) -> set[Block]:
        found = set()
        if label in self.places:
            found.add((self.places[label], self.places[label] + 1))
        if label == _STAR and self.size > 1:
            found.add((0, self.size))
        at = label.find(_BETWEEN)
        while at >= 0:
            first = self.places.get(label[:at])
            last = self.places.get(label[at + len(_BETWEEN) :])
            if first is not None and last is not None and first < last < self.size - self.missing:
                found.add((first, last + 1))
            at = label.find(_BETWEEN, at + 1)
        return found


@dataclass(frozen=True, repr=False)
class _IntervalLabels(_Readings):
    """Labels of an interval column: a value, ``[from-to]``, ``[from-to)``, ``<to``, ``>=from``.

    Two dots may stand for the dash; ``or (missing)`` may follow; ``*`` is any value. With `ends`,
    values below the first place and from the second on have base values of their own, before and
    behind the steps; `several` says for how many values each of these stands.
    """

    distance = "ordered"
    type: Literal["integer", "decimal", "date"]
    months: bool  # whether dates are counted in months instead of days
    origin: Fraction  # a place where a step begins
    width: Fraction  # of all steps
    first: int = field(repr=False)  # which may be the least value of a table
    steps: int  # how many
    missing: bool  # whether one more base value, the last, stands for missing cells
    ends: tuple[Fraction, Fraction] | None = None
    several: Mapping[int, int] = field(default_factory=dict)
    notation: Notation = PLAIN  # of values in the table; labels are plain

    @property
    def _present(self) -> int:
        """Number of base values that are not missing."""
        return self.steps + (0 if self.ends is None else 2)

    @property
    def size(self) -> int:
        """Number of base values."""
        return self._present + self.missing

    def place_of(self, value: str, *, merge_end: bool = True) -> int | None:
        if self.missing and value == _MISSING:
            return self.size - 1
        is_date, notation = self.type == "date", self.notation
        read = notation.plain_dates if is_date else notation.plain_numbers
        value = next(iter(read([value]))) or ""
        try:
            place = self._day(value[:10]) if is_date else Fraction(value)
        except ValueError:
            return None
        step = math.floor((place - self.origin) / self.width) - self.first
        if self.ends is not None:  # below them, in a step between them, or from the upper one on
            low, high = self.ends
            return 0 if place < low else self.steps + 1 if place >= high else step + 1
        if not merge_end:
            return step
        return min(step, self.steps - 1) if 0 <= step <= self.steps else None

    def _day(self, text: str) -> Fraction:
        day = datetime.date.fromisoformat(text)
        return Fraction(12 * day.year + day.month - 1 if self.months else day.toordinal())

    def readings(self, label: str) -> set[Block]:
        block = self._block(label)
        return set() if block is None else {block}

    def _block(self, label: str) -> Block | None:
        if label == _STAR and self.size > 1:
            return 0, self.size
        if not self.missing:
            return self._present_in(label)
        if label == _MISSING:
            return self._present, self.size
        if not label.endswith(_OR_MISSING):
            return self._present_in(label)
        block = self._present_in(label.removesuffix(_OR_MISSING))
        # A block of neighbours that holds the missing ones, which are last, reaches there.
        return None if block is None or block[1] != self._present else (block[0], self.size)

    def _present_in(self, text: str) -> Block | None:
        if self.ends is None:
            return self._steps_in(text)
        if text == _NOT_MISSING:
            return 0, self._present
        for sign in ("<", ">="):
            if text.startswith(sign):
                edge = self._step_at(text.removeprefix(sign), *self.ends)
                if edge is None:
                    return None
                return (0, edge + 1) if sign == "<" else (edge + 1, self._present)
        block = self._steps_in(text)
        return None if block is None else (block[0] + 1, block[1] + 1)

    def _step_at(self, text: str, low: Fraction, high: Fraction) -> int | None:
        """Which step begins at a place; the one after the last at the upper end."""
        place = self._place(text)
        if place is None or not low <= place <= high:
            return None
        if place == high:
            return self.steps
        if place == low:
            return 0
        step = (place - self.origin) / self.width - self.first
        return step.numerator if step.denominator == 1 else None

    def _steps_in(self, text: str) -> Block | None:
        closed = not text.endswith(")")
        ends = [text, text]
        if text.startswith("[") and text.endswith(("]", ")")):
            inside = text[1:-1]
            ends = inside.split(_BETWEEN if _BETWEEN in inside else "-")
        places = [place for end in ends if (place := self._place(end)) is not None]
        if len(ends) != 2 or len(places) != 2:
            return None
        low, high = ((place - self.origin) / self.width - self.first for place in places)
        start = math.floor(low)
        if self.type == "decimal":
            at_end = self.ends is not None and places[1] == self.ends[1]
            if not closed and high.denominator != 1 and not at_end:
                return None
            stop = max(math.ceil(high), start + closed)
        else:
            stop = math.floor(high) + 1
        return (start, stop) if 0 <= start < stop <= self.steps else None

    def _place(self, text: str) -> Fraction | None:
        if self.type != "date":
            pattern = _INTEGER if self.type == "integer" else _DECIMAL
            return Fraction(text) if pattern.fullmatch(text) else None
        try:
            return self._day(text)
        except ValueError:
            return None


#: What the labels of one column may say: names, an order, or steps of numbers or dates.
BlockLabels = _NamedLabels | _OrderLabels | _IntervalLabels


def label_rules(domain: Domain, *, every_name: bool = False) -> BlockLabels:
    """Describe in plain numbers and texts what the labels of a domain may say.

    With `every_name`, a tree's node may also be called by the names that a release of ours never
    shows: its root's own, and those of nodes that hold what the one below them holds; and sets of
    nodes are read though nobody asked for them. Other programs write them.
    """
    if isinstance(domain, IntervalDomain):
        return _of_steps(domain.steps, missing=domain.has_missing)
    if isinstance(domain, OrderedDomain):
        places = {value: i for i, value in enumerate(domain.order)}
        return _OrderLabels(places, len(places), domain.has_missing)
    assert isinstance(domain, TreeDomain)
    tree = domain.hierarchy
    blocks = list(zip(tree.starts, tree.stops, strict=True))
    names = dict(zip(tree.names, blocks, strict=True))
    leaves = tree.stops[0]
    if leaves > 1:  # the root stands for any value and shows as a star, whatever its name
        if not every_name:
            del names[tree.names[0]]
        names[_STAR] = (0, leaves)
    if every_name:
        for block, above in zip(blocks, tree.above, strict=True):
            names.update(dict.fromkeys(above, block))
    steps = None if domain.steps is None else _of_steps(domain.steps, missing=domain.has_missing)
    return _NamedLabels(names, leaves, domain.sets or every_name, domain.several, steps)


def _of_steps(steps: Steps, *, missing: bool) -> _IntervalLabels:
    return _IntervalLabels(
        type=steps.scale.type,
        months=steps.scale.months,
        origin=steps.origin,
        width=steps.width,
        first=steps.first,
        steps=steps.count,
        missing=missing,
        ends=steps.clamped_at,
        several=steps.several,
        notation=steps.scale.notation,
    )
