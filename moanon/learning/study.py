"""The study: every anonymization, model and repeat.

Rows are made in the order repeat, anonymization, model, and do not depend on each other: what a
row is follows from the seed, the repeat, the model and the anonymization alone. So it does not
matter how many threads work on them, which were finished before, or which others are asked for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from zlib import crc32

from moanon.arrays import Bools, Outlined
from moanon.errors import ConfigError
from moanon.genome import Instance
from moanon.learning.anonymizations import Anonymization
from moanon.learning.lessons import (
    Lesson,
    ProtocolName,
    check_protocol,
    original_lesson,
    raw_lesson,
    released_lesson,
)
from moanon.learning.models import check_installed, find_model, guess, learn, quietly, score
from moanon.learning.target import Target, derived_seed

#: What is known of an anonymization in a repeat (``model`` is empty), or of a model trained on it;
#: of the table as it is, where its name is empty.
Key = tuple[int, str, str]
Record = Mapping[str, Any]
#: What is stated of the release of all rows, by which whoever made it knows it again.
STATED = ("k", "loss", "suppressed")


@dataclass(frozen=True, eq=False, repr=False)
class Study(Outlined):
    """What is learned from what, how often, and how it is tested.

    Attributes
    ----------
    anonymizations : sequence of Anonymization
        Of one table.
    target : Target
    models : sequence of str
    protocol : {"raw", "released"}
    repeats : int
    test_share : float
    seed : int
    """

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
        check_protocol(self.protocol)
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
        """Work out what is not known yet.

        Parameters
        ----------
        keep : callable
            Called with every new record as it comes, in no particular order.
        known : mapping, optional
            Records of an earlier run.
        threads : int
        stop : callable
            Asked between models; when it says so, what is begun is ended and nothing else begun.

        Returns
        -------
        bool
            Whether all is known now.
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
            return found | {"scores": score(truth, constant).values}
        stated = each.stated()
        release = {name: stated[name] for name in STATED}
        return found | {"release": release, "measures": dict(lesson.measures)}

    def _work(self, lesson: Lesson, model: str, repeat: int) -> Record:
        features, truth = lesson.test
        seed = derived_seed(self.seed, repeat, crc32(model.encode()))
        classes = len(self.target.classes)
        answer = learn(model, seed, lesson.is_category, lesson.training, features, classes)
        return {"scores": score(truth, answer).values}
