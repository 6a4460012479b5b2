"""``moanon run``: from a configuration to a results folder."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moanon.cli.application import DONE, app
from moanon.cli.options import QuietOption, SetOption, argument, flag, given, limit
from moanon.cli.printing import note, on_one_line, show_front, show_grid

if TYPE_CHECKING:
    from moanon.config import Config
    from moanon.experiment import Experiment
    from moanon.experiment.experiment import Result
    from moanon.experiment.finished import FinishedRun
    from moanon.experiment.repeated import Spread
    from moanon.front import Front
    from moanon.proofs.front_proof import ProofRecord

#: Seconds of compiling that are worth a word.
_NOTICED = 3.0
#: Said of NSGA-II where fair coins cut fine domains so often that no group has two rows.
_ONLY_SINGLE = (
    "nsga2 has found {found}: its first genomes cut every column by fair coins, and on "
    "domains this fine hardly any of their groups has two rows; what helps is the default search "
    "(leave search.algorithm out), search.moves: true, which also begins with coarse genomes, a "
    "larger granularity, or a larger eta"
)


@app.command(epilog="Example: moanon run configs/quickstart.yaml --seed 7 --out results/seven")
def run(
    configs: Annotated[list[Path], argument("CONFIG...", "Configurations (YAML).")],
    etas: Annotated[
        list[float] | None,
        given(
            "E",
            "Largest share of rows that may be suppressed, such as 5% or 0.05, instead of "
            "problem.eta; may be repeated: one run for each.",
            "--eta",
            parser=limit,
        ),
    ] = None,
    seed: Annotated[int | None, given("N", "Instead of search.seed.")] = None,
    times: Annotated[
        int | None,
        given(
            "N",
            "Run N seeds, from search.seed on, each in a folder seed-... of its own; show how far "
            "they differ, and write what they found together.",
            "--repeat",
            min=2,
        ),
    ] = None,
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
        bool, flag("--resume", "Continue a run that was interrupted or killed.")
    ] = False,
    force: Annotated[bool, flag("--force", "Replace the run that the folder holds.")] = False,
    threads: Annotated[int | None, given("N", "Default: one for each processor.", min=1)] = None,
    quiet: QuietOption = False,
) -> None:
    """Search for the front between privacy and loss, and write it to a folder.

    The same configuration and seed give the same front, whatever the number of threads and however
    often the run was interrupted. Ctrl-C ends it after the current generation; --resume continues.
    """
    from moanon.experiment import plan

    for config in plan(configs, sets or (), etas=etas or (), seed=seed, out=out):
        options = _Options(resume=resume, force=force, threads=threads, quiet=quiet)
        code = _run(config, options) if times is None else _run_repeatedly(config, times, options)
        if code != DONE:
            again = [*configs, *_options("--eta", etas), *_options("--seed", [seed])]
            again += [*_options("--repeat", [times]), *_options("--set", sets)]
            again += [*_options("--out", [out]), *_options("--threads", [threads]), "--resume"]
            typer.echo(f"To go on: moanon run {shlex.join(map(str, again))}", err=True)
            raise typer.Exit(code)


@dataclass(frozen=True)
class _Options:
    """How a run is started."""

    resume: bool
    force: bool
    threads: int | None
    quiet: bool


def _options(name: str, values: Iterable[object] | None) -> Iterator[object]:
    """Write an option as on a command line, once for each value that was given."""
    for value in values or ():
        if value is not None:
            yield from (name, value)


def _run(config: Config, options: _Options) -> int:
    """Run an experiment, show its progress and what came of it; return the exit code."""
    from moanon.progress import duration

    experiment = _prepare(config, options)
    folder = on_one_line(str(experiment.folder))
    if experiment.finished:
        runs = experiment.known_runs
        if not experiment.is_shown:  # the end of the run was cut short
            experiment.show(runs)
        if not options.quiet:
            typer.echo(f" {folder} is finished already")
            _show_fronts(runs)
        return DONE
    result, code = _search(experiment, quiet=options.quiet)
    outcome = result.outcome
    if code != DONE or options.quiet:
        return code
    several = len(result.fronts) > 1
    typer.echo(
        f" {experiment.config.name}: {result.evaluations:,} evaluations "
        + (f"({outcome.polished:,} to polish the front) " if outcome.polished else "")
        + (f"for {len(result.fronts)} limits" if several else f"in {duration(outcome.seconds)}")
        + f" by {experiment.algorithm}; {'the last one ' if several else ''}stopped because "
        + outcome.why
    )
    if outcome.convergence is not None:
        told = outcome.convergence.sentence
        typer.echo(f" {told[0].upper()}{told[1:]}")
    if result.proof is not None:
        typer.echo(f" {_proof(result.proof)}")
    if experiment.config.search.prove is not None:
        typer.echo(f" {_proven(result.fronts)}")
    _note_poverty(experiment, result.fronts)
    if result.compiling >= _NOTICED:
        typer.echo(f" Compiling took {duration(result.compiling)} before, which is not counted")
    _show_fronts(result.runs)
    typer.echo(f" Wrote {folder}: {', '.join(_written(experiment))}")
    return DONE


def _proof(proof: ProofRecord) -> str:
    """Say how much of the front without suppression is proven."""
    if proof.optimal == proof.steps:
        return f"The front without suppression is exact: proven with {proof.bounds:,} bounds"
    return (
        f"Without suppression, {proof.optimal:,} of {proof.steps:,} solutions are proven optimal "
        f"with the {proof.bounds:,} bounds that a run computes; moanon prove goes further"
    )


def _proven(fronts: Mapping[float, Front]) -> str:
    """Say how much of the fronts is proven in the time that a run was given for it."""
    solutions = sum(map(len, fronts.values()))
    optimal = sum(
        int((front.proven >= front.measures["loss"]).sum())
        for front in fronts.values()
        if front.proven is not None
    )
    further = "" if optimal == solutions else "; moanon prove goes further"
    return f"{optimal:,} of {solutions:,} solutions are proven optimal{further}"


def _note_poverty(experiment: Experiment, fronts: Mapping[float, Front]) -> None:
    """Say what helps where NSGA-II has found nothing that hides everybody."""
    found = fronts.values()
    if experiment.algorithm != "nsga2" or any(front.measures["k"].max() > 1 for front in found):
        return
    if all(len(front) == 1 for front in found):
        note(_ONLY_SINGLE.format(found="a single solution, with k = 1"))
    elif {"k", "d", "d1"} & {*experiment.runner.problem.objectives}:  # else that is no wonder
        note(_ONLY_SINGLE.format(found="nothing with k above 1"))


def _prepare(config: Config, options: _Options) -> Experiment:
    from moanon.experiment import Experiment

    experiment = Experiment.prepare(
        config, resume=options.resume, force=options.force, threads=options.threads
    )
    if not options.quiet:
        for text in experiment.notes:
            note(text)
    return experiment


def _search(experiment: Experiment, *, quiet: bool) -> tuple[Result, int]:
    """Run an experiment and show its progress; also return the exit code."""
    from moanon.progress import Interruption, show_progress

    with Interruption() as interrupted, show_progress(experiment.config.name, quiet=quiet) as show:
        result = experiment.run(show, interrupted, None if show is None else show.step)
    if result.is_cut:
        place = on_one_line(str(experiment.folder))
        typer.echo(
            f"Interrupted while proving; the front is complete in {place}. To go on: moanon prove "
            f"{place}",
            err=True,
        )
        return result, 128 + interrupted.signal
    if result.fronts:
        return result, DONE
    typer.echo(
        f"Interrupted after generation {result.outcome.generation:,} "
        f"({result.outcome.evaluations:,} evaluations); saved in "
        f"{on_one_line(str(experiment.folder))}.",
        err=True,
    )
    return result, 128 + interrupted.signal


def _run_repeatedly(config: Config, times: int, options: _Options) -> int:
    """Run a configuration with several seeds, show their spread and write their union."""
    from moanon.experiment.folder import check_vacant
    from moanon.experiment.repeated import check_random, repeat, spread_of, write_union

    seeds, folder = repeat(config, times), Path(config.output.dir)
    if not (options.force or options.resume):
        check_vacant(folder)
    runs: dict[int, Mapping[float, FinishedRun]] = {}
    for one in seeds:
        experiment = _prepare(one, options)
        check_random(experiment.algorithm)
        if experiment.finished:
            runs[one.search.seed] = experiment.known_runs
            continue
        result, code = _search(experiment, quiet=options.quiet)
        if code != DONE:
            return code
        runs[one.search.seed] = result.runs
    unions = write_union(config, runs, force=options.force or options.resume)
    if not options.quiet:
        _note_poverty(experiment, unions)
        for eta, union in unions.items():
            limit = f", η {eta}" if len(unions) > 1 else ""
            typer.echo(f" {config.name}: {len(runs)} seeds{limit}, least loss with at least each k")
            _show_spread(spread_of({seed: runs[seed][eta].front for seed in runs}, union))
            show_front(union)
        typer.echo(f" Wrote {on_one_line(str(folder))}: the union of {seeds[0].output.dir}, …")
    return DONE


def _show_spread(spread: Spread) -> None:
    rows = [
        (f"k ≥ {k:,}", *("-" if loss is None else f"{loss:.1%}" for loss in losses))
        for k, losses in spread.items()
    ]
    headers = ("", "best seed", "median", "worst seed", "union")
    show_grid(headers, rows, right=range(1, len(headers)))


def _show_fronts(runs: Mapping[float, FinishedRun]) -> None:
    """Show a front by its numbers, or several beside each other."""
    fronts = {eta: run.front for eta, run in runs.items()}
    if len(fronts) == 1:
        (front,) = fronts.values()
        show_front(front)
        return
    from moanon.front.asking import least_losses, why_worse

    rows = [
        (f"k ≥ {k:,}", *("-" if loss is None else f"{loss:.1%}" for loss in losses))
        for k, losses in least_losses(fronts).items()
    ]
    headers = ("least loss with", *(f"η {eta}" for eta in sorted(fronts)))
    show_grid(headers, rows, right=range(1, len(headers)))
    searches = {eta: run.record.get("search") for eta, run in runs.items()}
    evaluations = {eta: search["evaluations"] for eta, search in searches.items() if search}
    if worse := why_worse(fronts, evaluations):
        typer.echo(f" {worse}")


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
        boxes = ("boxes.npz",) if experiment.config.problem.has_boxes else ()
        yield from ("front.csv", "solutions.json", *boxes, "config.yaml", "run.json")
