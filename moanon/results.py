"""Results folders: whether one can be used, and which fronts lie in it.

A finished run leaves ``run.json``, which is written together with the other files and states their
digests. So a folder without it, or with a checkpoint in it, is not finished; and a file that was
changed later, or comes from another run, is found out. Everything that reads results comes through
here first and refuses such folders with one sentence.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from moanon import __version__
from moanon.errors import DataError

__all__ = [
    "FORMAT",
    "RECORD",
    "check_data",
    "find_fronts",
    "is_part",
    "read_listed",
    "read_object",
    "read_record",
]

#: What results files look like; others are refused. To be raised when an old reader would
#: misunderstand a new file or the other way round.
FORMAT = 2
#: The file that completes a results folder.
RECORD = "run.json"
#: The others, and what else only a run leaves behind.
_OTHERS = ("front.csv", "solutions.json", "config.yaml")
_TRACES = ("front.csv", "solutions.json", ".moanon-*")
_CHECKPOINTS = "checkpoint*.npz"
#: Folders of a run with several suppression limits.
_LIMITS = "eta-*"


def find_fronts(folder: str | Path) -> tuple[Path, ...]:
    """List the folders that hold a front: this one, or those of its suppression limits.

    Nothing is said about whether they can be used; `read_record` does that.
    """
    folder = Path(folder)
    below = [path.parent for path in folder.glob(f"{_LIMITS}/{RECORD}")]
    if (folder / "front.csv").exists() or not below:
        return (folder,)
    return tuple(sorted(below, key=_limit))


def _limit(folder: Path) -> tuple[float, str]:
    """Sort ``eta-0.05`` before ``eta-0.1``, and what is no number last."""
    try:
        return float(folder.name.removeprefix("eta-")), folder.name
    except ValueError:
        return float("inf"), folder.name


def is_part(folder: str | Path, path: str | Path) -> bool:
    """Whether a path is one of the files that make up a results folder."""
    path = Path(path)
    names = [name for name in (RECORD, *_OTHERS) if (Path(folder) / name).exists()]
    return path.exists() and any(path.samefile(Path(folder) / name) for name in names)


def read_record(folder: str | Path) -> dict[str, Any]:
    """Read ``run.json`` of a finished run.

    Raises
    ------
    DataError
        If the folder holds no results, unfinished ones, or those of a moanon whose first two
        version numbers differ from this one's: what a genome or a measure means may have changed.
    """
    folder = Path(folder)
    try:
        _check_finished(folder)
    except OSError as error:
        raise DataError(f"{folder} cannot be read: {error.strerror}") from None
    path = folder / RECORD
    record = read_object(path, _read(path))
    theirs = record.get("moanon", "an unknown version")
    if record.get("format") != FORMAT:
        raise DataError(
            f"{folder} was written by moanon {theirs} in format {record.get('format')}, and this "
            f"is moanon {__version__}, which reads format {FORMAT}; run it again, or use that "
            "version"
        )
    if str(theirs).split(".")[:2] != __version__.split(".")[:2]:
        raise DataError(
            f"{folder} was written by moanon {theirs}, and this is {__version__}, to which its "
            "numbers may mean something else; run it again, or use that version"
        )
    return record


def read_listed(folder: Path, record: Mapping[str, Any], name: str) -> bytes:
    """Read a file of a results folder, if it still is what ``run.json`` says.

    Raises
    ------
    DataError
        If it is gone, or has another digest.
    """
    content = _read(folder / name)
    listed = record.get("files")
    stated = listed.get(name) if isinstance(listed, dict) else None
    if hashlib.sha256(content).hexdigest() != stated:
        raise DataError(
            f"{folder / name} is not the file that {folder / RECORD} belongs to; it was changed, "
            "or is of another run"
        )
    return content


def check_data(folder: str | Path, record: Mapping[str, Any], source: str, digest: str) -> None:
    """Refuse data that are not those of the run.

    Raises
    ------
    DataError
        If ``run.json`` states another digest.
    """
    data = record.get("data")
    stated = data.get("digest") if isinstance(data, dict) else None
    if stated is not None and stated != digest:
        raise DataError(
            f"the front in {folder} belongs to other data than {source} holds now; bring back the "
            "data of the run, or run it again"
        )


def read_object(path: Path, content: bytes) -> dict[str, Any]:
    """Parse the JSON object of a file."""
    try:
        found = json.loads(content)
    except ValueError as error:
        raise DataError(f"{path} is not valid JSON: {error}") from None
    if not isinstance(found, dict):
        raise DataError(f"{path} must hold a JSON object. Got {type(found).__name__}")
    return found


def _check_finished(folder: Path) -> None:
    """Refuse a folder without results, saying what it is instead."""
    wanted = "name a folder that moanon run has written"
    if not folder.exists():
        raise DataError(f"{folder} does not exist; {wanted}")
    if not folder.is_dir():
        inside = folder.name in (RECORD, *_OTHERS)
        raise DataError(
            f"{folder} is a file; {f'name its folder, {folder.parent}' if inside else wanted}"
        )
    if any(folder.glob(_CHECKPOINTS)):
        raise DataError(
            f"{folder} holds an unfinished run; finish it with moanon run and --resume, or run it "
            "again with --force"
        )
    if (folder / RECORD).exists():
        return
    fronts = find_fronts(folder)
    if fronts != (folder,):
        names = ", ".join(path.name for path in fronts)
        raise DataError(
            f"{folder} holds results for several limits ({names}); name one of them, such as "
            f"{fronts[-1]}"
        )
    if any(next(folder.glob(trace), None) for trace in _TRACES):
        raise DataError(
            f"{folder} holds results that are not complete ({RECORD} is missing); run it again "
            "with --force"
        )
    raise DataError(f"{folder} holds no results; {wanted}")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
