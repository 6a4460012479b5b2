"""How comparisons look in a terminal: the verdict and who is better off first, all indices last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import typer

from moanon.cli.printing import counted, note, on_one_line, show_grid

if TYPE_CHECKING:
    from moanon.compare import Comparison, Verdict
    from moanon.compare.comparison import Headcount, Value
    from moanon.measures.column_effects import ColumnEffect

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
#: Least width of values, so that the tables of all properties stand in line, within 80 characters.
_WIDTH = 12
_NEITHER = "-"
#: From where volumes are shown as powers of ten, and other numbers with an exponent.
_MOST_DIGITS, _LONGEST = 1e9, 1e12
#: Columns whose labels are told one by one.
_MOST_COLUMNS = 12


def show_comparison(comparison: Comparison, *, everything: bool) -> None:
    """Show which is better, for whom and why; `everything` adds all indices."""
    for letter, each in comparison.anonymized.items():
        made_here = each.matched_by in ("genome", "boxes")
        how = "" if made_here else f"; rows found by {each.matched_by}"
        typer.echo(
            f" {letter}  {on_one_line(each.name)}: k {each.k:,} in "
            f"{counted(len(each.sizes), 'group')}, {each.suppressed:,} of {each.rows:,} rows "
            f"suppressed{how}"
        )
    for text in (*comparison.notes, *(comparison.index_notes if everything else ())):
        note(text)
    for first, second in combinations(comparison.anonymized, 2):
        verdicts = [v for v in comparison.verdicts if (v.first, v.second) == (first, second)]
        counts = [c for c in comparison.headcounts if (c.first, c.second) == (first, second)]
        typer.echo(f"\n {first} against {second}: {_in_short(verdicts, counts)}")
        _show_headcounts(counts)
        _show_columns(comparison, first, second)
        if everything:
            _show_indices(comparison, verdicts)
    if not everything:
        typer.echo(" --all shows every index by which they were compared")


# -- the verdict -----------------------------------------------------------------------------------


def _in_short(verdicts: Sequence[Verdict], counts: Sequence[Headcount]) -> str:
    """Say which of a pair is better, or in what each is."""
    whole = [v.better for v in verdicts if v.comparator == "dominance" and v.property == "all"]
    if whole and whole[0] is not None:
        return f"{whole[0]} is better; no row is worse off in it in any respect"
    winners = {count.property: _winner(count) for count in counts}
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


def _winner(count: Headcount) -> str:
    """In which of a pair more rows are better off; empty where in neither."""
    lead = count.better_in_first - count.better_in_second
    return count.first if lead > 0 else count.second if lead < 0 else ""


def _show_headcounts(counts: Sequence[Headcount]) -> None:
    from rich.table import Column

    headers = [Column("rows better off by", overflow="fold")]
    for place in (counts[0].first, counts[0].second, "neither"):
        headers.append(Column(f"in {place}", justify="right", no_wrap=True))
    rows = []
    for count in counts:
        numbers = (count.better_in_first, count.better_in_second, count.equal)
        cells = (f"{number:,} ({number / sum(numbers):.1%})" for number in numbers)
        name, _, column = count.property.partition(":")
        of = f" ({column})" if column else ""
        rows.append((on_one_line(f"{name}{of}: {_BETTER_OFF[name]}"), *cells))
    show_grid(headers, rows)


# -- column by column ------------------------------------------------------------------------------


def _show_columns(comparison: Comparison, first: str, second: str) -> None:
    """Say in which columns two anonymizations differ, the largest difference first."""
    from moanon.measures.column_effects import column_effects

    sides = [column_effects(comparison.anonymized[letter]) for letter in (first, second)]
    if not all(sides):
        return
    known = {effect.name: effect for effect in sides[1]}
    pairs = [(one, known[one.name]) for one in sides[0] if one.name in known]
    differing = [pair for pair in pairs if not _alike(*pair)]
    differing.sort(key=lambda pair: -abs(pair[0].entropy_kept - pair[1].entropy_kept))
    rows = []
    for one, other in differing[:_MOST_COLUMNS]:
        shown = [
            f"{letter} {counted(each.shown, 'label')}"
            for letter, each in zip((first, second), (one, other), strict=True)
        ]
        kept = (f"{each.entropy_kept:.0%}" for each in (one, other))
        losses = (f"{each.loss:.0%}" for each in (one, other))
        rows.append((on_one_line(one.name), ", ".join(shown), " / ".join(kept), " / ".join(losses)))
    if rows:
        headers = ("column", "shows", "entropy kept", "own loss")
        show_grid(headers, rows, right=(2, 3))
    if len(differing) > _MOST_COLUMNS:
        typer.echo(f" and {len(differing) - _MOST_COLUMNS:,} more columns differ")
    if alike := [on_one_line(one.name) for one, other in pairs if _alike(one, other)]:
        typer.echo(f" The same labels in both: {', '.join(alike)}")


def _alike(one: ColumnEffect, other: ColumnEffect) -> bool:
    """Whether two columns show the same labels, whoever has them."""
    sides = [
        {
            (start, stop)
            for start, stop, rows in zip(
                each.starts.tolist(), each.stops.tolist(), each.rows.tolist(), strict=True
            )
            if rows
        }
        for each in (one, other)
    ]
    return sides[0] == sides[1]


# -- all indices -----------------------------------------------------------------------------------


def _show_indices(comparison: Comparison, verdicts: Sequence[Verdict]) -> None:
    for name in dict.fromkeys(verdict.property for verdict in verdicts):
        typer.echo(_heading(name))
        about = [verdict for verdict in verdicts if verdict.property == name]
        _show_verdicts(about, comparison.preferences.order)
    for words in _choices(comparison, verdicts):
        typer.echo(f" {words}")


def _heading(name: str) -> str:
    from moanon.compare.comparison import ALL
    from moanon.compare.vectors import find_property

    if name == ALL:
        return " All properties together"
    return f" {on_one_line(name)}: {find_property(name).meaning}"


def _show_verdicts(verdicts: Sequence[Verdict], order: Sequence[str]) -> None:
    from rich.table import Column

    headers = [Column("comparator", no_wrap=True), Column("looks at", overflow="fold")]
    for letter in (verdicts[0].first, verdicts[0].second):
        headers.append(Column(letter, justify="right", overflow="fold", min_width=_WIDTH))
    headers.append(Column("better", no_wrap=True))
    rows = []
    for each in verdicts:
        pair, better = _pair(each, order), each.better or _NEITHER
        rows.append((each.comparator, _WORDS[each.comparator], *pair, better))
    show_grid(headers, rows)


def _choices(comparison: Comparison, verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Say what weighs how much, where that can be chosen."""
    wishes, shown = comparison.preferences, {verdict.comparator for verdict in verdicts}

    def listed(properties: Iterable[str], words: str, numbers: Mapping[str, float]) -> str:
        return ", ".join(
            words.format(f"{wishes.index[name]} of {on_one_line(name)}", numbers[name])
            for name in properties
        )

    if "rank" in shown and any(wishes.rank_epsilon.values()):
        overlooked = ", ".join(
            f"{number:.6g} of {on_one_line(name)}"
            for name, number in wishes.rank_epsilon.items()
            if number
        )
        yield f"rank overlooks a difference of {overlooked}"
    if "wtd" in shown:
        yield f"wtd adds up {listed(wishes.weights, '{1:.3g} × {0}', wishes.weights)}"
    if "lex" in shown:
        words = "{0}" + (" (overlooks {1:.6g})" if any(wishes.epsilon.values()) else "")
        yield f"lex goes by {listed(wishes.order, words, wishes.epsilon)}, in this order"
    if "goal" in shown and wishes.goals is not None:
        yield f"goal wants {listed(wishes.goals, '{0} at {1:.6g}', wishes.goals)}"


def _pair(verdict: Verdict, order: Sequence[str]) -> tuple[str, str]:
    """Write both values of a verdict, with as many digits as tell them apart."""
    if verdict.comparator == "lex":  # a place in the order
        one, other = (
            _NEITHER if place is None else on_one_line(order[place - 1])
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
    from moanon.compare import LogVolume

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
