"""The study: every anonymization, model and repeat.

Rows are made in the order repeat, anonymization, model, and do not depend on each other: what a
row is follows from the seed, the repeat, the model and the anonymization alone. So it does not
matter how many threads work on them, which were finished before, or which others are asked for.

What it finds is a `StudyOutcome`, three tables:

- ``scores``: one row for each release, model and repeat: k, loss and suppressed rows of the release
  of all rows, scores, and those of the table as it is and of a guess (``learning.csv``);
- ``releases``: one row for each release and repeat: every measure of what was learned from, under
  the protocol ``raw`` training rows alone (``learning_releases.csv``);
- ``drops``: for each release and model the mean over repeats of what is lost of each score.

For every registered loss, every model and every score `which_tell` asks: does the drop grow
with the loss, over the releases of a study? Spearman's correlation asks whether both put the
releases in the same order, Pearson's whether one is a linear function of the other. Losses are
turned so that more is worse; a measure that predicts the drop has a correlation near 1.

Intervals are the middle 95 % of correlations over releases drawn with replacement (bootstrap). Few
releases give wide ones, or, where all agree, none at all: every draw of them agrees, too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, get_args
from zlib import crc32

import numpy as np

from moanon.arrays import Bools, Floats, Outlined
from moanon.errors import ConfigError
from moanon.genome import Instance
from moanon.learning.lessons import (
    Lesson,
    ProtocolName,
    Target,
    derived_seed,
    original_lesson,
    raw_lesson,
    released_lesson,
)
from moanon.learning.models import (
    SCORES,
    check_installed,
    find_model,
    guess,
    learn,
    quietly,
    score,
)
from moanon.measures import find_measure
from moanon.measures.measure import MEASURES
from moanon.release.solution import Anonymization
from moanon.wording import Grid, Part, Worded

if TYPE_CHECKING:
    import pandas as pd

#: What is known of an anonymization in a repeat (``model`` is empty), or of a model trained on it;
#: of the table as it is, where its name is empty.
Key = tuple[int, str, str]
Record = Mapping[str, Any]
#: What is stated of the release of all rows, by which whoever made it knows it again.
STATED = ("k", "loss", "suppressed")
#: Draws of releases, and the percentiles between which most of them lie.
_DRAWS = 1000
_MIDDLE = (2.5, 97.5)
#: With fewer releases nothing can be said.
LEAST_RELEASES = 3
_COLUMNS = (
    "measure",
    "model",
    "score",
    "releases",
    *(f"{kind}{end}" for kind in ("spearman", "pearson") for end in ("", "_low", "_high")),
)


@dataclass(frozen=True, eq=False, repr=False)
class Study(Outlined):
    """What is learned from which anonymizations of one table, how often, and how it is tested."""

    anonymizations: Sequence[Anonymization]
    target: Target
    models: Sequence[str] = ("logistic", "forest", "boosting")
    protocol: ProtocolName = "raw"
    repeats: int = 5
    test_share: float = 0.1
    seed: int = 1
    _instances: dict[int, Instance] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse what cannot be done, before anything is."""
        check_installed()
        if self.protocol not in (known := get_args(ProtocolName)):
            raise ConfigError(f"protocol must be one of {', '.join(known)}. Got {self.protocol!r}")
        for name in self.models:
            find_model(name)
        for what, names in (
            ("model", self.models),
            ("release", [each.name for each in self.anonymizations]),
        ):
            if not names:
                raise ConfigError(f"a study needs at least one {what}. Got none")
            twice = next((name for name in names if list(names).count(name) > 1), None)
            if twice is not None:
                raise ConfigError(f"the {what} {twice} is named twice")
        if self.repeats < 1:
            raise ConfigError(f"repeats must be at least 1. Got {self.repeats}")
        if self.seed < 0:
            raise ConfigError(f"seed must be at least 0. Got {self.seed}")

    @property
    def keys(self) -> list[Key]:
        """All that a finished study has records of, in their order."""
        names = ["", *(each.name for each in self.anonymizations)]
        return [
            (repeat, name, model)
            for repeat in range(self.repeats)
            for name in names
            for model in ("", *self.models)
        ]

    def run(
        self,
        keep: Callable[[Key, Record], None],
        known: Mapping[Key, Record] | None = None,
        *,
        threads: int = 1,
        stop: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Work out what is not known from an earlier run; return whether all is known now.

        `keep` is called with every new record as it comes, in no particular order. `stop` is asked
        between models; when it says so, what is begun is ended and nothing else begun.
        """
        from threadpoolctl import threadpool_limits

        pending: deque[tuple[Key, Future[Record]]] = deque()

        def settle(most: int) -> None:
            while len(pending) > most:
                key, future = pending.popleft()
                keep(key, future.result())

        stopped = False
        # Each model works on one thread: how sums are shared among several would be seen in their
        # last digits. Some libraries take this limit for the process, some for each thread.
        single = partial(threadpool_limits, limits=1)
        with quietly(), single(), ThreadPoolExecutor(threads, initializer=single) as pool:
            for key, work in self._tasks(known or {}, keep):
                if stop():
                    stopped = True
                    break
                settle(2 * threads)
                pending.append((key, pool.submit(work)))
            settle(0)
        return not stopped

    def _tasks(
        self, known: Mapping[Key, Record], keep: Callable[[Key, Record], None]
    ) -> Iterator[tuple[Key, Callable[[], Record]]]:
        """Models to train; what they learn from is made on the way, where a model needs it."""
        for repeat in range(self.repeats):
            self._instances.clear()
            held_out = self.target.held_out(self.test_share, self.seed, repeat)
            for each in (None, *self.anonymizations):
                name = "" if each is None else each.name
                wanted = [m for m in self.models if (repeat, name, m) not in known]
                if not wanted and (repeat, name, "") in known:
                    continue
                lesson = self._lesson(each, held_out)
                if (repeat, name, "") not in known:
                    keep((repeat, name, ""), self._described(each, lesson))
                for model in wanted:
                    yield (repeat, name, model), partial(self._work, lesson, model, repeat)

    def _lesson(self, each: Anonymization | None, held_out: Bools) -> Lesson:
        if each is None:
            return original_lesson(self.anonymizations[0].instance, self.target, held_out)
        if self.protocol == "released":
            return released_lesson(each, self.target, held_out)
        place = id(each.instance)
        if place not in self._instances:
            table = each.instance.table.only(~held_out)
            self._instances[place] = each.instance.over(table)
        return raw_lesson(each, self.target, held_out, self._instances[place])

    def _described(self, each: Anonymization | None, lesson: Lesson) -> Record:
        """What is known of a lesson whatever the model: its rows, measures, and a mere guess."""
        (_, taught), (_, truth) = lesson.training, lesson.test
        found: dict[str, Any] = {"train_rows": len(taught), "test_rows": len(truth)}
        if each is None:
            constant = guess(len(self.target.classes), taught, len(truth))
            return found | {"scores": tuple(score(truth, constant).values())}
        stated = each.measures
        release = {name: stated[name] for name in STATED}
        return found | {"release": release, "measures": dict(lesson.measures)}

    def _work(self, lesson: Lesson, model: str, repeat: int) -> Record:
        features, truth = lesson.test
        seed = derived_seed(self.seed, repeat, crc32(model.encode()))
        classes = len(self.target.classes)
        answer = learn(model, seed, lesson.is_category, lesson.training, features, classes)
        return {"scores": tuple(score(truth, answer).values())}


# -- what a study finds ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class StudyOutcome(Worded, Outlined):
    """All records of a finished study."""

    study: Study
    records: Mapping[Key, Record]

    @cached_property
    def scores(self) -> pd.DataFrame:
        """Scores by release, model and repeat."""
        import pandas as pd

        rows = []
        for repeat, name, model in self.study.keys:
            if not (name and model):
                continue
            lesson = self.records[repeat, name, ""]
            row = {"release": name, "model": model, "repeat": repeat + 1}
            row |= lesson["release"]
            row |= {"train_rows": lesson["train_rows"], "test_rows": lesson["test_rows"]}
            for prefix, key in (
                ("", (repeat, name, model)),
                ("original_", (repeat, "", model)),
                ("constant_", (repeat, "", "")),
            ):
                values = self.records[key]["scores"]
                row |= {f"{prefix}{s}": value for s, value in zip(SCORES, values, strict=True)}
            rows.append(row)
        return pd.DataFrame(rows)

    @cached_property
    def releases(self) -> pd.DataFrame:
        """Measures by release and repeat."""
        import pandas as pd

        rows = []
        for repeat, name, model in self.study.keys:
            if name and not model:
                lesson = self.records[repeat, name, ""]
                row = {"release": name, "repeat": repeat + 1}
                row |= {"train_rows": lesson["train_rows"], "test_rows": lesson["test_rows"]}
                rows.append(row | lesson["measures"])
        return pd.DataFrame(rows)

    @cached_property
    def drops(self) -> pd.DataFrame:
        """Mean drops: scores of the original less those of the release, more being worse."""
        table = self.scores
        lost = table[["release", "model"]].copy()
        for name, more_is_better in SCORES.items():
            difference = table[f"original_{name}"] - table[name]
            lost[name] = difference if more_is_better else -difference
        return lost.groupby(["release", "model"], sort=False).mean().reset_index()

    def to_frame(self) -> pd.DataFrame:
        """Return the scores."""
        return self.scores

    def parts(self, *, everything: bool = False) -> Iterator[Part]:
        """Say the mean AUROC of every release and model, beside that of the original."""
        study, table = self.study, self.scores
        first = table[table["release"] == table["release"].iloc[0]]
        rows = [
            ("original", "", "", *_cells(first, study.models, "original_auroc")),
            ("a guess", "", "", *_cells(first, study.models, "constant_auroc")),
        ]
        for release, of_release in table.groupby("release", sort=False):
            k, loss = of_release[["k", "loss"]].mean()
            known = ("-", "-") if np.isnan([k, loss]).any() else (f"{k:,.0f}", f"{loss:.1%}")
            rows.append((str(release), *known, *_cells(of_release, study.models, "auroc")))
        yield f"AUROC for {study.target.name}, mean (least to largest repeat)"
        headers = ("release", "k", "loss", *study.models)
        yield Grid(headers, rows, right=range(1, len(headers)))


def _cells(table: pd.DataFrame, models: Iterable[str], score: str) -> list[str]:
    """Mean, least and largest score of each model; a dash where there is none."""
    cells = []
    for model in models:
        values = table[table["model"] == model][score]
        spread = f"{values.mean():.3f} ({values.min():.3f} to {values.max():.3f})"
        cells.append("-" if values.isna().all() else spread)
    return cells


def which_tell(outcome: StudyOutcome) -> pd.DataFrame:
    """Correlate every loss with every drop: one row for each measure, model and score.

    Correlations are empty where a measure or a drop is the same for all releases, or there are
    fewer than three.
    """
    import pandas as pd

    return pd.DataFrame(list(_rows(outcome)), columns=_COLUMNS)


def _rows(outcome: StudyOutcome) -> Iterator[dict[str, Any]]:
    measured = outcome.releases.groupby("release", sort=False).mean(numeric_only=True)
    losses = [name for name, each in MEASURES.items() if name in measured and not each.privacy]
    for model, drops in outcome.drops.groupby("model", sort=False):
        drops = drops.set_index("release")
        for name in losses:
            loss = find_measure(name).turned(measured[name])
            for what in SCORES:
                # Where nothing could be released or tested, there is nothing to compare.
                pairs = np.column_stack([loss.reindex(drops.index), drops[what]])
                pairs = pairs[np.isfinite(pairs).all(axis=1)]
                yield {
                    "measure": name,
                    "model": model,
                    "score": what,
                    "releases": len(pairs),
                    **_correlated(pairs, outcome.study.seed),
                }


def _correlated(pairs: Floats, seed: int) -> dict[str, float]:
    """Both correlations of pairs (releases, 2), with their intervals."""
    from scipy.stats import rankdata

    found: dict[str, float] = {}
    if len(pairs) < LEAST_RELEASES:
        return found
    drawn = np.random.default_rng(seed).integers(len(pairs), size=(_DRAWS, len(pairs)))
    samples = np.concatenate([pairs[None], pairs[drawn]])  # all of them, then the draws
    for kind, values in (("spearman", rankdata(samples, axis=1)), ("pearson", samples)):
        all_of_them, *draws = _pearson(values).tolist()
        found[kind] = all_of_them
        usable = np.array(draws)[np.isfinite(draws)]
        if np.isfinite(all_of_them) and len(usable):
            found[f"{kind}_low"], found[f"{kind}_high"] = np.percentile(usable, _MIDDLE).tolist()
    return found


def _pearson(samples: Floats) -> Floats:
    """Pearson's correlation of each sample (samples, releases, 2); NaN where one side is constant.

    What differs by rounding alone is constant.
    """
    centred = samples - samples.mean(axis=1, keepdims=True)
    spread = np.sqrt((centred**2).sum(axis=1))
    varies = spread > 1e-12 * np.abs(samples).max(axis=1)
    product = (centred[..., 0] * centred[..., 1]).sum(axis=1)
    scale = np.where(varies.all(axis=1), spread.prod(axis=1), np.nan)
    return np.asarray(np.clip(product / scale, -1.0, 1.0))
