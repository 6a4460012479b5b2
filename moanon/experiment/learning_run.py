"""A study of what can be learned, in a folder: begun, interrupted, resumed, written.

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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from math import isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moanon import __version__
from moanon.arrays import Outlined
from moanon.atomic import StagedFiles, checked_path
from moanon.errors import OutputError
from moanon.experiment.folder import FolderLock, make_folder
from moanon.experiment.learning_sources import LearningSources
from moanon.learning.outcome import StudyOutcome, which_tell
from moanon.learning.study import Key, Record, Study

if TYPE_CHECKING:
    import pandas as pd

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


@dataclass(frozen=True, eq=False, repr=False)
class LearningRun(Outlined):
    """A study and the folder it is written to.

    Attributes
    ----------
    study : Study
    sources : LearningSources
    folder : Path
    known : dict
        Records of an earlier run, and those that have been added.
    """

    study: Study
    sources: LearningSources
    folder: Path
    lock: FolderLock
    known: dict[Key, Record] = field(default_factory=dict)

    @classmethod
    def prepare(
        cls,
        study: Study,
        sources: LearningSources,
        folder: str | Path,
        *,
        resume: bool = False,
        force: bool = False,
    ) -> LearningRun:
        """Look at the folder, lock it, and find where to go on.

        Raises
        ------
        OutputError
            If the folder is in use, or holds a study that is neither to be replaced nor resumed, or
            is another one; if a file would take the place of one that is read.
        """
        place = checked_path(folder, OutputError)
        if resume and force:
            raise OutputError(
                "a study is resumed or replaced: give resume=True or force=True. Got both"
            )
        if os.path.lexists(place) and not place.is_dir():
            raise OutputError(f"{place} is a file; results go into a folder")
        for file in sources.files:
            if file.name in (*FILES, _UNFINISHED) and file.resolve().parent == place.resolve():
                raise OutputError(
                    f"{file} is read here and would be replaced by results; name another folder "
                    "(out=…)"
                )
        lock = FolderLock(place)
        lock.enter()
        try:
            run = cls(study, sources, place, lock)
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
        study, table = self.study, self.sources.table
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

        Parameters
        ----------
        on_record : callable, optional
            Told how many records are known of how many, after each.
        threads, stop
            As for `Study.run`.
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
        for name, mark in self.sources.fingerprints.items():
            if fingerprints.get(name, mark) != mark:
                raise OutputError(
                    f"{name} is not what it was when the study in {self.folder} began; start anew "
                    "with force=True, or name another folder (out=…)"
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
        return {"identity": self.identity, "releases": dict(self.sources.fingerprints)}

    # -- results -----------------------------------------------------------------------------------

    def _write(self, outcome: StudyOutcome, seconds: float) -> None:
        from moanon.output.figure_files import save_figure  # here: matplotlib is slow
        from moanon.output.page import learning_html
        from moanon.output.release_figures import plot_scores, plot_telling

        metrics = which_tell(outcome)
        tables = dict(zip(_TABLES, (outcome.scores, outcome.releases, metrics), strict=True))
        drawn = (
            plot_scores(outcome, "auroc"),
            plot_scores(outcome, "balanced_accuracy"),
            plot_telling(metrics),
        )
        pictures = dict(zip(_PICTURES, drawn, strict=True))
        paths = [self.folder / name for name in FILES]
        with StagedFiles(*paths, force=True, spared=self.sources.files) as staged:
            for name, table in tables.items():
                staged[self.folder / name].write_text(_csv(table), encoding="utf-8", newline="\n")
            images = {}
            for name, figure in pictures.items():
                place = staged[self.folder / name]
                save_figure(figure, place, "png")
                images[name] = place.read_bytes()
            page = learning_html(outcome, metrics, self.sources.notes, images)
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
            "notes": list(self.sources.notes),
            "cpu_seconds": round(seconds, 1),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "records": [[*key, _plain(self.known[key])] for key in sorted(self.known)],
        }


def _csv(table: pd.DataFrame) -> str:
    text: str = table.to_csv(index=False, lineterminator="\n")
    return text


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
