"""``moanon measure`` and ``compare``: how good released tables are, ours or not, and for whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moanon.cli.application import app, argument, flag, given, grouped, print_json, show
from moanon.cli.options import ColumnOptions, JsonOption, OriginalOption, SensitiveOption, names
from moanon.errors import ConfigError

if TYPE_CHECKING:
    from moanon.compare import Preferences


# -- measure ---------------------------------------------------------------------------------------


@app.command(
    epilog="Example: moanon measure patients.csv released.csv --config patients.yaml. Of a file "
    "from ARX: moanon measure in.csv out.csv --hierarchy age=age.csv --hierarchy zip=zip.csv "
    "--stars quasi --sensitive disease"
)
@grouped
def measure(
    original: Annotated[
        str,
        argument(
            "ORIGINAL",
            "The table before: a CSV or Parquet file, an embedded table, or the address of the "
            "database of --config, where rows are found by labels alone.",
        ),
    ],
    released: Annotated[str, argument("RELEASED", "The table after: a CSV or Parquet file.")],
    columns: ColumnOptions,
    sensitive: SensitiveOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure a released file against its original.

    Groups are made of the labels in the file; what was lost follows from what the labels can stand
    for. Suppressed rows may be left out or be rows of stars. What a file alone cannot show is left
    out: without a configuration or hierarchies, all that is about loss. A sensitive column that was
    not released is not measured, unless --sensitive names it: then by the original's values.
    """
    from moanon.experiment.anonymizations import measure_release

    found = measure_release(original, released, columns.known(sensitive), columns.stars.value)
    if as_json:
        print_json(found.to_dict())
        return
    show(found, notes_aside=True)


# -- compare ---------------------------------------------------------------------------------------


def _numbers(letter: str, what: str) -> Any:
    """Declare an option with a number for each property."""
    about = f"{what} of each property: numbers in their order, or PROPERTY=NUMBER; by commas."
    return given(f"{letter},...", about)


@dataclass(frozen=True)
class _Preferences:
    """What counts, and how much, when several properties are compared at once."""

    index: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What wtd, lex and goal go by: min, mean, rank, cov, spr or hv; or "
            "PROPERTY=NAME, by commas.",
        ),
    ] = "cov"
    weights: Annotated[str | None, _numbers("W", "For wtd: the weight")] = None
    order: Annotated[
        str | None, given("NAMES", "For lex: all properties, the most wanted first.")
    ] = None
    epsilon: Annotated[str | None, _numbers("E", "For lex: what to overlook of the index")] = None
    rank_epsilon: Annotated[
        str | None, _numbers("E", "For rank: what to overlook of the distance")
    ] = None
    goal: Annotated[str | None, _numbers("G", "For goal: the goal")] = None
    goal_vectors: Annotated[
        Path | None,
        given(
            "FILE",
            "Instead of --goal: what each row should have; a CSV with a column for each property "
            "and a line for each row of the original. For --index min, mean or rank.",
        ),
    ] = None
    ideal: Annotated[
        str | None,
        given(
            "PROPERTY=I,...",
            "For rank: what every row would have at best. Default: the best there can be.",
        ),
    ] = None

    def read(self) -> Preferences:
        """The same as the library takes it."""
        from moanon.compare import Preferences, read_vectors

        index = dict(_entries("--index", self.index)) if "=" in self.index else self.index
        ideals = {} if self.ideal is None else _parse("--ideal", self.ideal)
        if not isinstance(ideals, Mapping):
            raise ConfigError(f"--ideal must be PROPERTY=NUMBER. Got {self.ideal!r}")
        return Preferences(
            index,
            _parse("--weights", self.weights),
            None if self.order is None else names([self.order]),
            _parse("--epsilon", self.epsilon),
            _parse("--goal", self.goal),
            ideals,
            _parse("--rank-epsilon", self.rank_epsilon),
            None if self.goal_vectors is None else read_vectors(self.goal_vectors),
        )


@app.command(
    epilog="Example: moanon compare results/quickstart#17 results/quickstart#40 --plot both.png"
)
@grouped
def compare(
    anonymized: Annotated[
        list[str],
        argument(
            "A B...",
            "Released files (CSV, Parquet), or solutions of results folders: RESULTS#17.",
        ),
    ],
    columns: ColumnOptions,
    wishes: _Preferences,
    original: OriginalOption = None,
    sensitive: SensitiveOption = None,
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
    """Compare anonymizations: which is better, and for whom.

    Two tables of the same k can treat the same person very differently. A property says how well
    off each row of the original is (the size of its group, what is left of it, ...); comparators
    say which anonymization is better by that, and how many people are better off in which. Then
    comes what differs column by column; --all shows every index. Suppressed rows count as one group
    that lost everything.
    """
    from moanon.compare import compare as compare_all
    from moanon.experiment.anonymizations import read_anonymized

    known, preferences = columns.known(sensitive), wishes.read()
    if len(anonymized) < 2:
        raise ConfigError(f"name two or more anonymizations to compare. Got {anonymized[0]} alone")
    if plot is not None:  # before anything is read
        from moanon.output.figure_files import plot_ending, save_one
        from moanon.output.studies import plot_comparison

        plot_ending(plot)
    found, protected = read_anonymized(anonymized, original, known, columns.stars.value)
    comparison = compare_all(
        found,
        names(properties) if properties else None,
        sensitive=protected,
        comparators=names(comparators) if comparators else None,
        preferences=preferences,
    )
    if plot is not None:
        save_one(lambda: plot_comparison(comparison), plot, force=force)
    if as_json:
        print_json(comparison.to_dict())
        return
    everything = everything or comparators is not None
    show(comparison, everything=everything, notes_aside=True)
    if not everything:
        show(["everything=True shows every index by which they were compared"])
    if plot is not None:
        show([f"Wrote {plot}"])


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
