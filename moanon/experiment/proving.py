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
from typing import Any

import numpy as np

from moanon.arrays import Outlined
from moanon.atomic import clear_leftovers
from moanon.config import Config
from moanon.errors import ConfigError, SearchError
from moanon.experiment.finished import (
    draw_plots,
    load_front,
    run_of,
    write_eta_table,
    write_page,
)
from moanon.experiment.folder import PROOF, FolderLock, identity_of, with_limits
from moanon.experiment.stored import domains_texts
from moanon.front import Front
from moanon.front.results import DOMAINS, find_fronts, has_config, read_listed, read_record
from moanon.genome import Instance
from moanon.measures.evaluate import OnPart
from moanon.proofs.front_proof import FrontProof, ProofRecord
from moanon.proofs.provable import check_provable, why_unprovable
from moanon.recoding import GlobalRecodings
from moanon.search.archive import Archive, front_of
from moanon.search.checkpoint import Identity, PacedSaving, read_arrays, write_arrays
from moanon.search.problem import AnonymizationProblem

#: Seconds between two words about how far it is.
_SAY_EVERY = 0.5
#: What a front itself writes; other files of a folder stay as they are.
_TABLE, _SOLUTIONS = "front.csv", "solutions.json"
#: What ``run.json`` says anew whenever a front is saved.
_RENEWED = ("format", "moanon", "problem", "front", "files")


@dataclass(frozen=True)
class ProofProgress:
    """How far the proofs of a front are.

    Attributes
    ----------
    k : int or None
        What is being worked on.
    work : int
        Bounds computed so far, by earlier calls too.
    steps, optimal : int
        Steps of the front, and those whose solution is proven to be optimal.
    """

    k: int | None
    work: int
    steps: int
    optimal: int


@dataclass(frozen=True, repr=False)
class Proven(Outlined):
    """What came of proving a front.

    Attributes
    ----------
    folder : Path
    before, front : Front
        As it was, and as it is written now.
    better : tuple of int
        The k for which something better was found, by this call or earlier ones.
    work : int
        Bounds computed so far.
    seconds : float
        Of this call.
    done : bool
        Whether all gaps are as small as wanted.
    interrupted : bool
    notes : tuple of str
    """

    folder: Path
    before: Front
    front: Front
    better: tuple[int, ...]
    work: int
    seconds: float
    done: bool
    interrupted: bool
    notes: tuple[str, ...]


def prove_front(
    folder: Path,
    front: Front,
    *,
    ks: Sequence[int] = (),
    seconds: float | None = None,
    gap: float = 0.0,
    on_progress: Callable[[ProofProgress], None] | None = None,
    interrupted: Callable[[], bool] | None = None,
) -> Proven:
    """Prove how far the solutions of a results folder are from the optimum; write what was found.

    Whoever calls it holds the lock of the folder.

    Parameters
    ----------
    folder : Path
        With a ``config.yaml``, as a run leaves it.
    front : Front
        Of that folder, with its table.
    ks : sequence of int
        Prove for these k alone; by default for the whole front.
    seconds : float, optional
        Stop after so much time on the clock; by default when all gaps are small enough.
    gap : float
        How far above its bound a solution may be to be left alone.
    on_progress : callable, optional
    interrupted : callable, optional
        Asked again and again whether to end here.

    Raises
    ------
    ConfigError
        If nothing can be proven about such a front, with the reason.
    """
    if not 0 <= gap < float("inf"):
        raise ConfigError(f"gap must be a share of at least 0, such as 0.01 or 1%. Got {gap}")
    identity = _identity(folder, front)
    proof, notes = _restored(folder / PROOF, partial(FrontProof, front, ks, gap), identity)
    proof.table.warm_up()
    started = said = time.monotonic()
    saving = PacedSaving(lambda state: write_arrays(folder / PROOF, state, identity))
    for _ in proof.advances():
        if on_progress is not None and time.monotonic() - said >= _SAY_EVERY:
            on_progress(_progress(proof))
            said = time.monotonic()
        if saving.is_due:
            saving.save(proof.state())
        over = seconds is not None and time.monotonic() - started >= seconds
        if over or (interrupted is not None and interrupted()):
            break
    after = _merged(front, proof)
    after = replace(after, proven=proof.bounds(after))
    _write(folder, after, proof.work)
    saving.save(proof.state())
    return Proven(
        folder=folder,
        before=front,
        front=after,
        better=tuple(sorted(proof.better)),
        work=proof.work,
        seconds=time.monotonic() - started,
        done=proof.is_done,
        interrupted=interrupted is not None and interrupted(),
        notes=notes,
    )


def _identity(folder: Path, front: Front) -> Identity:
    """What the proofs in a folder belong to."""
    assert front.instance is not None
    config = Config.load(folder / "config.yaml")
    return with_limits(identity_of(config, front.instance), (front.suppression.eta,))


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


def _progress(proof: FrontProof) -> ProofProgress:
    record = proof.record()
    return ProofProgress(proof.current, record.bounds, record.steps, record.optimal)


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


def _write(folder: Path, front: Front, bounds: int) -> None:
    """Put a front in the place of the one before, with all else that the folder says.

    It was proven with so many bounds.
    """
    record: dict[str, Any] = read_record(folder)
    others = [name for name in record["files"] if name not in (_TABLE, _SOLUTIONS)]
    texts = {name: read_listed(folder, record, name).decode() for name in others}
    if DOMAINS in texts:  # what is found to be better may show more
        texts |= domains_texts(front)
    kept = {key: value for key, value in record.items() if key not in _RENEWED}
    kept["proof"] = ProofRecord.of(front, bounds).to_dict()
    front.save(folder, record=kept, texts=texts, force=True)


# -- as the end of a run ---------------------------------------------------------------------------


def earlier_proof(folder: Path, instance: Instance) -> FrontProof | None:
    """What was proven of the front in a results folder; None where that is nothing.

    A run that adds a limit is at work there. An enumeration may have proven what no proof can take
    up; that is given up.
    """
    front = Front.of_record(folder, read_record(folder, at_work=True), instance)
    if front.proven is None or why_unprovable(front) is not None:
        return None
    identity = _identity(folder, front)
    return _restored(folder / PROOF, partial(FrontProof, front), identity)[0]


def keep_proof(folder: Path, front: Front, proof: FrontProof) -> None:
    """Leave a proof in the results folder of its front, so that later ones go on from there."""
    write_arrays(folder / PROOF, proof.state(), _identity(folder, front))


def prove_limits(
    places: Mapping[float, Path],
    fronts: Mapping[float, Front],
    seconds: float,
    interrupted: Callable[[], bool] | None,
    on_part: OnPart | None = None,
) -> dict[float, Front]:
    """Prove the fronts that a run has written, each in an equal share of the time.

    `on_part` is called with how many solutions are proven optimal, of how many.
    """

    def show(progress: ProofProgress) -> None:
        if on_part is not None:
            on_part(progress.optimal, progress.steps)

    proven = {}
    for eta, place in places.items():
        found = prove_front(
            place,
            fronts[eta],
            seconds=seconds / len(places),
            on_progress=show,
            interrupted=interrupted,
        )
        proven[eta] = found.front
    return proven


# -- results folders -------------------------------------------------------------------------------


def prove_results(
    results: Path,
    data: Path | None = None,
    *,
    ks: Sequence[int] = (),
    seconds: float | None = None,
    gap: float = 0.0,
    on_progress: Callable[[ProofProgress], None] | None = None,
    interrupted: Callable[[], bool] | None = None,
) -> list[Proven]:
    """Prove the front of a results folder, or those of its limits of suppression in turn.

    Figures, pages and tables that the folder holds are made anew. Parameters as of `prove_front`,
    but for the time, of which each of several limits gets the same share; `data` says where the
    table is now, if it has moved.

    Raises
    ------
    MoanonError
        As of `prove_front` and `load_front`; if another run is at work in the folder.
    """
    paths = find_fronts(results)
    for path in paths:
        _check_origin(path)
    lock = FolderLock(paths[0].parent if paths[0].name.startswith("eta-") else results)
    lock.enter()
    try:
        clear_leftovers(results)
        fronts = {path: load_front(path, data) for path in paths}
        for front in fronts.values():
            check_provable(front)
        proven: list[Proven] = []
        for path, front in fronts.items():
            if not (proven and proven[-1].interrupted):
                share = None if seconds is None else seconds / len(paths)
                proven.append(
                    prove_front(
                        path,
                        front,
                        ks=ks,
                        seconds=share,
                        gap=gap,
                        on_progress=on_progress,
                        interrupted=interrupted,
                    )
                )
        _show_anew(results, {**fronts, **{each.folder: each.front for each in proven}})
        return proven
    finally:
        lock.leave()


def _check_origin(path: Path) -> None:
    """Refuse results that no search of ours has made."""
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


def _show_anew(results: Path, fronts: Mapping[Path, Front]) -> None:
    """Make figures, pages and the table of several limits anew, where they are there."""
    runs = [run_of(path, front) for path, front in fronts.items()]
    if len(runs) > 1:
        texts = {"config.yaml": (results / "config.yaml").read_text(encoding="utf-8")}
        write_eta_table(results, {run.front.suppression.eta: run.front for run in runs}, texts)
    if any((place / "plots").is_dir() for place in (results, *fronts)):
        draw_plots(runs, results)
    for place in dict.fromkeys((results, *fronts)):
        if (place / "report.html").is_file():
            write_page(runs if place == results else [run_of(place, fronts[place])], place)
