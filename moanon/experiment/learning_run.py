"""A study of what can be learned, in a folder: begun, interrupted, resumed, written.

`read_anonymizations` gives what is examined: solutions of folders, baselines, released files.

While it runs, ``learning.unfinished.jsonl`` holds what the study is about and a line for everything
that is known already; a run that was interrupted or killed goes on from there. In the end there are

- ``learning.csv``: scores of each release, model and repeat;
- ``learning_releases.csv``: every measure of what was learned from, by release and repeat;
- ``learning_metrics.csv``: correlations of every loss with the drop;
- ``learning.png``, ``learning_balanced_accuracy.png``, ``learning_metrics.png``, ``learning.html``;
- ``learning.json``: settings, versions, notes, and all records, from which a study can be extended
  by further releases, models or repeats.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from math import isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from moanon import __version__
from moanon.arrays import Outlined
from moanon.atomic import StagedFiles, checked_path
from moanon.data.table import Table
from moanon.engines import open_source
from moanon.errors import ConfigError, DataError, OutputError
from moanon.experiment.anonymizations import KnownColumns, refuse_twice, resolve
from moanon.experiment.baseline import settings_of
from moanon.experiment.finished import FinishedRun
from moanon.experiment.folder import FolderLock, make_folder
from moanon.front.front import attained_privacy
from moanon.front.landmarks import spans_decades
from moanon.genome import Instance
from moanon.learning.lessons import Target
from moanon.learning.study import Key, Record, Study, StudyOutcome, which_tell
from moanon.release.matching import StarredRows
from moanon.release.solution import Anonymization

if TYPE_CHECKING:
    pass

#: Solutions of a front that are examined where nobody names some.
SOLUTIONS = 10
#: To be raised when older records would be misunderstood.
_FORMAT = 2
_RECORD, _UNFINISHED = "learning.json", "learning.unfinished.jsonl"
_TABLES = ("learning.csv", "learning_releases.csv", "learning_metrics.csv")
_PICTURES = ("learning.png", "learning_balanced_accuracy.png", "learning_metrics.png")
_PAGE = "learning.html"
#: What a finished study leaves.
FILES = (*_TABLES, *_PICTURES, _PAGE, _RECORD)
#: What reading a record can come to that somebody wrote by hand.
_UNREADABLE = (LookupError, OSError, TypeError, ValueError)


# -- what is examined ------------------------------------------------------------------------------


def read_anonymizations(
    given: Sequence[str],
    target: str,
    *,
    test_share: float,
    can_make_anew: bool = True,
    solutions: int = SOLUTIONS,
    original: str | None = None,
    known: KnownColumns | None = None,
    stars: StarredRows = "all",
) -> tuple[tuple[Anonymization, ...], Target, tuple[Path, ...], tuple[str, ...]]:
    """Read anonymizations of one table, and what is to be learned from them.

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
        As for `moanon.experiment.anonymizations.resolve`.

    Returns
    -------
    anonymizations, target, files, notes
        The files are those that they were read from.
    """
    if solutions < 1:
        raise ConfigError(f"solutions must be at least 1. Got {solutions}")
    refuse_twice(given)
    known = known or KnownColumns()
    notes: list[str] = []
    tables: list[Table] = []
    targets: list[Target] = []

    def prepare(instance: Instance, name: str) -> Instance:
        table = instance.table
        targets.append(Target.of(table, target, test_share))  # its role may be another one there
        tables.append(table)
        _refuse_other_table(tables[0], table, name)
        # Every row is looked at, many times.
        instance = instance.over(table.only(np.ones(table.rows, dtype=np.bool_)))
        return instance.labelled(target)

    def check_files(files: Sequence[str]) -> None:
        for file in files:
            if not Path(file).is_file():
                raise ConfigError(f"{file} is neither a results folder nor a released file")
        if files and can_make_anew:
            raise ConfigError(
                f"{files[0]} was made of all rows, held-out ones included, and a file does not say "
                "how to make it anew without them; test with released rows (protocol='released')"
            )

    found = resolve(
        given,
        known,
        original=original,
        stars=stars,
        of_folder=lambda run: _spread(run, solutions, notes),
        prepare=prepare,
        check_files=check_files,
    )
    examined, files = [], list(found.files)
    for each in found.anonymizations:
        if each.read is None:
            each = replace(each, made_by=_made_by(each, found.runs[Path(each.source)]))
        else:
            if not each.read.has_meaning:
                raise ConfigError(
                    f"what the labels of {each.name} mean must be known to learn from them: give "
                    "config=…, or hierarchies=… for every quasi-identifier"
                )
            if target in each.read.absent:
                raise DataError(
                    f"{each.name} has no column {target!r}, so it teaches nothing about it"
                )
            notes += each.read.notes
            source = open_source(each.name, missing_tokens=(), delimiter=known.delimiter)
            columns = frozenset(column.name for column in source.columns)
            each = replace(each, columns=columns, fingerprint=source.digest)
            files += source.files
        examined.append(each)
    notes[:0] = targets[0].notes
    return tuple(examined), targets[0], tuple(dict.fromkeys(files)), tuple(notes)


def _made_by(each: Anonymization, run: FinishedRun) -> tuple[str, int, Mapping[str, Any]] | None:
    """The classical algorithm that made a solution, its k and its settings; None for a search."""
    baseline = run.record.get("baseline")
    if baseline is None:
        return None
    assert each.solution is not None
    assert run.config is not None
    asked = {one["solution"]: one["k"] for one in baseline["asked"]}
    return baseline["name"], asked[each.solution.number], settings_of(baseline["name"], run.config)


def _spread(run: FinishedRun, most: int, notes: list[str]) -> list[int]:
    """Numbers of solutions that are evenly spread over the privacy of a front."""
    front, folder = run.front, run.folder
    if len(front) <= most:
        return [int(number) for number in front.ids]
    values = front.measures[attained_privacy(front.objectives)[0]].astype(np.float64)
    if not np.isfinite(values).all():  # a δ, which has no end
        values = front.measures["k"].astype(np.float64)
    values = np.log(values) if spans_decades(values) else values
    marks = np.linspace(values.min(), values.max(), most)
    chosen = np.unique([int(np.abs(values - mark).argmin()) for mark in marks])
    notes.append(
        f"{folder}: {len(chosen)} of {len(front):,} solutions, spread over the front; name others "
        f"as {folder}#ID, or more with solutions=…"
    )
    return [int(number) for number in front.ids[chosen]]


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


# -- the folder ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class LearningRun(Outlined):
    """A study, the files that its anonymizations were read from, and the folder it is written to.

    `known` are records of an earlier run, and those that have been added.
    """

    study: Study
    files: tuple[Path, ...]
    notes: tuple[str, ...]
    folder: Path
    lock: FolderLock
    known: dict[Key, Record] = field(default_factory=dict)

    @classmethod
    def prepare(
        cls,
        study: Study,
        folder: str | Path,
        *,
        files: Sequence[Path] = (),
        notes: Sequence[str] = (),
        resume: bool = False,
        force: bool = False,
    ) -> LearningRun:
        """Look at the folder, lock it, and find where to go on.

        An OutputError if the folder is in use, or holds a study that is neither to be replaced nor
        resumed, or is another one; or if a file would take the place of one that is read.
        """
        place = checked_path(folder, OutputError)
        if resume and force:
            raise OutputError(
                "a study is resumed or replaced: give resume=True or force=True. Got both"
            )
        if os.path.lexists(place) and not place.is_dir():
            raise OutputError(f"{place} is a file; results go into a folder")
        for file in files:
            if file.name in (*FILES, _UNFINISHED) and file.resolve().parent == place.resolve():
                raise OutputError(
                    f"{file} is read here and would be replaced by results; name another folder "
                    "(out=…)"
                )
        lock = FolderLock(place)
        lock.enter()
        try:
            run = cls(study, tuple(files), tuple(notes), place, lock)
            if resume:
                run.known.update(run._earlier())
            elif not force:
                run._check_vacant()
            make_folder(place)
            run._begin()
        except BaseException:
            lock.leave()
            raise
        return run

    @property
    def identity(self) -> dict[str, Any]:
        """What all records depend on."""
        study, table = self.study, self.study.anonymizations[0].instance.table
        return {
            "format": _FORMAT,
            "moanon": __version__,
            "scikit-learn": version("scikit-learn"),
            "table": table.digest,
            "rows": table.rows,
            "target": study.target.name,
            "protocol": study.protocol,
            "test_share": study.test_share,
            "seed": study.seed,
        }

    @property
    def missing(self) -> int:
        """How many records are not known yet."""
        return sum(key not in self.known for key in self.study.keys)

    def run(
        self,
        on_record: Callable[[int, int], None] | None = None,
        *,
        threads: int = 1,
        stop: Callable[[], bool] = lambda: False,
    ) -> StudyOutcome | None:
        """Work out what is not known, and write everything; None where it was interrupted.

        `on_record` is called after each record with how many are known of how many; the rest as for
        `Study.run`.
        """
        started = time.process_time()
        try:
            with (self.folder / _UNFINISHED).open("a", encoding="utf-8") as stream:

                def keep(key: Key, record: Record) -> None:
                    self.known[key] = record
                    stream.write(_line([*key, record]))
                    stream.flush()
                    if on_record is not None:
                        total = len(self.study.keys)
                        on_record(total - self.missing, total)

                done = self.study.run(keep, dict(self.known), threads=threads, stop=stop)
            if not done:
                return None
            outcome = StudyOutcome(self.study, self.known)
            self._write(outcome, time.process_time() - started)
            (self.folder / _UNFINISHED).unlink(missing_ok=True)
        except OSError as error:
            raise OutputError(f"{self.folder} cannot be written to: {error.strerror}") from error
        finally:
            self.lock.leave()
        return outcome

    # -- what is known already ---------------------------------------------------------------------

    def _check_vacant(self) -> None:
        if os.path.lexists(self.folder / _UNFINISHED):
            raise OutputError(
                f"{self.folder} holds an unfinished study; continue it with resume=True, start "
                "anew with force=True, or name another folder (out=…)"
            )
        found = next((name for name in FILES if os.path.lexists(self.folder / name)), None)
        if found is not None:
            raise OutputError(
                f"{self.folder} holds a study already ({found}); extend it with resume=True, "
                "replace it with force=True, or name another folder (out=…)"
            )

    def _earlier(self) -> dict[Key, Record]:
        """Records of a study that was interrupted here, or that is to be extended."""
        try:
            if (self.folder / _UNFINISHED).exists():
                about, records = _read_unfinished(self.folder / _UNFINISHED)
            elif (self.folder / _RECORD).exists():
                found = json.loads((self.folder / _RECORD).read_bytes())
                about, records = found["about"], {_key(r): _record(r[3]) for r in found["records"]}
            else:
                return {}
            identity, fingerprints = dict(about["identity"]), dict(about["releases"])
        except _UNREADABLE:
            raise OutputError(
                f"{self.folder} holds a study that cannot be read any more; start anew with "
                "force=True"
            ) from None
        for what, value in self.identity.items():
            if identity.get(what) != value:
                raise OutputError(
                    f"{self.folder} holds another study ({what} was {identity.get(what)!r} and is "
                    f"{value!r}); start anew with force=True, or name another folder (out=…)"
                )
        for each in self.study.anonymizations:
            if fingerprints.get(each.name, each.fingerprint) != each.fingerprint:
                raise OutputError(
                    f"{each.name} is not what it was when the study in {self.folder} began; start "
                    "anew with force=True, or name another folder (out=…)"
                )
        return records

    def _begin(self) -> None:
        """Write what is known, and what it is about, to a file that grows from here on."""
        path = self.folder / _UNFINISHED
        lines = [_line(self._about()), *(_line([*key, r]) for key, r in self.known.items())]
        with StagedFiles(path, force=True) as staged:
            staged[path].write_text("".join(lines), encoding="utf-8", newline="\n")
            staged.move()

    def _about(self) -> dict[str, Any]:
        marks = {each.name: each.fingerprint for each in self.study.anonymizations}
        return {"identity": self.identity, "releases": marks}

    # -- results -----------------------------------------------------------------------------------

    def _write(self, outcome: StudyOutcome, seconds: float) -> None:
        from moanon.output.figure_files import save_figure  # here: matplotlib is slow
        from moanon.output.studies import learning_html, plot_scores, plot_telling

        metrics = which_tell(outcome)
        tables = dict(zip(_TABLES, (outcome.scores, outcome.releases, metrics), strict=True))
        drawn = (
            plot_scores(outcome, "auroc"),
            plot_scores(outcome, "balanced_accuracy"),
            plot_telling(metrics),
        )
        pictures = dict(zip(_PICTURES, drawn, strict=True))
        paths = [self.folder / name for name in FILES]
        with StagedFiles(*paths, force=True, spared=self.files) as staged:
            for name, table in tables.items():
                table.to_csv(staged[self.folder / name], index=False, lineterminator="\n")
            images = {}
            for name, figure in pictures.items():
                place = staged[self.folder / name]
                save_figure(figure, place, "png")
                images[name] = place.read_bytes()
            page = learning_html(outcome, metrics, self.notes, images)
            staged[self.folder / _PAGE].write_text(page, encoding="utf-8", newline="\n")
            record = json.dumps(self._final(seconds), indent=1, allow_nan=False)
            staged[self.folder / _RECORD].write_text(record + "\n", encoding="utf-8", newline="\n")
            staged.move()

    def _final(self, seconds: float) -> dict[str, Any]:
        study = self.study
        return {
            "about": self._about(),
            "classes": len(study.target.classes),
            "models": list(study.models),
            "repeats": study.repeats,
            "notes": list(self.notes),
            "cpu_seconds": round(seconds, 1),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "records": [[*key, _plain(self.known[key])] for key in sorted(self.known)],
        }


def _line(value: object) -> str:
    return json.dumps(_plain(value), ensure_ascii=True, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    """Write what JSON cannot hold, a number that could not be taken, as nothing."""
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and isnan(value) else value


def _record(read: Mapping[str, Any]) -> Record:
    """A record as it was before it was written."""
    found = dict(read)
    if "scores" in found:
        found["scores"] = tuple(nan if each is None else float(each) for each in found["scores"])
    return found


def _key(line: list[Any]) -> Key:
    repeat, name, model = line[:3]
    return int(repeat), str(name), str(model)


def _read_unfinished(path: Path) -> tuple[dict[str, Any], dict[Key, Record]]:
    """What a growing file is about and holds; its last line may have been cut short."""
    first, *lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    records = {}
    for line in lines:
        if line.endswith("\n"):
            read = json.loads(line)
            records[_key(read)] = _record(read[3])
    return json.loads(first), records
