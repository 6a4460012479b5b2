"""Rules that make hierarchies from the values of a column, so that nobody has to write them out.

A rule is written as a mapping in a configuration, and becomes an ordinary tree for the column at
hand:

- ``{mask: right}``: codes lose one character after the other, ``13053`` → ``1305*`` → ``130**``;
- ``{dates: [day, month, year]}``, ``{intervals: [5, 10, 50]}``: steps inside wider steps;
- ``{group: {North: [Oslo, Tromsø], South: [Rome]}, rest: Other}``: groups written out here;
- ``{frequency: 4}``: the rarest values are merged first.
"""

from __future__ import annotations

import datetime
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from moanon.data.column import Profile
from moanon.data.domain import DomainSpec, IntervalSpec, OrderedSpec, Telling
from moanon.data.hierarchy import SUPPRESSED, Hierarchy
from moanon.data.steps import DATE_UNITS, Number, Steps
from moanon.data.treefile import MAX_LEVELS
from moanon.errors import DataError

#: A tree as nested mappings and lists, and a rule as it is written.
_Nested = dict[str, Any]
Written = Mapping[str, Any]

_RULES = ("mask", "dates", "intervals", "group", "frequency")
#: How rules are written, for whoever wrote one wrongly.
EXAMPLES = (
    "{mask: right}, {dates: [month, year]}, {intervals: [5, 10, 50]}, {group: {North: [a, b]}, "
    "rest: Other} or {frequency: 4}"
)
#: Where steps of dates begin: a day on which all units but weeks do, and a Monday.
_CALENDAR, _MONDAY = "2000-01-01", "2000-01-03"


@dataclass(frozen=True)
class TreeRule:
    """A rule as `checked_rule` gives it: called with a column, it makes the tree of its values.

    Steps take from `interval` what else is known of the column: its range, what becomes of values
    outside, its notation.
    """

    rule: Written
    interval: IntervalSpec

    def __call__(self, column: Profile) -> tuple[Hierarchy, Steps | None, Telling]:
        """Make the tree; given with its leaves where these are steps, and with what names tell."""
        if "mask" in self.rule:
            side = self.rule["mask"]
            return _mask(column, side), None, "heads" if side == "right" else "tails"
        if "frequency" in self.rule:
            return _merge_rarest(column, self.rule["frequency"]), None, "leaves"
        if "group" in self.rule:
            rest = self.rule.get("rest")
            tree = _group(column, self.rule["group"], rest)
            return tree, None, "nothing" if rest is None else "leaves"
        widths = self.rule.get("dates") or self.rule["intervals"]
        return *_nest_steps(column, widths, self.interval), "nothing"

    def make_with_values(self, column: Profile) -> Hierarchy:
        """Make a tree whose leaves are the values as they are written, for a file of its own."""
        hierarchy, steps, _ = self(column)
        if steps is None:
            return hierarchy
        leaves, labels = steps.find(column.values).tolist(), hierarchy.level_rows()
        if -1 in leaves:
            value = column.values[leaves.index(-1)]
            raise DataError(f"column {column.name!r}: {value!r} is outside the range")
        rows = [[value, *labels[leaf]] for value, leaf in zip(column.values, leaves, strict=True)]
        in_order = [rows[place] for place in np.argsort(leaves, kind="stable")]
        return Hierarchy.from_levels(in_order, _where(column))


def _where(column: Profile) -> str:
    return f"the hierarchy of column {column.name!r}"


# -- codes ---------------------------------------------------------------------------------------


def _mask(column: Profile, side: str) -> Hierarchy:
    """Hide one character after the other, from the right or from the left."""
    if "" in column.values:
        raise DataError(
            f"column {column.name!r}: an empty code cannot be masked; declare '' among "
            "missing_tokens, or correct it"
        )
    longest = max(map(len, column.values), default=0)
    if longest >= MAX_LEVELS:
        raise DataError(
            f"column {column.name!r}: codes of up to {MAX_LEVELS - 1} characters can be "
            f"masked. Got one of {longest:,}"
        )
    fixed = longest if len(set(map(len, column.values))) == 1 else 0

    def shown(head: str, stars: str = "") -> str:
        return head + stars if side == "right" else stars + head[::-1]

    def below(codes: Sequence[str], length: int) -> _Nested:
        """Codes that share so many characters, by the next one; the shortest is one of them."""
        found: _Nested = {}
        for head, members in groupby(codes, key=lambda code: code[: length + 1]):
            alike = list(members)
            if len(head) == length or alike == [head]:  # the whole code, others go on
                found[shown(head)] = None
            else:
                stars = SUPPRESSED * (fixed - len(head) if fixed else 1)
                found[shown(head, stars)] = below(alike, length + 1)
        return found

    codes = column.values if side == "right" else [value[::-1] for value in column.values]
    return Hierarchy.from_nested(SUPPRESSED, below(sorted(codes), 0), _where(column))


# -- steps ---------------------------------------------------------------------------------------


def _nest_steps(
    column: Profile, widths: Sequence[Number], interval: IntervalSpec
) -> tuple[Hierarchy, Steps]:
    """Put steps of numbers, or of units of dates, into wider steps; the narrowest come first."""

    def lay(width: Number, origin: Number | None) -> Steps:
        return replace(interval, granularity=width, origin=origin).steps(column)

    if widths[0] in DATE_UNITS:
        steps = lay(widths[0], _MONDAY if widths[0] == "week" else _CALENDAR)
        levels = [_calendar_steps(steps, str(unit)) for unit in widths[1:]]
    else:
        widest = lay(widths[-1], interval.origin)
        # A step begins where the widest ones meet: only so can they nest.
        anchor = widest.origin + (widest.first + (widest.count > 1)) * widest.width
        steps = lay(widths[0], widest.scale.text(anchor))
        in_unit = widest.width / Fraction(str(widths[-1]))
        exact = [in_unit * Fraction(str(width)) for width in widths]
        levels = _number_steps(column.name, steps, anchor, exact)
    rows = [
        [_step_label(steps, numbers, step) for numbers in (None, *levels)] + [SUPPRESSED]
        for step in range(steps.size)
    ]
    return Hierarchy.from_levels(rows, _where(column)), steps


def _number_steps(
    column: str, steps: Steps, anchor: Fraction, widths: Sequence[Fraction]
) -> list[list[int]]:
    """Number of the step of each width but the first in which each step begins."""
    begin = steps.origin + steps.first * steps.width
    end = begin + steps.count * steps.width
    for narrow, wide in pairwise(widths):
        edge = anchor + ((begin - anchor) // wide + 1) * wide
        while edge < end:
            if (edge - anchor) % narrow:
                raise _not_nested(column, steps, narrow, wide, (anchor, edge))
            edge += wide
    places = [begin + step * steps.width for step in range(steps.count)]
    return [[int((place - anchor) // width) for place in places] for width in widths[1:]]


def _not_nested(
    column: str, steps: Steps, narrow: Fraction, wide: Fraction, edges: tuple[Fraction, Fraction]
) -> DataError:
    anchor, edge = edges
    first = anchor + (edge - anchor) // narrow * narrow
    text, multiple = steps.scale.text, -(-wide // narrow) * narrow
    return DataError(
        f"column {column!r}: intervals must nest, and a step of {float(narrow):g} from "
        f"{text(first)} lies across {text(edge)}, where steps of {float(wide):g} meet; leave out "
        f"{float(narrow):g} or {float(wide):g}, or take {float(multiple):g} instead of "
        f"{float(wide):g}"
    )


def _calendar_steps(steps: Steps, unit: str) -> list[int]:
    """Number of the unit of the calendar in which each step begins."""
    months, width = DATE_UNITS[unit]
    found = []
    for step in range(steps.count):
        place = int(steps.origin + (steps.first + step) * steps.width)
        if months and not steps.scale.months:
            day = datetime.date.fromordinal(max(place, 1))
            place = 12 * day.year + day.month - 1
        found.append((place if months else place - 1) // width)
    return found


def _step_label(steps: Steps, numbers: Sequence[int] | None, step: int) -> str:
    """Name the wider step that a step is in, or the step itself; clamped ends are in none."""
    place = step - steps.clamped
    if numbers is None or not 0 <= place < steps.count:
        return steps.label(step, step + 1)
    first = bisect_left(numbers, numbers[place])
    stop = bisect_right(numbers, numbers[place])
    return steps.label(first + steps.clamped, stop + steps.clamped)


# -- categories ----------------------------------------------------------------------------------


def _group(column: Profile, groups: Written, rest: str | None) -> Hierarchy:
    """Groups as they are written; values that none of them names go to `rest`, if there is one."""
    below = dict(groups)
    known = set(_leaves(below))
    others = [value for value in column.values if value not in known]
    if rest is None and others:
        more = f" and {len(others) - 1:,} more" if len(others) > 1 else ""
        raise DataError(
            f"column {column.name!r}: no group names the value {others[0]!r}{more}; put each "
            "into a group, or say what the rest is called (rest)"
        )
    if rest is not None and others:
        if isinstance(below.get(rest, []), Mapping):
            raise DataError(
                f"column {column.name!r}: the rest {rest!r} is a group of groups; name another"
            )
        below[rest] = [*(below.get(rest) or []), *others]
    return Hierarchy.from_nested(SUPPRESSED, below, _where(column))


def _leaves(groups: Written) -> list[str]:
    found: list[str] = []
    for name, below in groups.items():
        if isinstance(below, Mapping):
            found += _leaves(below)
        else:
            found += below if below else [name]
    return found


def _merge_rarest(column: Profile, levels: int) -> Hierarchy:
    """Merge the rarest values, level by level.

    At level ``i`` of `levels`, the rarest values that together have at most ``i / levels`` of the
    rows are one; at the last, all are.
    """
    places = sorted(range(len(column.values)), key=lambda i: (column.counts[i], column.values[i]))
    running = np.cumsum(column.counts[places])
    rows = int(running[-1]) if len(running) else 0
    merged = {int(np.count_nonzero(running * levels <= level * rows)) for level in range(1, levels)}
    below: _Nested = {}
    done = 0
    for number in (*sorted(n for n in merged if 1 < n < len(places)), len(places)):
        own = dict.fromkeys(column.values[i] for i in reversed(places[done:number]))
        below = own | ({f"{done} rarest values": below} if done else {})
        done = number
    return Hierarchy.from_nested(SUPPRESSED, below, _where(column))


# -- rules as they are written -------------------------------------------------------------------


def checked_rule(written: Written) -> dict[str, Any]:
    """Give a rule with its numbers as numbers; refuse what is none with the end of a sentence."""
    named = [key for key in written if key in _RULES]
    others = [
        key for key in written if key not in _RULES and not (key == "rest" and "group" in named)
    ]
    if len(named) != 1 or others:
        raise DataError(f"must be a rule such as {EXAMPLES}. Got {_shown_keys(written)}")
    (kind,) = named
    return {kind: _CHECKS[kind](written[kind]), **_checked_rest(written)}


def _shown_keys(written: Written) -> str:
    return f"the keys {', '.join(map(str, written))}" if written else "none"


def _checked_rest(written: Written) -> dict[str, str]:
    if "rest" not in written:
        return {}
    if not isinstance(written["rest"], str) or not written["rest"]:
        raise DataError(f"must name a group as rest. Got {written['rest']!r}")
    return {"rest": written["rest"]}


def _checked_side(side: object) -> str:
    if side not in ("left", "right"):
        raise DataError(f"must be masked from the right or the left, {{mask: right}}. Got {side!r}")
    return str(side)


def _checked_units(units: object) -> list[str]:
    known = list(DATE_UNITS)
    if not isinstance(units, Sequence) or isinstance(units, str) or not units:
        raise DataError(f"must list units of dates among {', '.join(known)}. Got {units!r}")
    for unit in units:
        if unit not in known:
            raise DataError(f"must list units of dates among {', '.join(known)}. Got {unit!r}")
    for narrow, wide in pairwise(units):
        if known.index(narrow) >= known.index(wide):
            raise DataError(
                f"must list units of dates from narrow to wide. Got {wide} after {narrow}"
            )
        if narrow == "week":
            raise DataError(f"must list units that nest, and a week can lie across a {wide}")
    return list(units)


def _checked_widths(widths: object) -> list[int | float]:
    wanted = "must list widths > 0 from narrow to wide, e.g. [5, 10, 50]"
    if not isinstance(widths, Sequence) or isinstance(widths, str) or not widths:
        raise DataError(f"{wanted}. Got {widths!r}")
    found: list[int | float] = []
    for width in widths:
        try:
            number = float(width)
        except (TypeError, ValueError):
            raise DataError(f"{wanted}. Got {width!r}") from None
        if isinstance(width, bool) or not 0 < number < float("inf"):
            raise DataError(f"{wanted}. Got {width!r}")
        found.append(int(number) if number.is_integer() and number < 2**53 else number)
        if found[-1] <= max(found[:-1], default=0):
            raise DataError(f"{wanted}. Got {found[-1]} after {found[-2]}")
    return found


def _checked_groups(groups: object) -> dict[str, Any]:
    wanted = "must name groups and list their values, {group: {North: [a, b], South: [c]}}"
    if not isinstance(groups, Mapping) or not groups:
        raise DataError(f"{wanted}. Got {groups!r}")
    found: dict[str, Any] = {}
    for name, below in groups.items():
        if isinstance(below, Mapping):
            found[name] = _checked_groups(below)
        elif isinstance(below, Sequence) and not isinstance(below, str) and below:
            if bad := next((value for value in below if not isinstance(value, str)), None):
                raise DataError(f"{wanted}, all as texts. Got {bad!r}")
            found[name] = list(below)
        else:
            raise DataError(f"{wanted}. Got {below!r} for {name!r}")
    return found


def _checked_levels(levels: object) -> int:
    text = str(levels)
    if isinstance(levels, bool) or not text.isdecimal() or not 1 <= int(text[:9]) < MAX_LEVELS:
        raise DataError(f"must have a number of levels, {{frequency: 4}}. Got {levels!r}")
    return int(text)


_CHECKS: dict[str, Callable[[object], Any]] = {
    "mask": _checked_side,
    "dates": _checked_units,
    "intervals": _checked_widths,
    "group": _checked_groups,
    "frequency": _checked_levels,
}


def rule_of(written: Written, interval: IntervalSpec) -> TreeRule:
    """Make a rule from how it is written; see `TreeRule`."""
    return TreeRule(checked_rule(written), interval)


def declared_texts(spec: DomainSpec) -> Sequence[str] | None:
    """Give the values that a declared domain spells; None if they are numbers or dates."""
    if isinstance(spec, OrderedSpec):
        return spec.order
    if isinstance(spec, IntervalSpec):
        return None
    if isinstance(spec.hierarchy, Hierarchy):
        return spec.hierarchy.leaves
    assert isinstance(spec.hierarchy, TreeRule)
    rule = spec.hierarchy.rule
    return None if takes_steps(rule) else _leaves(rule.get("group", {}))


def takes_steps(written: Written) -> bool:
    """Whether a rule is about numbers or dates, which have ranges and notations."""
    return "dates" in written or "intervals" in written
