"""What `moanon learn` examines: results folders, solutions of them, baselines, released files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from moanon.arrays import Floats, Ints, Outlined
from moanon.config import Config
from moanon.data.table import Table
from moanon.engines import open_source
from moanon.errors import ConfigError, DataError
from moanon.experiment.baseline import settings_of
from moanon.experiment.finished import files_of
from moanon.experiment.originals import (
    KnownColumns,
    fronts_in,
    load_fronts,
    read_original,
    refuse_twice,
    solution_of,
)
from moanon.front import Front
from moanon.front.choices import attained_privacy
from moanon.front.landmarks import spans_decades
from moanon.front.results import read_record
from moanon.genome import Instance
from moanon.learning.anonymizations import (
    Anonymization,
    BaselineRelease,
    MatchedFile,
    StoredSolution,
)
from moanon.learning.target import Target
from moanon.release import read_released
from moanon.release.matching import StarredRows

#: Solutions of a front that are examined where nobody names some.
SOLUTIONS = 10


@dataclass(frozen=True, eq=False, repr=False)
class LearningSources(Outlined):
    """Anonymizations of one table, and what is to be learned from them.

    Attributes
    ----------
    anonymizations : tuple of Anonymization
    target : Target
    fingerprints : mapping of str to str
        For each anonymization by name what tells it from another of that name.
    files : tuple of Path
        What they were read from.
    notes : tuple of str
    """

    anonymizations: tuple[Anonymization, ...]
    target: Target
    fingerprints: Mapping[str, str]
    files: tuple[Path, ...]
    notes: tuple[str, ...]

    @property
    def table(self) -> Table:
        """The table of all of them."""
        return self.anonymizations[0].instance.table


def read_sources(
    given: Sequence[str],
    target: str,
    *,
    test_share: float,
    can_make_anew: bool = True,
    solutions: int = SOLUTIONS,
    original: str | None = None,
    known: KnownColumns | None = None,
    stars: StarredRows = "all",
) -> LearningSources:
    """Read anonymizations of one table.

    Parameters
    ----------
    given : sequence of str
        Results folders, of which solutions spread over the front are taken; solutions of them
        (``RESULTS#17``); released files.
    target : str
        The column that is to be predicted.
    test_share : float
        Share of rows that will be held out.
    can_make_anew : bool
        Whether all must be such that they can be made anew of training rows: released files cannot.
    solutions : int
        Most solutions of a folder.
    original, known, stars
        As for `moanon.experiment.originals.read_anonymized`.

    Raises
    ------
    MoanonError
        If something cannot be read, is of another table, or the target cannot be learned.
    """
    if solutions < 1:
        raise ConfigError(f"solutions must be at least 1. Got {solutions}")
    refuse_twice(given)
    wanted = [place for text in given for place in _wanted(text)]
    files = [place for place in wanted if isinstance(place, str)]
    for file in files:
        if not Path(file).is_file():
            raise ConfigError(f"{file} is neither a results folder nor a released file")
    if files and can_make_anew:
        raise ConfigError(
            f"{files[0]} was made of all rows, held-out ones included, and a file does not say how "
            "to make it anew without them; test with released rows (protocol='released')"
        )
    folders = [place[0] for place in wanted if not isinstance(place, str)]
    fronts = load_fronts(folders, original)
    reader = _Reader(target, test_share, solutions, fronts)
    first = next(iter(fronts), None)
    own = None if first is None else Config.load(first / "config.yaml")
    if files:
        reader.read_original(original, known or KnownColumns(), files, own)
    for place in wanted:
        if isinstance(place, str):
            reader.take_file(place, stars, known or KnownColumns())
        else:
            reader.take_front(*place)
    return reader.sources


def _wanted(text: str) -> Iterator[str | tuple[Path, int | None]]:
    """Take apart what is named: a file, or a folder with a solution or none."""
    if fronts := fronts_in(text) if text else ():
        yield from ((front, None) for front in fronts)
        return
    place = solution_of(text)
    yield text if place is None else place


class _Reader:
    """Collects anonymizations, all of one table."""

    def __init__(
        self, target: str, test_share: float, solutions: int, fronts: Mapping[Path, Front]
    ) -> None:
        self._name, self._share, self._most = target, test_share, solutions
        self._fronts = fronts
        self._instances: dict[Path | None, Instance] = {}
        self._target: Target | None = None
        self._found: list[Anonymization] = []
        self._fingerprints: dict[str, str] = {}
        self._files: list[Path] = []
        self._notes: list[str] = []

    @property
    def sources(self) -> LearningSources:
        """All that was taken."""
        assert self._target is not None
        notes = (*self._target.notes, *self._notes)
        files = tuple(dict.fromkeys(self._files))
        return LearningSources(tuple(self._found), self._target, self._fingerprints, files, notes)

    def read_original(
        self,
        source: str | None,
        known: KnownColumns,
        files: Sequence[str],
        own: Config | None,
    ) -> None:
        """Read the table that released files were made of."""
        origin, _ = read_original(source, known, files, own)
        if not isinstance(origin, Instance):
            raise ConfigError(
                f"what the labels of {files[0]} mean must be known to learn from them: give "
                "config=…, or hierarchies=… for every quasi-identifier"
            )
        self._take_instance(None, origin, files[0])

    def take_file(self, path: str, stars: StarredRows, known: KnownColumns) -> None:
        """Take a released file."""
        instance = self._instances[None]
        grouping = read_released(
            path, instance, stars=stars, key=known.key, delimiter=known.delimiter
        )
        if self._name in grouping.absent:
            raise DataError(f"{path} has no column {self._name!r}, so it teaches nothing about it")
        self._notes += grouping.notes
        source = open_source(path, missing_tokens=(), delimiter=known.delimiter)
        columns = frozenset(column.name for column in source.columns)
        self._add(MatchedFile(path, instance, grouping, columns), source.digest)
        self._files += source.files

    def take_front(self, folder: Path, number: int | None) -> None:
        """Take a solution of a results folder, or some that are spread over its front."""
        front = self._fronts[folder]
        assert front.instance is not None  # fronts are loaded with their tables
        if folder not in self._instances:
            self._take_instance(folder, front.instance, str(folder))
            self._files += files_of(folder, front)
        instance, record = self._instances[folder], read_record(folder)
        baseline = record.get("baseline")
        settings = {}
        if baseline is not None:
            settings = settings_of(baseline["name"], Config.load(folder / "config.yaml"))
            asked = {each["solution"]: each["k"] for each in baseline["asked"]}
        text = repr(sorted(record["files"].items()))
        numbers = [number] if number else self._spread(folder, front)
        for chosen in numbers:
            front.row(chosen)  # refused where there is none
            name = f"{folder}#{chosen}"
            each: Anonymization
            if baseline is None:
                each = StoredSolution(name, instance, front, chosen)
            else:
                how = baseline["name"], asked[chosen], settings
                each = BaselineRelease(name, instance, front, chosen, *how)
            self._add(each, hashlib.sha256(f"{text} {chosen}".encode()).hexdigest())

    def _add(self, each: Anonymization, fingerprint: str) -> None:
        if each.name not in self._fingerprints:  # it may be named beside its folder
            self._found.append(each)
            self._fingerprints[each.name] = fingerprint

    def _take_instance(self, place: Path | None, instance: Instance, name: str) -> None:
        table = instance.table
        if self._target is None:
            self._target = Target.of(table, self._name, self._share)
        else:
            Target.of(table, self._name, self._share)  # its role may be another one there
            first = next(iter(self._instances.values())).table
            _refuse_other_table(first, table, name)
        # Every row is looked at, many times.
        instance = instance.over(table.only(np.ones(table.rows, dtype=np.bool_)))
        self._instances[place] = instance.labelled(self._name)

    def _spread(self, folder: Path, front: Front) -> Sequence[int]:
        """Numbers of solutions that are evenly spread over the privacy of a front."""
        if len(front) <= self._most:
            return [int(number) for number in front.ids]
        values = front.measures[attained_privacy(front.objectives)[0]].astype(np.float64)
        if not np.isfinite(values).all():  # a δ, which has no end
            values = front.measures["k"].astype(np.float64)
        chosen = _evenly(np.log(values) if spans_decades(values) else values, self._most)
        self._notes.append(
            f"{folder}: {len(chosen)} of {len(front):,} solutions, spread over the front; name "
            f"others as {folder}#ID, or more with solutions=…"
        )
        return [int(number) for number in front.ids[chosen]]


def _evenly(values: Floats, most: int) -> Ints:
    """Places of at most so many values that are evenly spread from the least to the largest."""
    marks = np.linspace(values.min(), values.max(), most)
    return np.unique([int(np.abs(values - mark).argmin()) for mark in marks])


def _refuse_other_table(first: Table, other: Table, name: str) -> None:
    """Refuse an anonymization of other rows or columns than the first."""
    if other.rows != first.rows or set(other.roles) != set(first.roles):
        raise DataError(
            f"{name} is of a table with {other.rows:,} rows and the columns "
            f"{', '.join(other.roles)}, and the first one has {first.rows:,} and "
            f"{', '.join(first.roles)}; learned from are releases of one table"
        )
    for column in first.roles:
        here, there = first.column(column), other.column(column)
        if here.values != there.values or not np.array_equal(here.codes, there.codes):
            raise DataError(
                f"{name} is of another table: column {column!r} has other values there; learned "
                "from are releases of one table"
            )
        if other.roles[column] is not first.roles[column]:
            raise DataError(
                f"{name} has the role {other.roles[column]} for column {column!r}, and the first "
                f"one {first.roles[column]}; learned from are releases of the same columns"
            )
