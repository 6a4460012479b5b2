"""What the labels of a released file say, worked out from their text alone.

A label stands for a block of base values, and the loss of a cell follows from how many. The writer
gets a label from a block; here a block's size is got back from the label, by other means: a list of
names, an order, or arithmetic on the numbers and dates between the brackets.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from moanon.data.domain import Domain, IntervalDomain, OrderedDomain, TreeDomain

__all__ = ["BlockLabels", "IntervalLabels", "NamedLabels", "OrderLabels", "label_rules"]

# Written here again on purpose: these are promises about a released file, not about its writer.
_STAR = "*"
_MISSING = "(missing)"
_BETWEEN = ".."
_INTEGER = re.compile("-?[0-9]+")
_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True)
class NamedLabels:
    """Labels that are names: each with the number of base values it stands for."""

    values: Mapping[str, int]
    size: int

    def count(self, label: str) -> int | None:
        """Number of base values behind `label`; None if the column has no such label."""
        return self.values.get(label)


@dataclass(frozen=True)
class OrderLabels:
    """Labels of an ordered column: a value, ``first..last``, or ``*``."""

    places: Mapping[str, int]
    size: int

    def count(self, label: str) -> int | None:
        """Number of base values behind `label`; None if it has no reading, or more than one."""
        found = {1} if label in self.places else set()
        if label == _STAR and self.size > 1:
            found.add(self.size)
        at = label.find(_BETWEEN)
        while at >= 0:
            first = self.places.get(label[:at])
            last = self.places.get(label[at + len(_BETWEEN) :])
            if first is not None and last is not None and first < last:
                found.add(last - first + 1)
            at = label.find(_BETWEEN, at + 1)
        return found.pop() if len(found) == 1 else None


@dataclass(frozen=True)
class IntervalLabels:
    """Labels of an interval column: a value, ``[from-to]``, ``[from..to]``, ``[from-to)``, ``*``.

    Attributes
    ----------
    type : {"integer", "decimal", "date"}
        What stands between the brackets.
    months : bool
        Whether dates are counted in months instead of days.
    origin, width : Fraction
        A place where a step begins, and the width of all steps.
    first, steps : int
        Number of the first step, counted from the origin, and the number of steps.
    missing : bool
        Whether one more base value, the last, stands for missing cells.
    """

    type: Literal["integer", "decimal", "date"]
    months: bool
    origin: Fraction
    width: Fraction
    first: int
    steps: int
    missing: bool

    @property
    def size(self) -> int:
        """Number of base values."""
        return self.steps + self.missing

    def count(self, label: str) -> int | None:
        """Number of base values behind `label`; None if it is no block of whole steps."""
        if label == _STAR and self.size > 1:
            return self.size
        if not self.missing:
            return self._steps_in(label)
        if label == _MISSING:
            return 1
        if not label.endswith(_BETWEEN + _MISSING):
            return self._steps_in(label)
        steps = self._steps_in(label.removesuffix(_BETWEEN + _MISSING))
        return None if steps is None else steps + 1

    def _steps_in(self, text: str) -> int | None:
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
            if not closed and high.denominator != 1:
                return None
            stop = max(math.ceil(high), start + closed)
        else:
            stop = math.floor(high) + 1
        return stop - start if 0 <= start < stop <= self.steps else None

    def _place(self, text: str) -> Fraction | None:
        if self.type != "date":
            pattern = _INTEGER if self.type == "integer" else _DECIMAL
            return Fraction(text) if pattern.fullmatch(text) else None
        try:
            day = datetime.date.fromisoformat(text)
        except ValueError:
            return None
        return Fraction(12 * day.year + day.month - 1 if self.months else day.toordinal())


BlockLabels = NamedLabels | OrderLabels | IntervalLabels


def label_rules(domain: Domain) -> BlockLabels:
    """Describe in plain numbers and texts what the labels of a domain may say."""
    if isinstance(domain, IntervalDomain):
        steps = domain.steps
        return IntervalLabels(
            type=steps.scale.type,
            months=steps.scale.months,
            origin=steps.origin,
            width=steps.width,
            first=steps.first,
            steps=steps.count,
            missing=domain.has_missing,
        )
    if isinstance(domain, OrderedDomain):
        return OrderLabels({value: i for i, value in enumerate(domain.order)}, len(domain.order))
    assert isinstance(domain, TreeDomain)
    tree = domain.hierarchy
    leaves = [stop - start for start, stop in zip(tree.starts, tree.stops, strict=True)]
    names = dict(zip(tree.names, leaves, strict=True))
    if leaves[0] > 1:  # the root stands for any value and shows as a star, whatever its name
        del names[tree.names[0]]
        names[_STAR] = leaves[0]
    return NamedLabels(names, leaves[0])
