"""Which run a results folder holds, whether another one may go there, and that only one does."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import weakref
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from filelock import BaseFileLock, FileLock, Timeout

from moanon.atomic import clear_leftovers
from moanon.config import Config
from moanon.errors import DataError, OutputError, SearchError
from moanon.experiment.finished import search_digest
from moanon.front.results import (
    DOMAINS,
    NO_SOLUTION,
    RECORD,
    find_fronts,
    has_no_solution,
    read_record,
    unfinished,
)
from moanon.genome import Instance
from moanon.recoding import BOXES
from moanon.search.checkpoint import NAMES, Identity

#: The file that is locked while a run is at work.
LOCK = ".lock"
#: Seconds until a lock counts as another run's: it may be that of one that is just ending.
_PATIENCE = 0.1
#: What the system says where there are no locks, or where nothing can be written by any run.
_NO_LOCKS = frozenset(
    getattr(errno, name)
    for name in ("EACCES", "EPERM", "EROFS", "EINVAL", "ENOLCK", "ENOSYS", "ENOTSUP", "EOPNOTSUPP")
)
#: What a finished run leaves; boxes only where its solutions are some.
RESULTS = ("front.csv", "solutions.json", BOXES, "config.yaml", DOMAINS, "run.json")
#: For each limit that a folder has results for: where they are, and their ``run.json``.
Known = dict[float, tuple[Path, Mapping[str, Any]]]
#: Where open proofs lie.
PROOF = "proof.npz"
#: Names of the figures that runs draw (`moanon.output.figure_files`).
FIGURES = frozenset(
    {
        "convergence",
        "diversity",
        "etas",
        "filtered",
        "front",
        "groups",
        "limits",
        "magnified",
        "pairs",
        "seeds",
    }
)

#: What reading a record can come to that somebody wrote by hand.
_UNREADABLE = (
    ArithmeticError,
    DataError,
    LookupError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
)


class FolderLock:
    """The right to write to a results folder, which may not exist yet, for one run at a time.

    The system holds the lock and gives it up when the process ends, however it ends: a run that is
    killed leaves at most an empty file, which stops nobody. Whoever forgets to `leave` does so when
    the lock is no longer referred to.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.entered = False
        # A soft lock is a file that outlives a killed run, and would stop the next one.
        self._lock = FileLock(folder / LOCK, thread_local=False, fallback_to_soft=False)
        weakref.finalize(self, _unlock, self._lock)

    def enter(self) -> None:
        """Lock the folder, made if it does not exist; refused while another run is at work.

        Where a file system knows no locks, or the folder cannot be written to, there is none.
        """
        step = "made"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            step = "locked"
            self._lock.acquire(timeout=_PATIENCE)
        except Timeout:
            raise OutputError(
                f"{self.folder} is in use by another run; wait until it has ended, or name another "
                "folder (out=…)"
            ) from None
        except OSError as error:
            if step == "made" or error.errno not in _NO_LOCKS:
                raise OutputError(
                    f"the folder {self.folder} cannot be {step}: {error.strerror or error}"
                ) from error
        self.entered = True

    def leave(self) -> None:
        """Let others in."""
        self.entered = False
        _unlock(self._lock)


def _unlock(lock: BaseFileLock) -> None:
    """Remove a file that is locked, then unlock it.

    In this order, because whoever has opened the file meanwhile sees that it is gone and takes the
    next one. On Windows, where an open file stays, filelock removes it itself.
    """
    if lock.is_locked:
        with suppress(OSError):
            Path(lock.lock_file).unlink()
        lock.release()


# -- which run it holds --------------------------------------------------------------------------


def identity_of(config: Config, instance: Instance) -> Identity:
    """What the course of a search depends on, but for η; neither its name nor where results go."""
    return Identity(search_digest(config, instance), instance.digest, config.search.seed)


def with_limits(identity: Identity, etas: tuple[float, ...]) -> Identity:
    """The identity of a search for these limits."""
    text = f"{identity.config} {sorted(etas)}"
    return replace(identity, config=hashlib.sha256(text.encode()).hexdigest())


def check_folder(folder: Path, *, resume: bool, force: bool) -> None:
    """Refuse a place that is no folder, or an unfinished run nobody said anything about."""
    if resume and force:
        raise OutputError("a run is resumed or replaced: give resume=True or force=True. Got both")
    if os.path.lexists(folder) and not folder.is_dir():
        raise OutputError(f"{folder} is a file; results go into a folder")
    if resume or force or not _holds_checkpoint(folder):
        return
    if has_no_solution(folder):
        raise OutputError(
            f"{folder} holds {unfinished(folder)}; start anew with force=True, or name another "
            "folder (out=…)"
        )
    raise OutputError(
        f"{folder} holds {unfinished(folder)}; continue with resume=True, start anew with "
        "force=True, name another folder (out=…), or discard it by deleting its checkpoint*.npz"
    )


def spare_inputs(folder: Path, files: Iterable[Path]) -> None:
    """Refuse a folder in which results would take the names of what they are made from."""
    names = {*RESULTS, "comparison.csv"}
    places = [place.resolve() for place in (folder, *folder.glob("eta-*/"))]
    for file in files:
        if file.name in names and file.resolve().parent in places:
            raise OutputError(
                f"{file} is read by this run and would be replaced by its results; name another "
                "folder (out=…)"
            )


def mark_without_solution(folder: Path, why: str | None) -> None:
    """Note that a run has ended without a solution, and why; or, with None, that it has not."""
    path = folder / NO_SOLUTION
    try:
        if why is None:
            path.unlink(missing_ok=True)
        else:
            path.write_text(f"{why}\n", encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror or error}") from error


def _holds_checkpoint(folder: Path) -> bool:
    """Whether a run was interrupted here."""
    return any(os.path.lexists(folder / name) for name in NAMES)


def results_of(folder: Path, identity: Identity) -> Known:
    """For each limit of which a folder holds the results of this very search: where, and run.json.

    An OutputError if it holds those of another one, or incomplete ones.
    """
    found: Known = {}
    for path in find_fronts(folder, partly=True):
        traces = [name for name in RESULTS if os.path.lexists(path / name)]
        if not traces or (_holds_checkpoint(path) and RECORD not in traces):
            continue
        try:
            # With a checkpoint, the end of a run was cut short after its results were written.
            ended = not _holds_checkpoint(path)
            record = read_record(path) if ended else json.loads((path / RECORD).read_bytes())
            eta = float(record["problem"]["suppression"]["eta"])
            if "baseline" in record:  # which has no seed, and nothing to start from
                difference: str | None = f"of the baseline {record['baseline']['name']}"
            else:
                data = record["data"]
                difference = identity.difference(
                    {
                        "versions": record["versions"],
                        "data": data.get("cells_digest", data["digest"]),
                        "key": data.get("key"),
                        "seed": record["seed"],
                        "config": record["config"]["search"],
                    }
                )
        except _UNREADABLE:
            difference = f"its {RECORD} cannot be read"
        if difference is not None:
            raise OutputError(
                f"{path} holds the results of another run ({difference}); replace them with "
                "force=True, or name another folder (out=…)"
            )
        found[eta] = path, record
    return found


def make_folder(folder: Path) -> None:
    """Make a folder, or clear away what a killed write left in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        clear_leftovers(folder)
    except OSError as error:
        raise OutputError(
            f"the folder {folder} cannot be made: {error.strerror or error}"
        ) from error


def clear_results(folder: Path) -> None:
    """Remove the results of a run that has been replaced, and its folder if nothing else is in."""
    clear_pictures(folder)
    for name in (*RESULTS, *NAMES, PROOF, NO_SOLUTION, LOCK):
        (folder / name).unlink(missing_ok=True)
    for place in (folder / "plots", folder):
        if place.is_dir() and not any(place.iterdir()):
            place.rmdir()


def check_vacant(folder: Path) -> None:
    """Refuse a folder in which a run has left anything, finished or not."""
    names = [*RESULTS, *NAMES, *(path.name for path in sorted(folder.glob("eta-*/")))]
    found = next((name for name in names if os.path.lexists(folder / name)), None)
    if found is not None:
        raise already(folder, found)


def clear_others(folder: Path, kept: Iterable[str]) -> None:
    """Remove what earlier runs have left in a folder besides the files that are its results now."""
    clear_pictures(folder)
    for path in folder.glob("eta-*/"):
        clear_results(path)
    left = {*RESULTS, *NAMES, PROOF, NO_SOLUTION, "comparison.csv"}
    for name in left.difference(kept):
        (folder / name).unlink(missing_ok=True)


def clear_pictures(folder: Path) -> None:
    """Remove the page and figures of earlier results; others in the folder are left alone."""
    page = folder / "report.html"
    if page.is_file():
        page.unlink()
    for path in (folder / "plots").glob("*.*"):
        own = path.stem in FIGURES or path.stem.startswith("etas-")
        if own and path.suffix in (".png", ".svg"):
            path.unlink()


# -- what a run finds there ------------------------------------------------------------------------


def still_known(folder: Path, known: Known, etas: list[float]) -> Known:
    """The results to which an interrupted run was adding."""
    for eta in etas:
        if eta not in known:
            raise SearchError(
                f"{folder} holds no results for eta {eta} any more, to which its unfinished run "
                "was adding; start anew with force=True"
            )
    return {eta: known[eta] for eta in etas}


def notes_on_folder(folder: Path, known: Known, etas: set[float], *, resume: bool) -> list[str]:
    """Say what a folder holds besides, or that there is nothing to go on from."""
    if resume and not known:
        return [f"{folder} holds no checkpoint; starting from the beginning"]
    if known and etas:
        had, more = (", ".join(map(str, sorted(some))) for some in (known, etas))
        return [f"{folder} has results for eta {had}, which stay as they are; adding {more}"]
    return []


def already(folder: Path, found: str | None = None) -> OutputError:
    """The refusal of a folder that holds results already."""
    if found is None:
        found = next((name for name in RESULTS if (folder / name).exists()), "eta-*")
    return OutputError(
        f"{folder} holds results already ({found}); replace them with force=True, or name "
        "another folder (out=…)"
    )
