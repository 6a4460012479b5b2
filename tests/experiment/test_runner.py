"""The runner drives any search: what it takes to add an algorithm, in one call and in a folder."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import moanon
from moanon.arrays import Bits, State
from moanon.experiment import Experiment, plan
from moanon.experiment.finished import changed
from moanon.search.algorithms import ALGORITHMS, Algorithm
from moanon.search.checkpoint import generator_state, restore_generator
from moanon.search.operators import Unseen
from moanon.search.problem import AnonymizationProblem
from moanon.search.running import Search


class Sampling(Search):
    """Evaluates genomes by chance: about all that an algorithm has to say."""

    def __init__(
        self, problem: AnonymizationProblem, population: int, seed: int, room: int
    ) -> None:
        self.problem, self.population = problem, population
        self.archive = self.empty_archive(problem, room)
        self.generation = 0
        self._rng, self._unseen = np.random.default_rng(seed), Unseen(problem.layout)

    @property
    def evaluations(self) -> int:
        return self._unseen.removed

    @property
    def exhausted(self) -> bool:
        return self._unseen.left == 0

    def step(self, most: int | None = None) -> int:
        none: Bits = np.zeros((0, self.problem.layout.bits), dtype=np.uint8)
        genomes = self._unseen.fill(none, self.population, self._rng)[:most]
        self._unseen.remove(genomes)
        self.archive.add(self.problem.points(genomes), genomes)
        self.generation += 1
        return len(genomes)

    def state(self) -> State:
        drawn = {"seen": self._unseen.state(), "generator": generator_state(self._rng)}
        return self.archive.state() | drawn | {"generation": np.array(self.generation)}

    def restore(self, state: State) -> None:
        self.archive.restore(state)
        self._unseen.restore(state["seen"])
        restore_generator(self._rng, state["generator"])
        self.generation = int(state["generation"])


@pytest.fixture
def sampled(config: Path, monkeypatch: pytest.MonkeyPatch) -> moanon.Config:
    """A configuration that asks for it, once it is in the register."""
    module = ModuleType("moanon.search.sampling")
    monkeypatch.setattr(module, "Sampling", Sampling, raising=False)
    monkeypatch.setitem(sys.modules, "moanon.search.sampling", module)
    entry = Algorithm("by chance", ("sampling", "Sampling"), ("population", "seed"))
    monkeypatch.setitem(ALGORITHMS, "sampling", entry)
    (planned,) = plan([config], ["search={population: 20, generations: 4, seed: 2}"], out="a")
    return changed(planned, "search", algorithm="sampling")


def test_a_search_of_ones_own_needs_a_class_and_a_line(sampled: moanon.Config) -> None:
    front = moanon.optimize(sampled, progress=False)
    assert front.measures["k"].max() > 1
    result = Experiment.prepare(sampled).run()
    assert (result.outcome.reason, result.evaluations) == ("generations", 80)
    assert result.front is not None
    assert result.front.to_frame().equals(front.to_frame())


def test_it_is_resumed_for_several_limits(sampled: moanon.Config) -> None:
    several = changed(sampled, "problem", eta=(0.0, 0.1))
    whole = Experiment.prepare(several).run()
    assert (whole.outcome.evaluations, whole.evaluations) == (80, 160)
    begun = changed(several, "output", dir="b")
    asked = count(1)
    Experiment.prepare(begun).run(interrupted=lambda: next(asked) == 3)
    Experiment.prepare(begun, resume=True).run()
    for eta in ("eta-0.0", "eta-0.1"):
        found = (Path(folder, eta, "front.csv").read_bytes() for folder in ("a", "b"))
        assert len({*found}) == 1


# -- boxes -----------------------------------------------------------------------------------------


BOXES = "problem={preset: k-suppression, recoding: local, eta: [0, 0.1]}"


def fronts_of(folder: str) -> list[bytes]:
    return [Path(folder, eta, "front.csv").read_bytes() for eta in ("eta-0.0", "eta-0.1")]


@pytest.mark.parametrize("phase", [1, 2])
def test_boxes_for_several_limits_are_resumed(config: Path, phase: int) -> None:
    sets = [BOXES, "search={}", "columns.age.granularity=2"]
    (whole,) = plan([config], sets, out="a")
    Experiment.prepare(whole).run()
    (begun,) = plan([config], sets, out="b")
    etas: list[float | None] = []
    cut = Experiment.prepare(begun).run(
        lambda progress: etas.append(progress.eta), lambda: len({*etas}) == phase
    )
    assert (cut.outcome.reason, etas[-1]) == ("interrupted", (0.1, 0.0)[phase - 1])
    Experiment.prepare(begun, resume=True).run()
    assert fronts_of("a") == fronts_of("b")


def test_boxes_are_the_same_when_a_limit_is_added(config: Path) -> None:
    sets = ["search={}", "columns.age.granularity=2"]
    (whole,) = plan([config], [BOXES, *sets], out="a")
    result = Experiment.prepare(whole).run()
    for eta in (0.0, 0.1):
        (one,) = plan([config], [BOXES, *sets], etas=[eta], out="b")
        added = Experiment.prepare(one).run()
    assert fronts_of("a") == fronts_of("b")
    assert 0 < added.evaluations < result.evaluations
