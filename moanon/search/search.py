"""`Search`: what every algorithm is to the code that runs it.

A search goes one generation at a time. Between any two it can be saved, and another one of the same
settings goes on from there. It says itself when it ends, what has to be compiled before, what is
worth doing once at the end, and how what it found becomes a front. So the code that runs a search
never asks which one it is.

It ends at the limits of a `Stop`, and `Hypervolume` is the number that says how good its front is.
A generation is `population` genomes whatever the algorithm, so ``generations: 250`` with
``population: 200`` is 50,000 evaluations. Nothing that decides about the next generation depends on
the clock, except a limit in seconds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import moocore
import numpy as np

from moanon.arrays import Floats, State
from moanon.front import Front
from moanon.measures.evaluate import OnPart
from moanon.search.algorithms import ALL_GENOMES, DEFAULT_EVALUATIONS, SearchSettings
from moanon.search.archive import Archive, front_of
from moanon.search.operators import Moves
from moanon.search.problem import AnonymizationProblem, Scale, scale_of

#: With more objectives a hypervolume takes longer than the search itself.
_MOST_OBJECTIVES = 3


@dataclass(frozen=True)
class Stop:
    """When to stop: at the first of the limits that are set.

    Attributes
    ----------
    generations, evaluations : int, optional
        Limits that a repeated run reaches at the same point.
    seconds : float, optional
        Time on the clock, over all resumptions.
    stall : int, optional
        Generations in which the hypervolume has not grown by more than a millionth.
    stalled : int, optional
        From so many evaluations on, stop when the second half of all evaluations has gained less
        than `STALLED` of the hypervolume.
    """

    generations: int | None = None
    evaluations: int | None = None
    seconds: float | None = None
    stall: int | None = None
    stalled: int | None = None

    @classmethod
    def of(cls, settings: SearchSettings) -> Stop:
        """The limits that settings name."""
        return cls(settings.generations, settings.evaluations, settings.seconds, settings.stall)

    @property
    def is_set(self) -> bool:
        """Whether there is a limit at all."""
        return self != Stop()


# -- the hypervolume -----------------------------------------------------------------------------


class Hypervolume:
    """One number for a whole front: how much of the ideal it reaches.

    Each objective is put on [0, 1], 0 being the best there could be on the table at hand: losses
    and distances as they are (fractions), sizes of groups by their logarithm (from k = 2 to 4 is as
    much a gain as from 200 to 400), diversities by the number of sensitive values, others by the
    largest value that the table allows. The scales depend on the table alone and never on what was
    found, so the numbers of two generations, or of two runs on one table, can be compared. With
    ``[k, loss]`` it is the area under the front in (ln k, 1 - loss) over ln n. Where objectives
    have none, `why_not` says why.
    """

    def __init__(self, problem: AnonymizationProblem) -> None:
        self.why_not: str | None = None
        self._scales: list[Scale] = []
        if len(problem.measures) > _MOST_OBJECTIVES:
            self.why_not = (
                f"the hypervolume is taken of at most {_MOST_OBJECTIVES} objectives. "
                f"Got {len(problem.measures)}"
            )
            return
        for measure in problem.measures:
            scale = scale_of(measure, problem.instance)
            if scale is None:
                self.why_not = f"the range of the objective {measure.name!r} is not known"
                return
            self._scales.append(scale)

    def of(self, values: Floats) -> float | None:
        """Hypervolume of points (rows; smaller is better), in [0, 1]; None where there is none."""
        if self.why_not is not None:
            return None
        if not len(values):
            return 0.0
        costs = [scale(values[:, i]) for i, scale in enumerate(self._scales)]
        places = np.stack(costs, axis=1)
        return float(moocore.hypervolume(places, ref=np.ones(len(costs))))


# -- what every algorithm is -----------------------------------------------------------------------


class Search(ABC):
    """An algorithm; among genomes, unless a subclass says otherwise.

    Attributes
    ----------
    complete : str
        Why it ends when it is exhausted, as part of a sentence.
    is_random : bool
        Whether it draws random numbers: then other seeds find other solutions.
    of_genomes : bool
        Whether its solutions are genomes: then a search that has seen all of them has found the
        best solutions there are.
    keeps_all : bool
        Whether it offers every threshold of every genome that it evaluates to its archive.
    problem : AnonymizationProblem
    archive : Archive
        What it has found so far.
    generation : int
        Steps made so far.
    """

    complete: ClassVar[str] = ALL_GENOMES
    is_random: ClassVar[bool] = True
    of_genomes: ClassVar[bool] = True
    keeps_all: ClassVar[bool] = False

    problem: AnonymizationProblem
    archive: Archive
    generation: int

    # -- before it begins --------------------------------------------------------------------------

    @classmethod
    def stop_rule(cls, settings: SearchSettings, problem: AnonymizationProblem) -> Stop:
        """When it ends: at the limits that settings name, or by default."""
        given = Stop.of(settings)
        return given if given.is_set else cls.default_stop(problem)

    @classmethod
    def default_stop(cls, problem: AnonymizationProblem) -> Stop:
        """When it ends where no limit is named: after the budget of D's runs."""
        return Stop(evaluations=DEFAULT_EVALUATIONS)

    @classmethod
    def warm_up(cls, problem: AnonymizationProblem) -> None:
        """Have everything compiled or loaded that the search needs.

        Kernels are compiled when they are first called, which takes longer than many a search;
        later processes load them from a cache in a moment. The time of a search should not count
        either. Two genomes are evaluated each way; nothing of them is kept, and the search goes as
        without.
        """
        genomes = problem.layout.sample(2, np.random.default_rng(0))
        ways: tuple[Literal["flat", "rollup"], ...] = ("flat", "rollup")
        rule, names, steps = problem.suppression, problem.names, problem.has_steps
        for way in ways:
            problem.evaluator.evaluate(genomes, rule, measures=names, steps=steps, mode=way)
        if cls.is_random:
            Moves(problem.layout).warm_up(genomes)

    @classmethod
    def wants_steps(cls, settings: SearchSettings) -> bool:
        """Whether every step of a genome's staircase is a solution to it, where there are any."""
        return True

    @classmethod
    def empty_archive(cls, problem: AnonymizationProblem, room: int) -> Archive:
        """An archive for what it finds."""
        return Archive.empty(len(problem.objectives), problem.layout, room)

    # -- on its way --------------------------------------------------------------------------------

    @property
    @abstractmethod
    def evaluations(self) -> int:
        """Genomes (or targets) evaluated so far."""

    @property
    def space(self) -> int:
        """Evaluations after which it is exhausted."""
        return self.problem.layout.count()

    @property
    @abstractmethod
    def exhausted(self) -> bool:
        """Whether there is nothing left to evaluate."""

    @abstractmethod
    def step(self, most: int | None = None) -> int:
        """Evaluate one more generation, at most `most` genomes; return how many it was."""

    def refresh(self) -> bool:
        """Go on in another way now that the front has stalled; False where there is none."""
        return False

    def finish(self) -> int:
        """Do what is worth doing once, at the end; return how many genomes were evaluated more."""
        return 0

    @abstractmethod
    def state(self) -> State:
        """Everything the next step depends on."""

    @abstractmethod
    def restore(self, state: State) -> None:
        """Go on from a saved state."""

    # -- what it has found -------------------------------------------------------------------------

    @classmethod
    def front_of(
        cls,
        problem: AnonymizationProblem,
        archive: Archive,
        cap: int,
        on_part: OnPart | None = None,
    ) -> Front:
        """Make the front of an archive: at most `cap` solutions, measured once more.

        Raises
        ------
        InfeasibleError
            If nothing meets the constraints.
        """
        return front_of(problem, archive, cap, on_part)

    def front(self, cap: int, on_part: OnPart | None = None) -> Front:
        """Make the front of what it has found so far; see `front_of`."""
        return self.front_of(self.problem, self.archive, cap, on_part)
