"""``moanon frontier``: what releases give away of individuals, and tell of the many."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moanon.cli.application import app
from moanon.cli.options import (
    STARS_IN_ALL,
    ConfigOption,
    DelimiterOption,
    HierarchyOption,
    KeyOption,
    OriginalOption,
    QuasiOption,
    QuietOption,
    StarsOption,
    argument,
    flag,
    given,
    names,
)
from moanon.cli.printing import counted, note, on_one_line, show_grid
from moanon.errors import ConfigError

if TYPE_CHECKING:
    from moanon.frontier import Frontier

#: Efficient releases that are shown; all are in the table.
_SHOWN = 12


class _Reading(StrEnum):
    """What a selectivity is a share of."""

    WHOLE = "whole"
    COLUMN = "column"


@app.command(
    epilog="Example: moanon frontier results/local results/mondrian --bucketize --out results/plane"
)
def frontier(
    releases: Annotated[
        list[str],
        argument(
            "RESULTS...",
            "Results folders, or solutions of them, such as results/local#14; with --original also "
            "released files.",
        ),
    ],
    sensitive: Annotated[
        str | None, given("COLUMN", "The sensitive column. Default: the only one there is.")
    ] = None,
    min_support: Annotated[
        float | None,
        given(
            "X",
            "Least share of the rows that makes a population large, in (0, 1]. Default: that of "
            "the configuration, else 0.05.",
        ),
    ] = None,
    ancestors: Annotated[
        list[str] | None,
        given(
            "COLUMN=W,...",
            "Widths of the ranges of an interval or ordered column, in steps or values, that "
            "populations may name; may be repeated. Default: those of the configuration, else 2, "
            "4, 8, ... steps.",
            "--ancestors",
        ),
    ] = None,
    max_populations: Annotated[
        int, typer.Option(metavar="N", help="More populations than this are refused.")
    ] = 100_000,
    bucketize: Annotated[
        bool, flag("--bucketize", "Also place each release with its groups as buckets.")
    ] = False,
    queries: Annotated[
        int, typer.Option(metavar="N", help="Random COUNT queries to ask; 0 for none.")
    ] = 1000,
    dimensions: Annotated[
        int | None,
        given(
            "D", "Quasi-identifiers that each query looks at. Default: 4, as far as there are any."
        ),
    ] = None,
    selectivity: Annotated[
        float, typer.Option(metavar="X", help="Share that a query asks for, in (0, 1].")
    ] = 0.05,
    selectivity_of: Annotated[
        _Reading,
        typer.Option(help="Whether that is a share of the whole space, or of each column."),
    ] = _Reading.WHOLE,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the queries.")] = 1,
    original: OriginalOption = None,
    config: ConfigOption = None,
    hierarchies: HierarchyOption = None,
    quasi: QuasiOption = None,
    key: KeyOption = None,
    stars: StarsOption = STARS_IN_ALL,
    delimiter: DelimiterOption = None,
    out: Annotated[
        Path | None,
        given("DIR", "Where the table, the figure and the page go. Default: results/frontier."),
    ] = None,
    force: Annotated[bool, flag("--force", "Replace what DIR holds of them.")] = False,
    quiet: QuietOption = False,
) -> None:
    """Place releases on the plane of privacy loss and utility loss, and mark the efficient ones.

    Privacy loss (p_loss) is what can be learnt about the individual that is worst off, utility loss
    (u_loss) what the release no longer says about large populations, query_error how wrong it
    answers COUNT queries. All solutions of folders are placed, and with --bucketize their twins
    that publish quasi-identifiers as they are. Writes frontier.csv, frontier.png and frontier.html.
    """
    from moanon.experiment.anonymizations import KnownColumns
    from moanon.experiment.showing import find_frontier, write_frontier

    known = KnownColumns(
        config,
        hierarchies or (),
        names(quasi),
        None if sensitive is None else [sensitive],
        key,
        delimiter,
    )
    placed, found = find_frontier(
        releases,
        known,
        original=original,
        stars=stars.value,
        min_support=min_support,
        ancestors=_widths(ancestors or ()),
        most=max_populations,
        bucketize=bucketize,
        queries=queries,
        dimensions=dimensions,
        selectivity=selectivity,
        reading=selectivity_of.value,
        seed=seed,
    )
    place = Path("results/frontier") if out is None else out
    write_frontier(placed, found, place, force=force)
    if quiet:
        return
    from moanon.front.results import unfinished

    for folder in found.unfinished:
        note(f"{folder} holds {unfinished(folder)}, which is left out")
    _show(placed)
    if bucketize:
        typer.echo(
            " note: buckets show quasi-identifiers as they are: k does not protect against "
            "presence disclosure there"
        )
    typer.echo(f" Wrote {on_one_line(str(place))}: frontier.csv, frontier.png, frontier.html")


def _widths(texts: list[str] | tuple[()]) -> dict[str, tuple[int, ...]] | None:
    """Read COLUMN=W,W,..."""
    found: dict[str, tuple[int, ...]] = {}
    for text in texts:
        column, mark, widths = text.rpartition("=")
        parts = [part.strip() for part in widths.split(",")]
        if not (column and mark) or not all(part.isascii() and part.isdigit() for part in parts):
            raise ConfigError(f"--ancestors must be COLUMN=5,10,20. Got {text!r}")
        if column in found:
            raise ConfigError(f"--ancestors names the column {column!r} twice")
        found[column] = tuple(map(int, parts))
    return found or None


def _show(found: Frontier) -> None:
    """Show the efficient releases, the most private ones first."""
    efficient = sorted(found.efficient, key=lambda release: release.p_loss)
    typer.echo(
        f" {counted(len(found), 'release')} by {on_one_line(found.sensitive)}, "
        f"{counted(found.populations, 'population')} of at least {found.rule.min_support:.6g} of "
        f"the rows; without any quasi-identifier utility loss is {found.no_quasi:.4f}"
    )
    step = max(1, -(-len(efficient) // _SHOWN))
    shown = efficient[::step]
    typer.echo(
        f" {counted(len(efficient), 'release')} efficient"
        + (":" if step == 1 else f", of which {len(shown)}:")
    )
    rows = []
    for release in shown:
        error = "-" if release.query_error is None else f"{release.query_error:.1%}"
        numbers = (f"{release.p_loss:.4f}", f"{release.u_loss:.5f}", error, f"{release.groups:,}")
        rows.append((on_one_line(release.name), release.method, *numbers))
    headers = ("release", "published", "p_loss", "u_loss", "query_error", "groups")
    show_grid(list(headers), rows, right=range(2, 6))
