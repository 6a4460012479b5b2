"""What an experiment finds in its folder before it begins, and what is to be told about that."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from moanon.config import Config
from moanon.data.alike import alike_note, alike_values
from moanon.data.column import holds_texts
from moanon.data.domain import Domain, IntervalDomain, TreeDomain
from moanon.errors import OutputError, SearchError
from moanon.experiment.folder import RESULTS
from moanon.genome import Instance
from moanon.search.algorithms import foreign_settings
from moanon.search.checkpoint import Checkpoints, State

#: What a checkpoint holds besides the search and what is shared.
_PARTS = {"known", "force", "phase", "courses"}


def load_state(checkpoints: Checkpoints) -> tuple[State | None, list[str]]:
    """Where to go on, and what is to be told about it."""
    loaded = checkpoints.load()
    if loaded is None:
        return None, []
    state, note = loaded
    if not state.keys() >= _PARTS:
        raise SearchError(
            f"{checkpoints.newest.parent} holds a checkpoint that this version does not "
            "understand; start anew with --force"
        )
    return state, [note] if note else []


def still_known(folder: Path, known: Mapping[float, Path], etas: list[float]) -> dict[float, Path]:
    """The results that an interrupted run started from."""
    for eta in etas:
        if eta not in known:
            raise SearchError(
                f"{folder} holds no results for eta {eta} any more, from which its unfinished run "
                "started; start anew with --force"
            )
    return {eta: known[eta] for eta in etas}


def notes_on_folder(
    folder: Path, known: Mapping[float, Path], etas: set[float], *, resume: bool
) -> list[str]:
    """Say what a folder holds that the run starts from, or that there is nothing to go on from."""
    if resume and not known:
        return [f"{folder} holds no checkpoint; starting from the beginning"]
    if known and etas != known.keys():
        had, more = (", ".join(map(str, sorted(some))) for some in (known, etas - known.keys()))
        return [f"{folder} has results for eta {had}; adding {more}, starting from them"]
    return []


def notes_on_settings(config: Config, algorithm: str) -> list[str]:
    """Say which settings the chosen search has no use for."""
    if not (unused := config.search.unused(algorithm)):
        return []
    names, owner = " and ".join(unused), foreign_settings(algorithm)[unused[0]]
    return [f"search: {names} is for {owner}; {algorithm} has no use for it"]


def notes_on_alike(config: Config, instance: Instance, *, examples: bool = False) -> list[str]:
    """Say which columns have values that look the same and are different ones to the search.

    Of sensitive columns and of categories in quasi-identifiers; with examples, which are values of
    the table, only where nobody else reads them.
    """
    mend = "" if config.data.normalize else "; data: {normalize: true} makes such values one"
    table, notes = instance.table, []
    for name in (*table.quasi, *table.sensitive):
        column = table.columns[name]
        if not holds_texts(column) or _has_steps(instance.layout.domains.get(name)):
            continue
        if note := alike_note(name, column.values):
            named = " ({})".format(", ".join(map(ascii, alike_values(column.values)[0][:3])))
            total = len(column.values)
            counted = f", while l and t count {total:,}" if name in table.sensitive else ""
            notes.append(f"{note}{counted}{named if examples else ''}{mend}")
    return notes


def _has_steps(domain: Domain | None) -> bool:
    """Whether the base values of a column are numbers or dates, whatever their texts."""
    return isinstance(domain, IntervalDomain) or (
        isinstance(domain, TreeDomain) and domain.steps is not None
    )


def already(folder: Path) -> OutputError:
    """The refusal of a folder that holds results already."""
    found = next((name for name in RESULTS if (folder / name).exists()), "eta-*")
    return OutputError(
        f"{folder} holds results already ({found}); replace them with --force, or name another "
        "folder with --out"
    )
