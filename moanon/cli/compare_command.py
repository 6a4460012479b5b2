"""``moanon compare``: which of several anonymizations is better, and for whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
    OriginalOption,
    QuasiOption,
    SensitiveOption,
    StarsOption,
    argument,
    flag,
    given,
    names,
)
from moanon.cli.printing import on_one_line, print_json
from moanon.errors import ConfigError

if TYPE_CHECKING:
    from moanon.compare import Preferences


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
    original: OriginalOption = None,
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
        _numbers("E", "For lex: what to overlook of the index"),
    ] = None,
    rank_epsilon: Annotated[
        str | None, _numbers("E", "For rank: what to overlook of the distance")
    ] = None,
    goal: Annotated[str | None, _numbers("G", "For goal: the goal")] = None,
    goal_vectors: Annotated[
        Path | None,
        given(
            "FILE",
            "Instead of --goal: what each row should have; a CSV with a column for each property "
            "and a line for each row of the original. For --index min, mean or rank.",
        ),
    ] = None,
    ideal: Annotated[
        str | None,
        given(
            "PROPERTY=I,...",
            "For rank: what every row would have at best. Default: the best there can be.",
        ),
    ] = None,
    everything: Annotated[
        bool, flag("--all", "Also show every index; named --comparators are shown anyway.")
    ] = False,
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
    """Compare anonymizations of a table: which one is better, and for whom.

    Two tables of the same k can treat the same person very differently. A property says how well
    off each row of the original is (the size of its group, what is left of it, ...); comparators
    say which anonymization is better by that, and how many people are better off in which. Then
    comes what differs column by column; --all shows every index. Suppressed rows count as one group
    that lost everything.
    """
    from moanon.cli.compare_tables import show_comparison
    from moanon.compare import compare as compare_all
    from moanon.experiment.anonymizations import KnownColumns, read_anonymized

    columns = names(quasi), None if sensitive is None else names(sensitive)
    known = KnownColumns(config, hierarchies or (), *columns, key, delimiter)
    wishes = _preferences(index, weights, order, epsilon, rank_epsilon, goal, goal_vectors, ideal)
    if len(anonymized) < 2:
        raise ConfigError(f"compared are two or more anonymizations. Got {anonymized[0]} alone")
    if plot is not None:  # before anything is read
        from moanon.output.figure_files import plot_ending, save_one
        from moanon.output.release_figures import plot_comparison

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
        save_one(lambda: plot_comparison(comparison), plot, force=force)
    if as_json:
        print_json(comparison.to_dict())
        return
    show_comparison(comparison, everything=everything or comparators is not None)
    if plot is not None:
        typer.echo(f" Wrote {on_one_line(str(plot))}")


def _preferences(
    index: str,
    weights: str | None,
    order: str | None,
    epsilon: str | None,
    rank_epsilon: str | None,
    goal: str | None,
    goal_vectors: Path | None,
    ideal: str | None,
) -> Preferences:
    from moanon.compare import Preferences, read_vectors

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
        _parse("--rank-epsilon", rank_epsilon),
        None if goal_vectors is None else read_vectors(goal_vectors),
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
