"""What a comparison found: who is better off in which anonymization, and what each index says.

`Comparison` is the answer of `moanon.compare.compare`: as a frame, as plain values, and in words,
the verdict and who is better off first, the columns next, all indices last.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from moanon.arrays import Outlined
from moanon.compare.indices import LogVolume
from moanon.compare.preferences import Weighing
from moanon.grouping import Grouping
from moanon.measures.column_effects import ColumnEffect, column_effects
from moanon.measures.people import PropertyVector, find_property
from moanon.wording import Grid, Part, Worded, counted

if TYPE_CHECKING:
    import pandas as pd

#: What verdicts on all properties together are about.
ALL = "all"
#: What each comparator looks at, in few words.
_WORDS = {
    "dominance": "no row worse off",
    "min": "worst-off row",
    "mean": "mean row",
    "rank": "distance to the ideal",
    "cov": "rows at least as well off",
    "spr": "sum of leads",
    "hv": "volume it alone dominates",
    "wtd": "weighted sum",
    "lex": "first property ahead",
    "goal": "squared distance",
}
#: What it is to be better off in a property, in few words.
_BETTER_OFF = {
    "size": "a larger group",
    "sensitive_share": "a rarer value",
    "sensitive_count": "fewer like them",
    "diversity": "more values",
    "utility": "more is left",
}
_NEITHER = "-"
#: From where volumes are shown as powers of ten, and other numbers with an exponent.
_MOST_DIGITS, _LONGEST = 1e9, 1e12
#: Columns whose labels are compared one by one.
_MOST_COLUMNS = 12

Value = float | int | str | LogVolume | None


@dataclass(frozen=True)
class Verdict:
    """What one comparator says about one pair, in a property or in ``all`` of them together.

    `forward` and `backward` are its index of the first against the second, and the other way round;
    for a unary one, of each, as measured. For ``dominance`` one of strong, weak, none. For ``lex``
    the place of the first property in which it is ahead, or None. `better` is the letter of the
    one that wins.
    """

    property: str
    comparator: str
    first: str
    second: str
    forward: Value
    backward: Value
    better: str | None


@dataclass(frozen=True)
class Headcount:
    """How many people are better off in which of a pair, in one property."""

    property: str
    first: str
    second: str
    better_in_first: int
    better_in_second: int
    equal: int

    def winner(self) -> str:
        """In which of the pair more rows are better off; empty where in neither."""
        lead = self.better_in_first - self.better_in_second
        return self.first if lead > 0 else self.second if lead < 0 else ""


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Worded, Outlined):
    """Anonymizations of one table by their letters, compared pair by pair.

    `vectors` are by letter and property; `notes` and `index_notes` say what a reader should know
    who takes the numbers at their word.
    """

    anonymized: Mapping[str, Grouping]
    vectors: Mapping[str, Mapping[str, PropertyVector]]
    verdicts: tuple[Verdict, ...]
    headcounts: tuple[Headcount, ...]
    preferences: Weighing
    notes: tuple[str, ...] = ()
    index_notes: tuple[str, ...] = ()

    @property
    def properties(self) -> tuple[str, ...]:
        """Names of the properties that were compared."""
        return tuple(next(iter(self.vectors.values())))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per verdict; a volume is given by its logarithm to the base 10."""
        import pandas as pd

        return pd.DataFrame(
            [{**vars(verdict), **_plain_pair(verdict)} for verdict in self.verdicts]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the vectors as numbers, texts, lists and dicts only.

        No number is infinite or undefined, so that all of it can be written as JSON.
        """
        one = next(iter(self.anonymized.values()))
        return {
            "original": one.table.source,
            "rows": one.rows,
            "properties": {
                name: {
                    "meaning": find_property(name).meaning,
                    "better": "higher" if vector.direction == "max" else "lower",
                    "best": vector.ideal,
                    "worst": vector.worst,
                }
                for name, vector in next(iter(self.vectors.values())).items()
            },
            "anonymized": {
                letter: {
                    "name": each.name,
                    "rows": each.rows,
                    "suppressed": each.suppressed,
                    "groups": len(each.sizes),
                    "k": each.k,
                    "matched_by": each.matched_by,
                }
                for letter, each in self.anonymized.items()
            },
            "preferences": asdict(self.preferences),
            "verdicts": [{**vars(each), **_json_pair(each)} for each in self.verdicts],
            "individuals": [vars(each) for each in self.headcounts],
            "notes": [*self.notes, *self.index_notes],
        }

    # -- in words --------------------------------------------------------------------------------

    def parts(self, *, everything: bool = False) -> Iterator[Part]:
        """Say which is better, for whom and why; `everything` adds all indices."""
        for letter, each in self.anonymized.items():
            made_here = each.matched_by in ("genome", "boxes")
            how = "" if made_here else f"; rows found by {each.matched_by}"
            yield (
                f"{letter}  {each.name}: k {each.k:,} in {counted(len(each.sizes), 'group')}, "
                f"{each.suppressed:,} of {each.rows:,} rows suppressed{how}"
            )
        for text in (*self.notes, *(self.index_notes if everything else ())):
            yield f"note: {text}"
        for pair in combinations(self.anonymized, 2):
            verdicts = [v for v in self.verdicts if (v.first, v.second) == pair]
            counts = [c for c in self.headcounts if (c.first, c.second) == pair]
            yield ""
            yield f"{pair[0]} against {pair[1]}: {_in_short(verdicts, counts)}"
            yield _headcount_grid(counts)
            yield from self._columns(*pair)
            if everything:
                yield from self._indices(verdicts)

    def _columns(self, first: str, second: str) -> Iterator[Part]:
        """In which columns two anonymizations differ, the largest difference first."""
        sides = [column_effects(self.anonymized[letter]) for letter in (first, second)]
        known = {effect.name: effect for effect in sides[1]}
        pairs = [(one, known[one.name]) for one in sides[0] if one.name in known]
        differing = [pair for pair in pairs if not _alike(*pair)]
        differing.sort(key=lambda pair: -abs(pair[0].entropy_kept - pair[1].entropy_kept))
        rows = [
            (
                one.name,
                f"{first} {counted(one.shown, 'label')}, {second} {counted(other.shown, 'label')}",
                f"{one.entropy_kept:.0%} / {other.entropy_kept:.0%}",
                f"{one.loss:.0%} / {other.loss:.0%}",
            )
            for one, other in differing[:_MOST_COLUMNS]
        ]
        if rows:
            yield Grid(("column", "shows", "entropy kept", "own loss"), rows, right=(2, 3))
        if len(differing) > _MOST_COLUMNS:
            yield f"and {len(differing) - _MOST_COLUMNS:,} more columns differ"
        if alike := [one.name for one, other in pairs if _alike(one, other)]:
            yield f"The same labels in both: {', '.join(alike)}"

    def _indices(self, verdicts: Sequence[Verdict]) -> Iterator[Part]:
        for name in dict.fromkeys(verdict.property for verdict in verdicts):
            about = f"{name}: {find_property(name).meaning}" if name != ALL else ""
            yield about or "All properties together"
            rows = [
                (
                    each.comparator,
                    _WORDS[each.comparator],
                    *_pair_texts(each, self.preferences.order),
                    each.better or _NEITHER,
                )
                for each in verdicts
                if each.property == name
            ]
            letters = (verdicts[0].first, verdicts[0].second)
            yield Grid(("comparator", "looks at", *letters, "better"), rows, right=(2, 3))
        yield from self._choices({verdict.comparator for verdict in verdicts})

    def _choices(self, shown: set[str]) -> Iterator[str]:
        """Say what weighs how much, where that can be chosen."""
        wishes = self.preferences

        def listed(properties: Iterable[str], words: str, numbers: Mapping[str, float]) -> str:
            return ", ".join(
                words.format(f"{wishes.index[name]} of {name}", numbers[name])
                for name in properties
            )

        if "rank" in shown and any(wishes.rank_epsilon.values()):
            overlooked = ", ".join(
                f"{number:.6g} of {name}" for name, number in wishes.rank_epsilon.items() if number
            )
            yield f"rank overlooks a difference of {overlooked}"
        if "wtd" in shown:
            yield f"wtd adds up {listed(wishes.weights, '{1:.3g} × {0}', wishes.weights)}"
        if "lex" in shown:
            words = "{0}" + (" (overlooks {1:.6g})" if any(wishes.epsilon.values()) else "")
            yield f"lex goes by {listed(wishes.order, words, wishes.epsilon)}, in this order"
        if "goal" in shown and wishes.goals is not None:
            yield f"goal wants {listed(wishes.goals, '{0} at {1:.6g}', wishes.goals)}"


def _plain_pair(verdict: Verdict) -> dict[str, Any]:
    return {
        side: value.log10 if isinstance(value := getattr(verdict, side), LogVolume) else value
        for side in ("forward", "backward")
    }


def _json_pair(verdict: Verdict) -> dict[str, Any]:
    """Volumes as sign, logarithm and, where a float holds it, value; JSON has no infinity."""
    pair = {}
    for side in ("forward", "backward"):
        value = getattr(verdict, side)
        if isinstance(value, LogVolume):
            held = math.isfinite(value.value) and (value.value > 0 or not value.sign)
            pair[side] = {
                "sign": value.sign,
                "log10": value.log10 if value.sign else None,
                "value": value.value if held else None,
            }
        else:
            pair[side] = value
    return pair


# -- words for one pair ----------------------------------------------------------------------------


def _in_short(verdicts: Sequence[Verdict], counts: Sequence[Headcount]) -> str:
    """Say which of a pair is better, or in what each is."""
    whole = [v.better for v in verdicts if v.comparator == "dominance" and v.property == ALL]
    if whole and whole[0] is not None:
        return f"{whole[0]} is better; no row is worse off in it in any respect"
    winners = {count.property: count.winner() for count in counts}
    named = {letter for letter in winners.values() if letter}
    if not named:
        return "as good as each other for as many rows"
    if len(named) == 1 and all(winners.values()):
        return f"{named.pop()} is better for most rows, in every respect"
    keeps = [name for name in winners if name.startswith("utility")]
    guards = {winners[name] for name in winners if name not in keeps} - {""}
    parts = [f"{letter} protects more rows better" for letter in sorted(guards)]
    parts += [f"{winners[name]} keeps more of most rows" for name in keeps if winners[name]]
    return f"neither is better throughout; {', '.join(parts)}"


def _headcount_grid(counts: Sequence[Headcount]) -> Grid:
    places = (counts[0].first, counts[0].second, "neither")
    rows = []
    for count in counts:
        numbers = (count.better_in_first, count.better_in_second, count.equal)
        cells = (f"{number:,} ({number / sum(numbers):.1%})" for number in numbers)
        name, _, column = count.property.partition(":")
        of = f" ({column})" if column else ""
        rows.append((f"{name}{of}: {_BETTER_OFF[name]}", *cells))
    return Grid(("rows better off by", *(f"in {each}" for each in places)), rows, right=(1, 2, 3))


def _alike(one: ColumnEffect, other: ColumnEffect) -> bool:
    """Whether two columns show the same labels, whoever has them."""
    sides = [
        {*zip(e.starts[e.rows > 0].tolist(), e.stops[e.rows > 0].tolist(), strict=True)}
        for e in (one, other)
    ]
    return sides[0] == sides[1]


def _pair_texts(verdict: Verdict, order: Sequence[str]) -> tuple[str, str]:
    """Write both values of a verdict, with as many digits as show that they differ."""
    if verdict.comparator == "lex":  # a place in the order
        one, other = (
            _NEITHER if place is None else order[place - 1]
            for place in (verdict.forward, verdict.backward)
            if place is None or isinstance(place, int)
        )
        return one, other
    for digits in (3, 5, 8, 12):
        one = _written(verdict.forward, verdict.comparator, digits)
        other = _written(verdict.backward, verdict.comparator, digits)
        if one != other or verdict.better is None:
            break
    return one, other


def _written(value: Value, comparator: str, digits: int) -> str:
    if value is None or isinstance(value, str):
        return value or _NEITHER
    if isinstance(value, LogVolume):
        if value.value < _MOST_DIGITS and (value.value > 0 or not value.sign):
            return _written(value.value, comparator, digits)
        return f"10^{value.log10:,.{digits - 1}f}"
    if comparator == "cov":
        return f"{value:.{digits - 2}%}"
    if abs(value) < _LONGEST and (value == int(value) or abs(value) >= 10**digits):
        return f"{value:,.0f}"
    return f"{value:,.{digits}g}"
