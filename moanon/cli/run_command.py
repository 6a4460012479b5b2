"""``moanon run``, ``baseline`` and ``prove``: from a configuration to a results folder."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moanon.baselines import BASELINES
from moanon.cli.application import (
    DONE,
    app,
    argument,
    flag,
    given,
    grouped,
    note,
    on_one_line,
    show,
)
from moanon.cli.options import (
    ConfigArgument,
    DataOption,
    QuietOption,
    ResultsArgument,
    SetOption,
    ThreadsOption,
    limit,
    share,
)
from moanon.wording import Grid, Part, facts

if TYPE_CHECKING:
    from moanon.config import Config
    from moanon.experiment import Experiment
    from moanon.experiment.experiment import Result
    from moanon.experiment.finished import FinishedRun
    from moanon.experiment.proving import Proven
    from moanon.front import Front
    from moanon.proofs.front_proof import FrontProof, ProofRecord

#: Seconds that a proof may take by default, and most solutions that are listed.
_SECONDS, _MOST_ROWS = 60.0, 24
#: Seconds of compiling that are worth a word.
_NOTICED = 3.0
#: Said of NSGA-II where fair coins cut fine domains so often that no group has two rows.
_ONLY_SINGLE = (
    "nsga2 has found {found}: its first genomes cut every column by fair coins, and on "
    "domains this fine hardly any of their groups has two rows; what helps is the default search "
    "(leave search.algorithm out), search.moves: true, which also begins with coarse genomes, a "
    "larger granularity, or a larger eta"
)


@dataclass(frozen=True)
class _Options:
    """How a run is started."""

    resume: Annotated[bool, flag("--resume", "Continue a run that was interrupted or killed.")] = (
        False
    )
    force: Annotated[bool, flag("--force", "Replace the run that the folder holds.")] = False
    threads: ThreadsOption = None
    quiet: QuietOption = False


@app.command(epilog="Example: moanon run configs/quickstart.yaml --seed 7 --out results/seven")
@grouped
def run(
    configs: Annotated[list[Path], argument("CONFIG...", "Configurations (YAML).")],
    options: _Options,
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
) -> None:
    """Search for the front between privacy and loss.

    Writes it to a folder of results. The same configuration and seed give the same front, whatever
    the number of threads and however often the run was interrupted. Ctrl-C ends it after the
    current generation; --resume continues.
    """
    from moanon.experiment import plan

    for config in plan(configs, sets or (), etas=etas or (), seed=seed, out=out):
        code = _run(config, options) if times is None else _run_repeatedly(config, times, options)
        if code != DONE:
            again: list[object] = [*configs]
            said: dict[str, Sequence[object] | None]
            said = {"--eta": etas, "--seed": [seed], "--repeat": [times], "--set": sets}
            said |= {"--out": [out], "--threads": [options.threads]}
            for name, values in said.items():
                for value in values or ():
                    again += [] if value is None else [name, value]
            line = shlex.join(map(str, [*again, "--resume"]))
            typer.echo(f"To continue: moanon run {line}", err=True)
            raise typer.Exit(code)


def _run(config: Config, options: _Options) -> int:
    """Run an experiment, show its progress and what came of it; return the exit code."""
    experiment = _prepare(config, options)
    if experiment.finished:
        runs = experiment.known_runs
        if not experiment.is_shown:  # the end of the run was cut short
            experiment.show(runs)
        if not options.quiet:
            show([f"{experiment.folder} is finished already", *_fronts(runs)])
        return DONE
    result, code = _search(experiment, quiet=options.quiet)
    if code == DONE and not options.quiet:
        show(_came_of(experiment, result))
        _note_poverty(experiment, result.fronts)
        show(_fronts(result.runs))
        show([f"Wrote {experiment.folder}: {', '.join(_written(experiment))}"])
    return code


def _came_of(experiment: Experiment, result: Result) -> Iterator[str]:
    """Say how a run went."""
    from moanon.progress import duration

    outcome, several = result.outcome, len(result.fronts) > 1
    yield (
        f"{experiment.config.name}: {result.evaluations:,} evaluations "
        + (f"({outcome.polished:,} to polish the front) " if outcome.polished else "")
        + (f"for {len(result.fronts)} limits" if several else f"in {duration(outcome.seconds)}")
        + f" by {experiment.runner.algorithm}; {'the last one ' if several else ''}stopped because "
        + outcome.why
    )
    if outcome.convergence is not None:
        sentence = outcome.convergence.sentence
        yield f"{sentence[0].upper()}{sentence[1:]}"
    if result.proof is not None:
        yield _proof(result.proof)
    if experiment.config.search.prove is not None:
        yield _proven(result.fronts)
    if result.compiling >= _NOTICED:
        yield f"Compiling took {duration(result.compiling)} before, which is not counted"


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
    known = [front for front in fronts.values() if front.proven is not None]
    optimal = sum(int((front.proven >= front.measures["loss"]).sum()) for front in known)
    further = "" if optimal == solutions else "; moanon prove goes further"
    return f"{optimal:,} of {solutions:,} solutions are proven optimal{further}"


def _note_poverty(experiment: Experiment, fronts: Mapping[float, Front]) -> None:
    """Say what helps where NSGA-II has found nothing that hides everybody."""
    found = fronts.values()
    if experiment.runner.algorithm != "nsga2" or any(
        front.measures["k"].max() > 1 for front in found
    ):
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
    from moanon.progress import Ending, show_progress

    with (
        Ending(at_once=False) as interrupted,
        show_progress(experiment.config.name, quiet=quiet) as show,
    ):
        result = experiment.run(show, interrupted, None if show is None else show.step)
    if result.is_cut:
        place = on_one_line(str(experiment.folder))
        typer.echo(
            f"Interrupted while proving; the front is complete in {place}. To continue: moanon "
            f"prove {place}",
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
        check_random(experiment.runner.algorithm)
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
            at = f", η {eta}" if len(unions) > 1 else ""
            spread = spread_of({seed: runs[seed][eta].front for seed in runs}, union)
            headers = ("", "best seed", "median", "worst seed", "union")
            show([f"{config.name}: {len(runs)} seeds{at}, least loss with at least each k"])
            show([_losses_grid(spread, headers), *_front(union)])
        show([f"Wrote {folder}: the union of {seeds[0].output.dir}, …"])
    return DONE


def _fronts(runs: Mapping[float, FinishedRun]) -> Iterator[Part]:
    """Describe a front by its numbers, or several beside each other."""
    fronts = {eta: run.front for eta, run in runs.items()}
    if len(fronts) == 1:
        (front,) = fronts.values()
        yield from _front(front)
        return
    from moanon.front.asking import least_losses, why_worse

    yield _losses_grid(
        least_losses(fronts), ("least loss with", *(f"η {e}" for e in sorted(fronts)))
    )
    records = {eta: run.record.get("search") for eta, run in runs.items()}
    evaluations = {eta: search["evaluations"] for eta, search in records.items() if search}
    if worse := why_worse(fronts, evaluations):
        yield worse


def _front(front: Front) -> Iterator[str]:
    from moanon.front.choices import front_facts

    return facts(front_facts(front))


def _losses_grid(losses: Mapping[float, Sequence[float | None]], headers: tuple[str, ...]) -> Grid:
    """Losses with at least each k."""
    rows = [
        (f"k ≥ {k:,}", *("-" if loss is None else f"{loss:.1%}" for loss in each))
        for k, each in losses.items()
    ]
    return Grid(headers, rows, right=range(1, len(headers)))


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


# -- baseline --------------------------------------------------------------------------------------


@app.command(
    epilog="Example: moanon baseline mondrian configs/quickstart.yaml --k 5 --k 50 "
    "--out results/mondrian"
)
def baseline(
    name: Annotated[
        str,
        argument("NAME", f"One of {', '.join(BASELINES)}."),
    ],
    config: ConfigArgument,
    ks: Annotated[
        list[int] | None,
        given(
            "K",
            "Smallest group; may be repeated: one release for each. Default: 2, 5, 10, ... 5000 "
            "as far as the table goes.",
            "--k",
        ),
    ] = None,
    eta: Annotated[
        float | None,
        given(
            "E",
            "Largest share of rows that may be suppressed, such as 5% or 0.05, instead of "
            "problem.eta; not for mondrian and mingen, which suppress none, nor for datafly-k, "
            "which suppresses up to k rows.",
            parser=limit,
        ),
    ] = None,
    sets: SetOption = None,
    out: Annotated[
        Path | None,
        given("DIR", "Where results go. Default: results/ and the names of CONFIG and NAME."),
    ] = None,
    force: Annotated[bool, flag("--force", "Replace the run that the folder holds.")] = False,
    quiet: QuietOption = False,
) -> None:
    """Anonymize by a classical algorithm, once for each k.

    Writes a results folder. The configuration says what is anonymized; its constraints on groups
    hold for the algorithm, too. The folder is like that of any run: ask, export, apply, compare,
    plot and report take it, and moanon plot A B --out FILE lays it over the front of a search. All
    releases are kept, also those that another one beats.
    """
    from moanon.experiment.baseline import plan_baseline, run_baseline

    planned = plan_baseline(name, config, sets or (), eta=eta, out=out)
    found = run_baseline(name, planned, ks or (), force=force)
    if quiet:
        return
    for text in found.notes:
        note(text)
    show(found)
    show([f"Wrote {planned.output.dir}"])


# -- prove -----------------------------------------------------------------------------------------


@app.command(epilog="Example: moanon prove results/quickstart --k 5 --k 50 --seconds 120")
def prove(
    results: ResultsArgument,
    ks: Annotated[
        list[int] | None,
        given("K", "Prove for this k; may be repeated. Default: the whole front.", "--k", min=1),
    ] = None,
    seconds: Annotated[
        float,
        typer.Option(metavar="S", help="Stop after so much time; a later call continues.", min=0.0),
    ] = _SECONDS,
    gap: Annotated[
        float | None,
        given(
            "X",
            "Leave solutions alone that are proven to be at most so much above the optimum, such "
            "as 1% or 0.01. Default 0: until they are proven to be optimal.",
            parser=share,
        ),
    ] = None,
    data: DataOption = None,
    quiet: QuietOption = False,
) -> None:
    """Prove how far a front is from the best there is.

    For fronts of k and loss with groups suppressed by size: bounds the loss of all valid
    generalizations for each k from below. Better solutions that it comes across join the front,
    whose numbers then change; front.csv gets the columns bound and gap. It can be called again and
    continues where it stopped, also after Ctrl-C. The same amount of work gives the same bounds.
    """
    from moanon.experiment.proving import prove_results
    from moanon.progress import Ending, show_progress

    with Ending(at_once=False) as interrupted, show_progress("prove", quiet=quiet) as display:

        def on_progress(proof: FrontProof) -> None:
            if display is not None:
                record = proof.record()
                at = "" if proof.current is None else f", k {proof.current:,}"
                done = f"{record.bounds:,} bounds{at}, proven optimal"
                display.step(done, record.optimal, record.steps)

        proven = prove_results(
            results,
            data,
            ks=ks or (),
            seconds=seconds,
            gap=gap or 0.0,
            on_progress=on_progress,
            interrupted=interrupted,
        )
    if not quiet:
        for each in proven:
            for text in each.notes:
                note(text)
            show(_proof_words(each, ks or []))
    if interrupted():
        typer.echo(
            f"Interrupted; what was proven is in {on_one_line(str(results))}. Call it again to "
            "continue.",
            err=True,
        )
        raise typer.Exit(128 + interrupted.signal)


def _proof_words(proven: Proven, ks: list[int]) -> Iterator[Part]:
    """Say what is proven of some solutions, and what has changed."""
    from moanon.front import shown

    front = proven.front
    choices = [front.choice(row) for row in range(len(front))]
    listed = choices[:: max(1, -(-len(choices) // _MOST_ROWS))]
    if ks:
        wanted = {min((c.id for c in choices if c.measures["k"] >= k), default=0) for k in ks}
        listed = [choice for choice in choices if choice.id in wanted]
    rows = [
        (
            str(choice.id),
            shown("k", choice.measures["k"]),
            f"{choice.measures['loss']:.5f}",
            "-" if choice.bound is None else f"{choice.bound:.5f}",
            choice.optimality or "nothing is known",
        )
        for choice in listed
    ]
    yield Grid(("solution", "k", "loss", "bound", ""), rows, right=range(4))
    optimal = sum(choice.optimality == "proven optimal" for choice in choices)
    yield (
        f"{proven.folder}: {optimal:,} of {len(choices):,} solutions proven optimal; "
        f"{proven.work:,} bounds computed, {proven.seconds:.0f} s this time"
    )
    points = [
        {*zip(front.measures["k"].tolist(), front.measures["loss"].tolist(), strict=True)}
        for front in (proven.before, proven.front)
    ]
    if new := len(points[1] - points[0]):
        kept = "solution is" if new == 1 else "solutions are"
        yield (
            f"{new:,} better {kept} in the front now; solutions are numbered anew, in the order of "
            "their objectives"
        )
