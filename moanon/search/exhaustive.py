"""Evaluating every valid genome: the exact front of a small space."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from moanon.arrays import Bits
from moanon.errors import SearchError
from moanon.search.archive import Archive
from moanon.search.checkpoint import State
from moanon.search.problem import SearchProblem

#: Larger spaces are refused: at some 50 µs a genome this is a few minutes.
MOST_GENOMES = 2_000_000


class ExhaustiveSearch:
    """Goes through the space in order, a batch at a time.

    Parameters
    ----------
    problem : SearchProblem
    population : int
        Genomes evaluated in each generation.
    room : int
        Most solutions the archive holds.
    """

    def __init__(
        self, problem: SearchProblem, population: int = 1_000, room: int = 100_000
    ) -> None:
        self.problem = problem
        self.space = problem.layout.count()
        if self.space > MOST_GENOMES:
            raise SearchError(
                f"algorithm exhaustive goes through at most {MOST_GENOMES} genomes; this table has "
                f"{self.space}"
            )
        self.population = population
        self.archive = Archive.empty(len(problem.objectives), problem.layout.bits, room)
        self.generation = 0
        self.evaluations = 0
        self._genomes: Iterator[Bits] = problem.layout.enumerate()

    @property
    def exhausted(self) -> bool:
        """Whether every genome has been evaluated."""
        return self.evaluations >= self.space

    def step(self, most: int | None = None) -> int:
        """Evaluate the next genomes; return how many."""
        wanted = self.population if most is None else min(self.population, most)
        batch = list(islice(self._genomes, wanted))
        if batch:
            genomes = np.stack(batch)
            self.archive.add(self.problem.points(genomes), genomes)
        self.evaluations += len(batch)
        self.generation += 1
        return len(batch)

    def inherit(self, archive: Archive, evaluated: Bits) -> None:
        """Begin with what other searches have found; every genome is evaluated all the same."""
        self.archive = archive

    def state(self) -> State:
        """The archive and how far the enumeration has come."""
        return self.archive.state() | {
            "generation": np.array(self.generation),
            "evaluations": np.array(self.evaluations),
        }

    def restore(self, state: State) -> None:
        """Skip what was evaluated."""
        self.archive.restore(state)
        self.generation = int(state["generation"])
        self.evaluations = int(state["evaluations"])
        self._genomes = islice(self.problem.layout.enumerate(), self.evaluations, None)
