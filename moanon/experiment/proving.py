"""Proofs for the fronts of results folders: better solutions, bounds, and where to go on.

A folder is complete before and after: the front with what was found takes the place of the one
before in one move. Between two calls the open proofs lie in ``proof.npz``, so that a later one goes
on where this one stopped, however it stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from moanon.arrays import Outlined
from moanon.atomic import clear_leftovers
from moanon.errors import ConfigError, SearchError
from moanon.experiment.finished import (
    FinishedRun,
    draw_plots,
    open_run,
    save_run,
    write_eta_table,
    write_page,
)
from moanon.experiment.folder import PROOF, FolderLock, identity_of, with_limits
from moanon.front import Front
from moanon.front.results import check_finished, find_fronts, has_config, read_record
from moanon.measures.evaluate import OnPart
from moanon.proofs.cut_table import check_provable, why_unprovable
from moanon.proofs.front_proof import FrontProof, ProofRecord
from moanon.recoding import GlobalRecodings
from moanon.search.archive import Archive, front_of
from moanon.search.checkpoint import Identity, PacedSaving, read_arrays, write_arrays
from moanon.search.problem import AnonymizationProblem

#: Seconds between two words about how far it is.
_SAY_EVERY = 0.5
#: What ``run.json`` says anew whenever a front is saved.
_RENEWED = ("format", "moanon", "problem", "front", "files")


@dataclass(frozen=True, repr=False)
class Proven(Outlined):
    """What came of proving a front."""

    before: Front  # as it was
    run: FinishedRun  # as it is written now
    # the k for which something better was found, by this call or earlier ones
    better: tuple[int, ...]
    work: int  # bounds computed so far, by earlier calls too
    seconds: float  # of this call
    done: bool  # whether all gaps are as small as wanted
    interrupted: bool
    notes: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Where it is written."""
        return self.run.folder

    @property
    def front(self) -> Front:
        """As it is now."""
        return self.run.front


def prove_front(
    run: FinishedRun,
    *,
    ks: Sequence[int] = (),
    seconds: float | None = None,
    gap: float = 0.0,
    on_progress: Callable[[FrontProof], None] | None = None,
    interrupted: Callable[[], bool] | None = None,
) -> Proven:
    """Prove how far the solutions of a results folder are from the optimum; write what was found.

    Whoever calls it holds the lock of the folder, and has opened it with its table.

    Parameters
    ----------
    ks : sequence of int
        Prove for these k alone; by default for the whole front.
    seconds : float, optional
        Stop after so much time on the clock; by default when all gaps are small enough.
    gap : float
        How far above its bound a solution may be to be left alone.
    on_progress : callable, optional
        Given the proof now and then.
    interrupted : callable, optional
        Asked again and again whether to end here.

    Raises
    ------
    ConfigError
        If nothing can be proven about such a front, with the reason.
    """
    if not 0 <= gap < float("inf"):
        raise ConfigError(f"gap must be a share of at least 0, such as 0.01 or 1%. Got {gap}")
    front, identity, place = run.front, _identity(run), run.folder / PROOF
    proof, notes = _restored(place, partial(FrontProof, front, ks, gap), identity)
    proof.table.warm_up()
    started = said = time.monotonic()
    saving = PacedSaving(lambda state: write_arrays(place, state, identity))
    for _ in proof.advances():
        if on_progress is not None and time.monotonic() - said >= _SAY_EVERY:
            on_progress(proof)
            said = time.monotonic()
        if saving.is_due:
            saving.save(proof.state())
        over = seconds is not None and time.monotonic() - started >= seconds
        if over or (interrupted is not None and interrupted()):
            break
    after = _merged(front, proof)
    after = replace(after, proven=proof.bounds(after))
    written = _write(run, after, proof.work)
    saving.save(proof.state())
    return Proven(
        before=front,
        run=written,
        better=tuple(sorted(proof.better)),
        work=proof.work,
        seconds=time.monotonic() - started,
        done=proof.is_done,
        interrupted=interrupted is not None and interrupted(),
        notes=notes,
    )


def _identity(run: FinishedRun) -> Identity:
    """What the proofs in a folder belong to."""
    assert run.front.instance is not None
    assert run.config is not None
    identity = identity_of(run.config, run.front.instance)
    return with_limits(identity, (run.front.suppression.eta,))


def _restored(
    path: Path, make: Callable[[], FrontProof], identity: Identity
) -> tuple[FrontProof, tuple[str, ...]]:
    """Go on where earlier proofs stopped; say why, where that is not possible."""
    proof = make()
    if not path.exists():
        return proof, ()
    try:
        proof.restore(read_arrays(path, identity))
    except SearchError as error:
        return make(), (f"{error}; proving from the beginning",)
    except (KeyError, ValueError):
        return make(), (f"{path} is of an earlier version of moanon; proving from the beginning",)
    return proof, ()


def _merged(front: Front, proof: FrontProof) -> Front:
    """The front with the better solutions in it, and without those that they beat."""
    assert front.instance is not None
    recodings = front.recodings
    assert isinstance(recodings, GlobalRecodings)
    if not proof.better:
        return front
    problem = AnonymizationProblem(front.instance, front.objectives, front.suppression, 1, {})
    genomes = np.unique(np.concatenate([recodings.genomes, proof.better_genomes()]), axis=0)
    archive = Archive.empty(len(front.objectives), front.instance.layout, len(front) + 100_000)
    archive.add(problem.points(genomes), genomes)
    merged = front_of(problem, archive, cap=100_000)
    return replace(merged, found=max(front.found, len(merged)))


def _write(run: FinishedRun, front: Front, bounds: int) -> FinishedRun:
    """Put a front, proven with so many bounds, in the place of the one before."""
    assert run.config is not None
    kept = {key: value for key, value in run.record.items() if key not in _RENEWED}
    kept["proof"] = ProofRecord.of(front, bounds).to_dict()
    return save_run(run.folder, front, run.config, kept, text=run.text, force=True)


# -- as the end of a run ---------------------------------------------------------------------------


def earlier_proof(run: FinishedRun) -> FrontProof | None:
    """What was proven of the front in a results folder; None where that is nothing.

    An enumeration may have proven what no proof can take up; that is dropped.
    """
    front = run.front
    if front.proven is None or why_unprovable(front) is not None:
        return None
    return _restored(run.folder / PROOF, partial(FrontProof, front), _identity(run))[0]


def keep_proof(run: FinishedRun, proof: FrontProof) -> None:
    """Leave a proof in the results folder of its front, so that later ones go on from there."""
    write_arrays(run.folder / PROOF, proof.state(), _identity(run))


def prove_limits(
    runs: Mapping[float, FinishedRun],
    seconds: float,
    interrupted: Callable[[], bool] | None,
    on_part: OnPart | None = None,
) -> dict[float, FinishedRun]:
    """Prove the fronts that a run has written, each in an equal share of the time.

    `on_part` is called with how many solutions are proven optimal, of how many.
    """

    def show(proof: FrontProof) -> None:
        if on_part is not None:
            record = proof.record()
            on_part(record.optimal, record.steps)

    share = seconds / len(runs)
    return {
        eta: prove_front(run, seconds=share, on_progress=show, interrupted=interrupted).run
        for eta, run in runs.items()
    }


# -- results folders -------------------------------------------------------------------------------


def prove_results(
    results: Path,
    data: Path | None = None,
    *,
    ks: Sequence[int] = (),
    seconds: float | None = None,
    gap: float = 0.0,
    on_progress: Callable[[FrontProof], None] | None = None,
    interrupted: Callable[[], bool] | None = None,
) -> list[Proven]:
    """Prove the front of a results folder, or those of its limits of suppression in turn.

    Figures, pages and tables that the folder holds are made anew. Parameters as of `prove_front`,
    but for the time, of which each of several limits gets the same share; `data` says where the
    table is now, if it has moved.
    """
    paths = find_fronts(results)
    for path in paths:
        check_finished(path)
    lock = FolderLock(paths[0].parent if paths[0].name.startswith("eta-") else results)
    lock.enter()
    try:
        clear_leftovers(results)
        runs = {path: _open(path, data) for path in paths}
        for run in runs.values():
            check_provable(run.front)
        proven: list[Proven] = []
        for run in runs.values():
            if not (proven and proven[-1].interrupted):
                proven.append(
                    prove_front(
                        run,
                        ks=ks,
                        seconds=None if seconds is None else seconds / len(paths),
                        gap=gap,
                        on_progress=on_progress,
                        interrupted=interrupted,
                    )
                )
        _show_anew(results, {**runs, **{each.folder: each.run for each in proven}})
        return proven
    finally:
        lock.leave()


def _open(path: Path, data: Path | None) -> FinishedRun:
    """Open results that a search of ours has made."""
    record = read_record(path)
    if "baseline" in record:
        raise ConfigError(
            f"{path} holds the releases of a baseline, which are no front; prove a front of the "
            "same table, and compare them with it"
        )
    if not has_config(record):
        raise ConfigError(
            f"{path} was saved from Python, without the config.yaml that says what its table is; "
            "prove needs a folder that moanon run has written"
        )
    return open_run(path, data, record=record)


def _show_anew(results: Path, found: Mapping[Path, FinishedRun]) -> None:
    """Make figures, pages and the table of several limits anew, where they are there."""
    runs = [*found.values()]
    if len(runs) > 1:
        write_eta_table(results, {run.front.suppression.eta: run.front for run in runs}, {})
    if any((place / "plots").is_dir() for place in (results, *found)):
        draw_plots(runs, results)
    for place in dict.fromkeys((results, *found)):
        if (place / "report.html").is_file():
            write_page(runs if place == results else [found[place]], place)
