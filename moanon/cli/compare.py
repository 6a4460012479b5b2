"""``moanon compare``: which of several anonymizations is better, and for whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moanon.cli.application import app
from moanon.cli.originals import (
    ConfigOption,
    HierarchyOption,
    KeyOption,
    QuasiOption,
    SensitiveOption,
    Stars,
    StarsOption,
    WhatIsKnown,
    names,
    of_instance,
    read_original,
    solution,
)
from moanon.cli.showing import console, on_one_line
from moanon.errors import ConfigError

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from moanon.cli.originals import Original
    from moanon.compare import Comparison, Preferences, Verdict
    from moanon.compare.comparison import Value
    from moanon.front import Front
    from moanon.release import Anonymized

__all__: list[str] = []

#: What each comparator looks at, in few words.
_WORDS = {
    "dominance": "every row at least as well off",
    "min": "worst-off row",
    "mean": "mean row",
    "rank": "distance to the ideal",
    "cov": "rows at least as well off",
    "spr": "sum of leads",
    "hv": "volume it alone dominates",
    "wtd": "weighted sum",
    "lex": "first property ahead",
    "goal": "squared distance to the goals",
}
_NEITHER = "-"
#: Larger volumes are shown as powers of ten.
_MOST_DIGITS = 1e9


def _numbers(what: str) -> str:
    return f"{what} of each property: numbers in their order, or PROPERTY=NUMBER; by commas."


@app.command(
    epilog="Example: moanon compare results/quickstart#17 results/quickstart#40 --plot both.png"
)
def compare(
    anonymized: Annotated[
        list[str],
        typer.Argument(
            metavar="A B...",
            help="Released files (CSV, Parquet), or solutions of results folders: RESULTS#17.",
            show_default=False,
        ),
    ],
    original: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="What they were made of: a file, or an embedded table. Solutions bring their own.",
            show_default=False,
        ),
    ] = None,
    config: ConfigOption = None,
    hierarchies: HierarchyOption = None,
    quasi: QuasiOption = None,
    sensitive: SensitiveOption = None,
    key: KeyOption = None,
    stars: StarsOption = Stars.ALL,
    properties: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="size, utility, sensitive_count, sensitive_share, diversity; the last three also "
            "of one column, as diversity:COLUMN. Default: size, and what is known of "
            "sensitive_share and utility.",
            show_default=False,
        ),
    ] = None,
    comparators: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="dominance, min, mean, rank, cov, spr, hv, wtd, lex, goal. Default: all.",
            show_default=False,
        ),
    ] = None,
    index: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What wtd, lex and goal go by: min, mean, rank, cov, spr or hv; or "
            "PROPERTY=NAME, by commas.",
        ),
    ] = "cov",
    weights: Annotated[
        str | None,
        typer.Option(metavar="W,...", help=_numbers("For wtd: the weight"), show_default=False),
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="For lex: all properties, the most wanted first.",
            show_default=False,
        ),
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            metavar="E,...",
            help=_numbers("For lex: the difference to overlook"),
            show_default=False,
        ),
    ] = None,
    goal: Annotated[
        str | None,
        typer.Option(metavar="G,...", help=_numbers("For goal: the goal"), show_default=False),
    ] = None,
    ideal: Annotated[
        str | None,
        typer.Option(
            metavar="PROPERTY=I,...",
            help="For rank: what every row would have at best. Default: the best there can be.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also draw the sorted property vectors and the differences row by row (.png, "
            ".svg, .pdf).",
            show_default=False,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the plot.")] = False,
) -> None:
    """Tell which of several anonymizations of a table is better, and for whom.

    Two tables of the same k can treat the same person very differently. A property says how well
    off each row of the original is (the size of its group, what is left of it, ...); comparators
    tell from that which anonymization is better, and how many people are better off in which.
    Suppressed rows count as one group that lost everything.
    """
    from moanon.compare import compare as compare_all

    known = WhatIsKnown(
        config,
        tuple(hierarchies or ()),
        names(quasi),
        None if sensitive is None else names(sensitive),
        key,
    )
    wishes = _preferences(index, weights, order, epsilon, goal, ideal)
    if len(anonymized) < 2:
        raise ConfigError(f"compared are two or more anonymizations. Got {anonymized[0]} alone")
    if plot is not None:  # before anything is read
        from moanon.output.compare_plots import plot_ending

        plot_ending(plot)
    found, origin = _load(anonymized, original, known, stars)
    comparison = compare_all(
        found,
        names(properties) if properties else None,
        sensitive=origin.sensitive,
        comparators=names(comparators) if comparators else None,
        preferences=wishes,
    )
    if plot is not None:
        from moanon.output.compare_plots import save_comparison

        save_comparison(comparison, plot, force=force)
    if as_json:
        import json

        typer.echo(json.dumps(comparison.to_dict(), indent=2, ensure_ascii=False, allow_nan=False))
        return
    _show(comparison)
    if plot is not None:
        typer.echo(f" Wrote {on_one_line(str(plot))}")


# -- reading -------------------------------------------------------------------------------------


def _load(
    given: Sequence[str], original: str | None, known: WhatIsKnown, stars: Stars
) -> tuple[list[Anonymized], Original]:
    """Read all anonymizations and the original they are of."""
    from dataclasses import replace

    from moanon.compare.comparison import refuse_other_rows
    from moanon.config import Config
    from moanon.experiment import load_front
    from moanon.release import Anonymized, read_released

    solutions = {text: place for text in given if (place := solution(text)) is not None}
    files = [text for text in given if text not in solutions]
    folders = dict.fromkeys(folder for folder, _ in solutions.values())
    for folder in folders:
        if not folder.is_dir():
            raise ConfigError(f"there is no results folder {folder}")
    fronts: dict[Path, Front] = {folder: load_front(folder) for folder in folders}
    own = Config.load(next(iter(fronts)) / "config.yaml") if fronts else None
    undeclared = own is not None and not set(known.sensitive or ()) <= set(own.columns)
    if files or original is not None or known.config is not None or undeclared or own is None:
        origin = read_original(original, known, files, own)
    else:
        instance = next(iter(fronts.values())).instance
        assert instance is not None  # fronts are loaded with their tables
        origin = of_instance(instance, known)
    found = []
    for text in given:
        if text in solutions:
            folder, number = solutions[text]
            each = Anonymized.of_release(fronts[folder].release(number), text)
            refuse_other_rows(origin.table, each)
            each = replace(each, original=origin.of)  # which may have more sensitive columns
        else:
            each = read_released(text, origin.of, key=known.key, stars=stars.value)
        found.append(each)
    return found, origin


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
        None if weights is None else _parse("--weights", weights),
        None if order is None else names([order]),
        None if epsilon is None else _parse("--epsilon", epsilon),
        None if goal is None else _parse("--goal", goal),
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


def _parse(option: str, text: str) -> dict[str, float] | list[float]:
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
    screen = console()
    for letter, each in comparison.anonymized.items():
        how = "" if each.matched_by == "genome" else f"; rows found by {each.matched_by}"
        typer.echo(
            f" {letter}  {on_one_line(each.name)}: k {each.k:,} in {len(each.sizes):,} groups, "
            f"{each.suppressed:,} of {each.rows:,} rows suppressed{how}"
        )
    for note in _notes(comparison):
        typer.echo(f"note: {on_one_line(note)}", err=True)
    for first, second in dict.fromkeys((v.first, v.second) for v in comparison.verdicts):
        typer.echo()
        screen.print(_verdicts_grid(comparison, first, second))
        screen.print(_headcounts_grid(comparison, first, second))


def _notes(comparison: Comparison) -> Iterator[str]:
    for each in comparison.anonymized.values():
        yield from each.notes
    if any(each.suppressed for each in comparison.anonymized.values()):
        yield (
            "suppressed rows count as one group that lost everything, so the worst-off row may be "
            "one of them and not of the group that k is about"
        )
    empty: dict[str, list[str]] = {}
    for verdict in comparison.verdicts:
        if verdict.comparator == "hv" and _are_empty(comparison, verdict):
            pairs = empty.setdefault(verdict.property, [])
            pairs.append(f"{verdict.first} and {verdict.second}")
    for name, pairs in empty.items():
        yield (
            f"hv of {name} says nothing about {', '.join(pairs)}: each has a row of 0, which makes "
            "its volume 0"
        )


def _are_empty(comparison: Comparison, verdict: Verdict) -> bool:
    """Whether both vectors have a row of 0."""
    pair = (comparison.vectors[letter] for letter in (verdict.first, verdict.second))
    return all((vectors[verdict.property].oriented == 0).any() for vectors in pair)


def _verdicts_grid(comparison: Comparison, first: str, second: str) -> Grid:
    from rich import box
    from rich.table import Table as Grid

    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False)
    for header in ("property", "comparator", ""):
        grid.add_column(header, overflow="fold")
    for header in (f"{first} over {second}", f"{second} over {first}"):
        grid.add_column(header, justify="right", overflow="fold")
    grid.add_column("better", overflow="fold")
    before = ""
    for verdict in comparison.verdicts:
        if (verdict.first, verdict.second) != (first, second):
            continue
        if before and verdict.property != before:
            grid.add_section()
        shown = on_one_line(verdict.property) if verdict.property != before else ""
        before = verdict.property
        words = _words(comparison, verdict.comparator)
        cells = _pair(verdict)
        grid.add_row(shown, verdict.comparator, words, *cells, verdict.better or _NEITHER)
    return grid


def _words(comparison: Comparison, comparator: str) -> str:
    """Say what a comparator looks at, and what weighs how much where that can be chosen."""
    words, wishes = _WORDS[comparator], comparison.preferences
    chosen: Sequence[str] = ()
    if comparator == "wtd":
        chosen = [f"{weight:.3g} {name}" for name, weight in wishes.weights.items()]
    elif comparator == "lex":
        chosen = wishes.order
    elif comparator == "goal":
        chosen = [f"{goal:.6g} {name}" for name, goal in (wishes.goals or {}).items()]
    return f"{words}: {', '.join(map(on_one_line, chosen))}" if chosen else words


def _headcounts_grid(comparison: Comparison, first: str, second: str) -> Grid:
    from rich import box
    from rich.table import Table as Grid

    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False)
    grid.add_column("rows better off by", overflow="fold")
    for header in (f"in {first}", f"in {second}", "in neither"):
        grid.add_column(header, justify="right", overflow="fold")
    for count in comparison.headcounts:
        if (count.first, count.second) == (first, second):
            numbers = (count.better_in_first, count.better_in_second, count.equal)
            grid.add_row(on_one_line(count.property), *(f"{number:,}" for number in numbers))
    return grid


def _pair(verdict: Verdict) -> tuple[str, str]:
    """Write both values of a verdict, with as many digits as tell them apart."""
    for digits in (3, 5, 8, 12):
        one = _written(verdict.forward, verdict.comparator, digits)
        other = _written(verdict.backward, verdict.comparator, digits)
        if one != other or verdict.better is None:
            break
    return one, other


def _written(value: Value, comparator: str, digits: int) -> str:
    from moanon.compare import LogVolume

    if value is None:
        return _NEITHER
    if isinstance(value, str):
        return value
    if isinstance(value, LogVolume):
        if value.value < _MOST_DIGITS and (value.value > 0 or not value.sign):
            return _written(value.value, comparator, digits)
        return f"10^{value.log10:,.{digits - 1}f}"
    if comparator == "cov":
        return f"{value:.{digits - 2}%}"
    if value == int(value) or abs(value) >= 10**digits:
        return f"{value:,.0f}"
    return f"{value:,.{digits}g}"
