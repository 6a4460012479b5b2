"""``moanon compare``: which of several anonymizations is better, and for whom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moanon.cli.application import app
from moanon.cli.options import (
    STARS_IN_ALL,
    ConfigOption,
    DelimiterOption,
    HierarchyOption,
    JsonOption,
    KeyOption,
    QuasiOption,
    SensitiveOption,
    StarsOption,
    argument,
    flag,
    given,
    names,
)
from moanon.cli.printing import counted, note, on_one_line, print_json, show_grid
from moanon.errors import ConfigError

if TYPE_CHECKING:
    from moanon.compare import Comparison, Preferences, Verdict
    from moanon.compare.comparison import Value

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
#: Least width of values, so that the tables of all properties stand in line, within 80 characters.
_WIDTH = 12
_NEITHER = "-"
#: From where volumes are shown as powers of ten, and other numbers with an exponent.
_MOST_DIGITS, _LONGEST = 1e9, 1e12


def _numbers(letter: str, what: str) -> Any:
    """Declare an option with a number for each property."""
    told = f"{what} of each property: numbers in their order, or PROPERTY=NUMBER; by commas."
    return given(f"{letter},...", told)


@app.command(
    epilog="Example: moanon compare results/quickstart#17 results/quickstart#40 --plot both.png"
)
def compare(
    anonymized: Annotated[
        list[str],
        argument(
            "A B...",
            "Released files (CSV, Parquet), or solutions of results folders: RESULTS#17.",
        ),
    ],
    original: Annotated[
        str | None,
        given(
            "FILE",
            "What they were made of: a file, or an embedded table. Solutions bring their own.",
        ),
    ] = None,
    config: ConfigOption = None,
    hierarchies: HierarchyOption = None,
    quasi: QuasiOption = None,
    sensitive: SensitiveOption = None,
    key: KeyOption = None,
    stars: StarsOption = STARS_IN_ALL,
    delimiter: DelimiterOption = None,
    properties: Annotated[
        list[str] | None,
        given(
            "NAMES",
            "size, utility, sensitive_count, sensitive_share, diversity; the last three also of "
            "one column, as diversity:COLUMN. Default: size, and what is known of sensitive_share "
            "and utility.",
        ),
    ] = None,
    comparators: Annotated[
        list[str] | None,
        given("NAMES", "dominance, min, mean, rank, cov, spr, hv, wtd, lex, goal. Default: all."),
    ] = None,
    index: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What wtd, lex and goal go by: min, mean, rank, cov, spr or hv; or "
            "PROPERTY=NAME, by commas.",
        ),
    ] = "cov",
    weights: Annotated[str | None, _numbers("W", "For wtd: the weight")] = None,
    order: Annotated[
        str | None, given("NAMES", "For lex: all properties, the most wanted first.")
    ] = None,
    epsilon: Annotated[
        str | None,
        _numbers("E", "For lex, and for rank unless lex goes by another index: what to overlook"),
    ] = None,
    goal: Annotated[str | None, _numbers("G", "For goal: the goal")] = None,
    ideal: Annotated[
        str | None,
        given(
            "PROPERTY=I,...",
            "For rank: what every row would have at best. Default: the best there can be.",
        ),
    ] = None,
    as_json: JsonOption = False,
    plot: Annotated[
        Path | None,
        given(
            "FILE",
            "Also draw the sorted property vectors and the differences row by row (.png, .svg, "
            ".pdf).",
        ),
    ] = None,
    force: Annotated[bool, flag("--force", "Replace the plot.")] = False,
) -> None:
    """Tell which of several anonymizations of a table is better, and for whom.

    Two tables of the same k can treat the same person very differently. A property says how well
    off each row of the original is (the size of its group, what is left of it, ...); comparators
    tell from that which anonymization is better, and how many people are better off in which.
    Suppressed rows count as one group that lost everything.
    """
    from moanon.compare import compare as compare_all
    from moanon.experiment.originals import KnownColumns, read_anonymized

    columns = names(quasi), None if sensitive is None else names(sensitive)
    known = KnownColumns(config, hierarchies or (), *columns, key, delimiter)
    wishes = _preferences(index, weights, order, epsilon, goal, ideal)
    if len(anonymized) < 2:
        raise ConfigError(f"compared are two or more anonymizations. Got {anonymized[0]} alone")
    if plot is not None:  # before anything is read
        from moanon.output.compare_figures import save_comparison
        from moanon.output.figure_files import plot_ending

        plot_ending(plot)
    found, protected = read_anonymized(anonymized, original, known, stars.value)
    comparison = compare_all(
        found,
        names(properties) if properties else None,
        sensitive=protected,
        comparators=names(comparators) if comparators else None,
        preferences=wishes,
    )
    if plot is not None:
        save_comparison(comparison, plot, force=force)
    if as_json:
        print_json(comparison.to_dict())
        return
    _show(comparison)
    if plot is not None:
        typer.echo(f" Wrote {on_one_line(str(plot))}")


def _preferences(
    index: str,
    weights: str | None,
    order: str | None,
    epsilon: str | None,
    goal: str | None,
    ideal: str | None,
) -> Preferences:
    from moanon.compare import Preferences

    chosen = dict(_entries("--index", index)) if "=" in index else index
    ideals = {} if ideal is None else _parse("--ideal", ideal)
    if not isinstance(ideals, Mapping):
        raise ConfigError(f"--ideal must be PROPERTY=NUMBER. Got {ideal!r}")
    return Preferences(
        chosen,
        _parse("--weights", weights),
        None if order is None else names([order]),
        _parse("--epsilon", epsilon),
        _parse("--goal", goal),
        ideals,
    )


def _entries(option: str, text: str) -> Iterator[tuple[str, str]]:
    """Take ``NAME=VALUE,...`` apart; a name may hold the mark, a value does not."""
    seen = set()
    for entry in names([text]):
        name, mark, value = entry.rpartition("=")
        if not (name and mark):
            raise ConfigError(f"{option} must be PROPERTY=VALUE throughout. Got {entry!r}")
        if name in seen:
            raise ConfigError(f"{option} names {name!r} twice")
        seen.add(name)
        yield name, value


def _parse(option: str, text: str | None) -> dict[str, float] | list[float] | None:
    if text is None:
        return None
    if "=" in text:
        return {name: _number(option, value) for name, value in _entries(option, text)}
    return [_number(option, value) for value in names([text])]


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"{option} must hold numbers. Got {text!r}") from None


# -- showing -------------------------------------------------------------------------------------


def _show(comparison: Comparison) -> None:
    for letter, each in comparison.anonymized.items():
        made_here = each.matched_by in ("genome", "boxes")
        how = "" if made_here else f"; rows found by {each.matched_by}"
        typer.echo(
            f" {letter}  {on_one_line(each.name)}: k {each.k:,} in "
            f"{counted(len(each.sizes), 'group')}, {each.suppressed:,} of {each.rows:,} rows "
            f"suppressed{how}"
        )
    for text in comparison.notes:
        note(text)
    for first, second in combinations(comparison.anonymized, 2):
        typer.echo(f"\n {first} against {second}: who is better off")
        _show_headcounts(comparison, first, second)
        verdicts = [v for v in comparison.verdicts if (v.first, v.second) == (first, second)]
        for name in dict.fromkeys(verdict.property for verdict in verdicts):
            typer.echo(_heading(name))
            about = [verdict for verdict in verdicts if verdict.property == name]
            _show_verdicts(about, comparison.preferences.order)
        for words in _choices(comparison, verdicts):
            typer.echo(f" {words}")


def _show_headcounts(comparison: Comparison, first: str, second: str) -> None:
    from rich.table import Column

    headers = [Column("rows better off by", overflow="fold")]
    for place in (first, second, "neither"):
        headers.append(Column(f"in {place}", justify="right", no_wrap=True))
    rows = []
    for count in comparison.headcounts:
        if (count.first, count.second) == (first, second):
            numbers = (count.better_in_first, count.better_in_second, count.equal)
            cells = (f"{number:,} ({number / sum(numbers):.1%})" for number in numbers)
            rows.append((on_one_line(count.property), *cells))
    show_grid(headers, rows)


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
