"""Results folders: whether one can be used, and which fronts lie in it.

A finished run leaves ``run.json``, which is written together with the other files and states their
digests. So a folder without it, or with a checkpoint in it, is not finished; and a file that was
changed later, or comes from another run, is found out. Everything that reads results comes through
here first and refuses such folders with one sentence.

Digests find accidents, not forgers: whoever can write to a folder can also write digests that fit.
What would do most harm is therefore stated twice. The roles of the columns stand in ``config.yaml``
and in ``run.json``, and must agree before anything is released (`check_roles`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from sys import float_info
from typing import TYPE_CHECKING, Any

import numpy as np

from moanon import __version__
from moanon.arrays import Values
from moanon.atomic import checked_path
from moanon.data.domain import NOT_SHOWN
from moanon.data.table import is_kept_as, is_of_counts
from moanon.errors import DataError, GenomeError, got
from moanon.measures import find_measure
from moanon.measures.loss import BOUND, GAP
from moanon.measures.measure import is_number
from moanon.recoding import BOXES, spelled

if TYPE_CHECKING:  # which wait for the compiler
    from moanon.data.table import Table
    from moanon.front.front import Front
    from moanon.genome import Instance

#: What results files look like; others are refused. To be raised when an old reader would
#: misunderstand a new file or the other way round.
FORMAT = 2
#: The file that completes a results folder.
RECORD = "run.json"
#: What the values of the columns are, as it was decided when the table was read.
DOMAINS = "domains.json"
#: The others, and what else only a run leaves behind.
_OTHERS = ("front.csv", "solutions.json", BOXES, "config.yaml", DOMAINS)
_TRACES = ("front.csv", "solutions.json", ".moanon-*")
_CHECKPOINTS = "checkpoint*.npz"
#: Stands beside a checkpoint where the run has ended, and nothing meets its constraints.
NO_SOLUTION = "no-solution.txt"
#: Measures of any table, which answers, figures and releases state.
_NEEDED = ("k", "gl", "sl", "loss", "suppressed")
#: How the folders of a run with several suppression limits begin.
_LIMITS = "eta-"


def find_fronts(folder: str | Path, *, partly: bool = False) -> tuple[Path, ...]:
    """List the folders that hold a front: this one, or those of its suppression limits.

    Whether they can be used is for `read_record` to say. A limit whose results are not complete is
    refused: without it, answers would be about the others alone and nobody would know. With
    `partly` it is left out; a run that goes on writes it anew.
    """
    folder = checked_path(folder, DataError)
    if holds(folder, "front.csv"):
        return (folder,)
    limits = _limits_of(folder)
    for path in limits if not partly else ():
        check_complete(path)
    return tuple(path for path in limits if holds(path, RECORD)) or (folder,)


def holds(folder: Path, name: str) -> bool:
    """Whether a folder holds something of that name; refused if nobody may look."""
    try:
        (folder / name).stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise DataError(f"{folder} cannot be read: {error.strerror}") from None
    return True


def has_no_solution(folder: Path) -> bool:
    """Whether the last run here has ended, and nothing that it found meets its constraints."""
    return holds(folder, NO_SOLUTION) and any(folder.glob(_CHECKPOINTS))


def unfinished(folder: Path) -> str:
    """What a folder with a checkpoint holds, as part of a sentence."""
    if has_no_solution(folder):
        return f"a run that ended without a feasible solution ({NO_SOLUTION} says why)"
    return "an unfinished run"


def check_complete(folder: Path) -> None:
    """Refuse a folder with results in part and nothing to go on from."""
    if holds(folder, RECORD) or any(folder.glob(_CHECKPOINTS)):
        return
    if any(next(folder.glob(trace), None) for trace in _TRACES):
        # The checkpoint of a run for several limits lies above their folders.
        above = folder.name.startswith(_LIMITS) and any(folder.parent.glob(_CHECKPOINTS))
        again = (
            "continue with moanon run and resume=True" if above else "run it again with force=True"
        )
        raise DataError(
            f"{folder} holds results that are not complete ({RECORD} is missing); {again}"
        )


def _limits_of(folder: Path) -> list[Path]:
    """List the folders of suppression limits, the narrowest first."""
    try:
        found = [path for path in folder.iterdir() if path.name.startswith(_LIMITS)]
        return sorted((path for path in found if path.is_dir()), key=_limit)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise DataError(f"{folder} cannot be read: {error.strerror}") from None


def _limit(folder: Path) -> tuple[float, str]:
    """Sort ``eta-0.05`` before ``eta-0.1``, and what is no number last."""
    try:
        return float(folder.name.removeprefix(_LIMITS)), folder.name
    except ValueError:
        return float("inf"), folder.name


def parts_of(folder: str | Path) -> tuple[Path, ...]:
    """The files that make up a results folder."""
    folder = checked_path(folder, DataError)
    return tuple(folder / name for name in (RECORD, *_OTHERS))


def read_record(folder: str | Path, *, at_work: bool = False) -> dict[str, Any]:
    """Read ``run.json`` of a finished run; if asked for, also where a further one is at work.

    Refused are results of a moanon whose first two version numbers differ from this one's: what a
    genome or a measure means may have changed.
    """
    folder = checked_path(folder, DataError)
    if not at_work:
        check_finished(folder)
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
    _check_shape(path, record)
    return record


def _check_shape(path: Path, record: Mapping[str, Any]) -> None:
    """Refuse a record whose parts are not of their kind: somebody changed it, or it is damaged."""
    for names, (is_right, what) in _PARTS.items():
        section, _, key = names.rpartition(".")
        part = record.get(section, {}) if section else record
        if key in part and not is_right(part[key]):
            raise DataError(f"{path} is damaged: {names} must {what}. Got {got(part[key])}")


def _is_object(part: object) -> bool:
    return isinstance(part, dict)


def _is_text(part: object) -> bool:
    return isinstance(part, str)


def _is_count(part: object) -> bool:
    return isinstance(part, int) and is_number(part) and part >= 0


def _names_measures(part: object) -> bool:
    return isinstance(part, list) and bool(part) and all(map(_is_text, part))


def _has_numbers(part: object) -> bool:
    return isinstance(part, dict) and all(
        is_number(bound, float_info.max) for bound in part.values()
    )


def _has_texts(part: object) -> bool:
    return isinstance(part, dict) and all(map(_is_text, part.values()))


#: What the parts of a record must be that anybody relies on, where they are there; an object before
#: what is in it.
_PARTS: dict[str, tuple[Callable[[object], bool], str]] = {
    "config": (_is_object, "be an object"),
    "config.digest": (_is_text, "be a text"),
    "data": (_is_object, "be an object"),
    "data.cells_digest": (_is_text, "be a text"),
    "data.digest": (_is_text, "be a text"),
    "data.key": (_is_text, "be a text"),
    "data.source": (_is_text, "be a text"),
    "files": (_is_object, "be an object"),
    "front": (_is_object, "be an object"),
    "front.found": (_is_count, "be a count"),
    "name": (_is_text, "be a text"),
    "problem": (_is_object, "be an object"),
    "problem.bounds": (_has_numbers, "be an object of numbers"),
    "problem.objectives": (_names_measures, "name measures"),
    "problem.suppression": (_is_object, "be an object"),
    "roles": (_has_texts, "be an object of texts"),
}


def read_listed(folder: Path, record: Mapping[str, Any], name: str) -> bytes:
    """Read a file of a results folder; refused if gone, or other than ``run.json`` says."""
    content = _read(folder / name)
    listed = record.get("files")
    stated = listed.get(name) if isinstance(listed, dict) else None
    if hashlib.sha256(content).hexdigest() != stated:
        raise DataError(
            f"{folder / name} is not the file that {folder / RECORD} belongs to; it was changed, "
            "or is of another run"
        )
    return content


def columns_of(text: str, objectives: Sequence[str]) -> dict[str, Values]:
    """Columns of the text of ``front.csv``: ``id``, objectives, other measures, bounds; each once.

    Those written without a point or exponent are integers.
    """
    header, *rows = (line.split(",") for line in text.splitlines())
    for name in ("id", *_NEEDED, *objectives):
        if name not in header:
            raise ValueError(f"front.csv has no column {name}")
    columns: dict[str, Values] = {}
    for name, *cells in zip(header, *rows, strict=True):
        if name in columns:
            raise ValueError(f"front.csv has two columns {name}")
        whole = name == "id" or (
            name not in (BOUND, GAP)
            and (find_measure(name).range.whole or all(map(str.isdecimal, cells)))
        )
        numbers = [int(cell) if whole else float(cell) for cell in cells]
        columns[name] = np.array(numbers, dtype=np.int64 if whole else np.float64)
        if np.isnan(columns[name]).any():
            raise ValueError(f"front.csv has no number in the column {name}")
    if not rows or not np.array_equal(columns["id"], np.arange(1, len(rows) + 1)):
        raise ValueError("front.csv must number its solutions from 1")
    return columns


def has_config(record: Mapping[str, Any]) -> bool:
    """Whether results come with the configuration that says where their table is.

    Those of a run do; a front that was saved from Python does not, and only Python, where the table
    is at hand, can release a solution of it.
    """
    return "config.yaml" in record.get("files", {})


def check_data(folder: str | Path, record: Mapping[str, Any], table: Table) -> None:
    """Refuse data that are not those of the run: ``run.json`` states another digest."""
    _check_digest(folder, record, table, "digest", table.digest)


def check_table(
    folder: Path,
    record: Mapping[str, Any],
    front: Front,
    instance: Instance,
    rows: Sequence[int],
) -> None:
    """Refuse a table that is not the one the front was found on, or is read otherwise.

    Compared are the labels of the solutions at some places, from 0.
    """
    check_data(folder, record, instance.table)
    # The same data can be read with a hierarchy that was edited since.
    try:
        blocks = front.recodings.take(np.array(rows, dtype=np.int64)).blocks(instance)
    except GenomeError as error:
        raise DataError(
            f"the front in {folder} does not fit the columns as they are read now: {error}; bring "
            "back the hierarchies of the run, or run it again"
        ) from None
    for row, now in zip(rows, spelled(blocks, instance), strict=True):
        for name in now:
            if not _agree(now[name], front.labels[row].get(name, ())):
                raise DataError(
                    f"the front in {folder} does not fit the column {name!r} as it is read now: "
                    f"solution {row + 1} would show other labels; bring back the hierarchies of "
                    "the run, or run it again"
                )
    # Rows of a database must also count as those of the run did.
    if is_of_counts(instance.table.digest):
        _check_digest(folder, record, instance.table, "cells_digest", instance.digest)


def _agree(labels: Sequence[str], stored: Sequence[str]) -> bool:
    """Whether labels are those that were stored, as far as these are shown."""
    return len(labels) == len(stored) and all(
        text in (label, NOT_SHOWN) for label, text in zip(labels, stored, strict=True)
    )


def _check_digest(
    folder: str | Path, record: Mapping[str, Any], table: Table, entry: str, digest: str
) -> None:
    data = record.get("data")
    stated = data if isinstance(data, dict) else {}
    if entry in stated and not is_kept_as(digest, stated[entry], stated.get("key")):
        raise DataError(
            f"the front in {folder} belongs to other data than {table.source} holds now; bring "
            "back the data of the run, or run it again"
        )


def check_roles(folder: str | Path, record: Mapping[str, Any], roles: Mapping[str, str]) -> None:
    """Refuse columns whose roles are not those of the run, which ``run.json`` states, too."""
    stated = record.get("roles")
    if stated is None:
        raise DataError(
            f"{Path(folder) / RECORD} does not state the roles of the columns, and without them "
            "nothing is released; run it again"
        )
    for name in sorted({*stated, *roles}):
        if stated.get(name) != roles.get(name):
            raise DataError(
                f"the column {name!r} is {roles.get(name, 'not declared')} in "
                f"{Path(folder) / 'config.yaml'} and was {stated.get(name, 'not declared')} in the "
                "run; one of its files was changed, so run it again"
            )


def read_object(path: Path, content: bytes) -> dict[str, Any]:
    """Parse the JSON object of a file."""
    try:
        found = json.loads(content)
    except ValueError as error:
        raise DataError(f"{path} is not valid JSON: {error}") from None
    except RecursionError:
        raise DataError(f"{path} is not valid JSON: it is nested too deeply") from None
    if not isinstance(found, dict):
        raise DataError(f"{path} must hold a JSON object. Got {type(found).__name__}")
    return found


def check_finished(folder: Path) -> None:
    """Refuse a folder without results, saying what it is instead."""
    wanted = "name a folder that moanon run has written"
    try:
        if not folder.exists():
            raise DataError(f"{folder} does not exist; {wanted}")
        if not folder.is_dir():
            inside = folder.name in (RECORD, *_OTHERS)
            raise DataError(
                f"{folder} is a file; {f'name its folder, {folder.parent}' if inside else wanted}"
            )
        if any(folder.glob(_CHECKPOINTS)):
            ended = has_no_solution(folder)
            finish = "" if ended else "finish it with moanon run and resume=True, or "
            raise DataError(
                f"{folder} holds {unfinished(folder)}; {finish}run it again with force=True"
            )
        if (folder / RECORD).exists():
            return
    except OSError as error:
        raise DataError(f"{folder} cannot be read: {error.strerror}") from None
    fronts = find_fronts(folder)
    if fronts != (folder,):
        names = ", ".join(path.name for path in fronts)
        raise DataError(
            f"{folder} holds results for several limits ({names}); name one of them, such as "
            f"{fronts[-1]}"
        )
    check_complete(folder)
    raise DataError(f"{folder} holds no results; {wanted}")


def _read(path: Path) -> bytes:
    try:
        return checked_path(path, DataError).read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
