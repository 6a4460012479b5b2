"""Evaluating every valid genome: the exact front of a small space."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
import numpy.typing as npt

from moanon.errors import SearchError
from moanon.search.archive import Archive
from moanon.search.problem import SearchProblem
from moanon.search.state import State

__all__ = ["MOST_GENOMES", "Exhaustive"]

#: Larger spaces are refused: at some 50 µs a genome this is a few minutes.
MOST_GENOMES = 2_000_000


class Exhaustive:
    """Goes through the space in order, a batch at a time.

    Parameters
    ----------
    problem : SearchProblem
    batch : int
        Genomes per step.
    room : int
        Most solutions the archive holds.
    """

    def __init__(self, problem: SearchProblem, batch: int = 1_000, room: int = 100_000) -> None:
        self.problem = problem
        self.space = problem.layout.count()
        if self.space > MOST_GENOMES:
            raise SearchError(
                f"algorithm exhaustive goes through at most {MOST_GENOMES} genomes; this table has "
                f"{self.space}"
            )
        self.batch = batch
        self.archive = Archive.empty(len(problem.objectives), problem.layout.bits, room)
        self.generation = 0
        self.evaluations = 0
        self._genomes: Iterator[npt.NDArray[np.uint8]] = problem.layout.enumerate()

    @property
    def exhausted(self) -> bool:
        """Whether every genome has been evaluated."""
        return self.evaluations >= self.space

    def step(self, most: int | None = None) -> int:
        """Evaluate the next genomes; return how many."""
        wanted = self.batch if most is None else min(self.batch, most)
        batch = list(islice(self._genomes, wanted))
        if batch:
            genomes = np.stack(batch)
            self.archive.add(self.problem.points(genomes), genomes)
        self.evaluations += len(batch)
        self.generation += 1
        return len(batch)

    def inherit(self, archive: Archive, evaluated: npt.NDArray[np.uint8]) -> None:
        """Begin with what other searches have found; every genome is evaluated all the same."""
        self.archive = archive

    def state(self) -> State:
        """The archive and how far the enumeration has come."""
        return {
            "values": self.archive.values,
            "genomes": self.archive.genomes,
            "thresholds": self.archive.thresholds,
            "generation": np.array(self.generation),
            "evaluations": np.array(self.evaluations),
        }

    def restore(self, state: State) -> None:
        """Skip what was evaluated."""
        self.archive.values = state["values"]
        self.archive.genomes = state["genomes"]
        self.archive.thresholds = state["thresholds"]
        self.generation = int(state["generation"])
        self.evaluations = int(state["evaluations"])
        self._genomes = islice(self.problem.layout.enumerate(), self.evaluations, None)
