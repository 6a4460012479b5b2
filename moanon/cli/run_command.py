"""``moanon run``: from a configuration to a results folder."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moanon.cli.application import DONE, app
from moanon.cli.options import QuietOption, SetOption, argument, flag, given
from moanon.cli.printing import note, on_one_line, show_front, show_grid

if TYPE_CHECKING:
    from moanon.experiment import Experiment
    from moanon.front import Front

#: Seconds of compiling that are worth a word.
_NOTICED = 3.0
#: Said of NSGA-II where fair coins cut fine domains so often that no group has two rows.
_ONLY_SINGLE = (
    "nsga2 has found nothing with k above 1: its first genomes cut every column by fair coins, and "
    "on domains this fine none of their groups has two rows; the search archive, which also "
    "begins with coarse genomes, a larger granularity, or more suppression (eta) helps"
)


@app.command(epilog="Example: moanon run configs/quickstart.yaml --seed 7 --out results/seven")
def run(
    configs: Annotated[list[Path], argument("CONFIG...", "Configurations (YAML).")],
    etas: Annotated[
        list[float] | None,
        given(
            "E",
            "Largest share of rows that may be suppressed, instead of problem.eta; may be "
            "repeated: one run for each.",
            "--eta",
        ),
    ] = None,
    seed: Annotated[int | None, given("N", "Instead of search.seed.")] = None,
    sets: SetOption = None,
    out: Annotated[
        Path | None,
        given(
            "DIR",
            "Where results go, instead of output.dir; with several configurations, in a folder of "
            "each one's name there.",
        ),
    ] = None,
    resume: Annotated[
        bool, flag("--resume", "Go on where a run was interrupted or killed.")
    ] = False,
    force: Annotated[bool, flag("--force", "Replace the run that the folder holds.")] = False,
    threads: Annotated[int | None, given("N", "Default: one for each processor.", min=1)] = None,
    quiet: QuietOption = False,
) -> None:
    """Search for the front between privacy and loss, and write it to a folder.

    The same configuration and seed give the same front, whatever the number of threads and however
    often the run was interrupted. Ctrl-C ends it after the current generation; --resume goes on.
    """
    from moanon.experiment import Experiment, plan

    for config in plan(configs, sets or (), etas=etas or (), seed=seed, out=out):
        experiment = Experiment.prepare(config, resume=resume, force=force, threads=threads)
        if not quiet:
            for text in experiment.notes:
                note(text)
        code = _run(experiment, quiet=quiet)
        if code != DONE:
            again = [*configs, *_options("--eta", etas), *_options("--seed", [seed])]
            again += [*_options("--set", sets), *_options("--out", [out])]
            again += [*_options("--threads", [threads]), "--resume"]
            typer.echo(f"To go on: moanon run {shlex.join(map(str, again))}", err=True)
            raise typer.Exit(code)


def _options(name: str, values: Iterable[object] | None) -> Iterator[object]:
    """Write an option as on a command line, once for each value that was given."""
    for value in values or ():
        if value is not None:
            yield from (name, value)


def _run(experiment: Experiment, *, quiet: bool) -> int:
    """Run an experiment, show its progress and what came of it; return the exit code."""
    from moanon.progress import Interruption, duration, show_progress

    folder = on_one_line(str(experiment.folder))
    if experiment.finished:
        fronts = experiment.load_fronts()
        if not experiment.is_shown:  # the end of the run was cut short
            experiment.show(fronts)
        if not quiet:
            typer.echo(f" {folder} is finished already")
            _show_fronts(fronts)
        return DONE
    with Interruption() as interrupted, show_progress(experiment.config.name, quiet=quiet) as show:
        result = experiment.run(show, interrupted)
    outcome = result.outcome
    if not result.fronts:
        typer.echo(
            f"Interrupted after generation {outcome.generation:,} "
            f"({outcome.evaluations:,} evaluations); saved in {folder}.",
            err=True,
        )
        return 128 + interrupted.signal
    if not quiet:
        several = len(result.fronts) > 1
        typer.echo(
            f" {experiment.config.name}: {result.evaluations:,} evaluations "
            + (f"for {len(result.fronts)} limits" if several else f"in {duration(outcome.seconds)}")
            + f" by {experiment.algorithm}; stopped because {outcome.why}"
        )
        if experiment.algorithm == "nsga2" and all(
            front.measures["k"].max() == 1 for front in result.fronts.values()
        ):
            note(_ONLY_SINGLE)
        if result.compiling >= _NOTICED:
            typer.echo(f" Compiling took {duration(result.compiling)} before, which is not counted")
        _show_fronts(result.fronts)
        typer.echo(f" Wrote {folder}: {', '.join(_written(experiment))}")
    return DONE


def _show_fronts(fronts: Mapping[float, Front]) -> None:
    """Show a front by its numbers, or several beside each other."""
    if len(fronts) == 1:
        (front,) = fronts.values()
        show_front(front)
        return
    from moanon.experiment.finished import least_losses

    rows = [
        (f"k ≥ {k:,}", *("-" if loss is None else f"{loss:.1%}" for loss in losses))
        for k, losses in least_losses(fronts).items()
    ]
    headers = ("least loss with", *(f"η {eta}" for eta in sorted(fronts)))
    show_grid(headers, rows, right=range(1, len(headers)))


def _written(experiment: Experiment) -> Iterator[str]:
    """What there is to look at in a results folder, and what there is to read."""
    output = experiment.config.output
    if output.report:
        yield "report.html (open it in a browser)"
    if output.plots:
        yield "plots"
    if len(experiment.places) > 1:
        yield "comparison.csv"
        yield from sorted(place.name for place in experiment.places.values())
    else:
        boxes = ("boxes.npz",) if experiment.algorithm == "local" else ()
        yield from ("front.csv", "solutions.json", *boxes, "config.yaml", "run.json")
