"""pymoo's NSGA-II on whole arrays.

A generation of NSGA-II needs four numbers of each individual. pymoo keeps them in one object per
individual and goes through these one by one, which takes longer than evaluating the genomes. Here a
population has one array per property; selection and survival do on arrays what pymoo's do on
objects, in the same order and with the same draws from the random generator.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.operators.selection.tournament import TournamentSelection
from pymoo.operators.survival.rank_and_crowding import RankAndCrowding

__all__ = ["ArrayNSGA2", "ArrayPopulation", "ArraySurvival", "crowded_tournament"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class ArrayPopulation:
    """A population with one array per property: what NSGA-II needs of pymoo's ``Population``."""

    def __init__(self, **properties: Any) -> None:
        self._properties = properties

    @classmethod
    def new(cls, name: str, values: Any) -> ArrayPopulation:
        """Make a population of which one property is known; usually ``X``, the genomes."""
        return cls(**{name: values})

    def __len__(self) -> int:
        return len(self._properties["X"])

    def __getitem__(self, rows: Any) -> ArrayPopulation:
        return ArrayPopulation(
            **{name: of[rows] if np.ndim(of) else of for name, of in self._properties.items()}
        )

    def get(self, *names: str) -> Any:
        """One property, or several as a tuple."""
        found = tuple(self._properties[name] for name in names)
        return found if len(names) > 1 else found[0]

    def set(self, name: str, values: Any) -> None:
        """Set a property of all individuals; a single value stands for all of them."""
        self._properties[name] = values

    def merge(self, other: ArrayPopulation) -> ArrayPopulation:
        """Both populations' genomes and objectives; ranks do not hold for the whole."""
        return ArrayPopulation(
            **{name: np.concatenate([self.get(name), other.get(name)]) for name in ("X", "F")}
        )


def crowded_tournament(
    pop: Any, P: Ints, *args: Any, random_state: np.random.Generator, **kwargs: Any
) -> Ints:
    """Winners of some pairs: who dominates, else who is less crowded, else by chance.

    As pymoo's ``binary_tournament``, for problems without constraints.
    """
    values, crowding = pop.get("F", "crowding")
    one, other = P.T
    better = (values[one] < values[other]).any(axis=1)
    worse = (values[one] > values[other]).any(axis=1)
    level = better == worse  # neither dominates
    first = np.where(level, crowding[one] > crowding[other], better)
    tied = level & (crowding[one] == crowding[other])
    first[tied] = random_state.integers(0, 2, size=np.count_nonzero(tied)) == 0
    winners: Ints = np.where(first, one, other)
    return winners[:, None]


class ArraySurvival(RankAndCrowding):  # type: ignore[misc]
    """Rank and crowding as in pymoo, for an `ArrayPopulation`.

    Equally crowded individuals survive by chance in both; but pymoo then sorts with a method whose
    order of equals depends on the processor. Here the sort is stable.
    """

    def _do(
        self,
        problem: Any,
        pop: ArrayPopulation,
        *args: Any,
        n_survive: int,
        random_state: np.random.Generator,
        **kwargs: Any,
    ) -> ArrayPopulation:
        values: Floats = pop.get("F")
        rows, ranks, crowdings = [], [], []
        room = n_survive
        for rank, front in enumerate(self.nds.do(values, n_stop_if_ranked=n_survive)):
            crowding = self.crowding_func.do(values[front])
            if len(front) > room:
                shuffled = random_state.permutation(len(front))
                order = shuffled[np.argsort(crowding[shuffled], kind="stable")][::-1][:room]
                front, crowding = front[order], crowding[order]
            rows.append(front)
            ranks.append(np.full(len(front), rank))
            crowdings.append(crowding)
            room -= len(front)
        survivors = pop[np.concatenate(rows)]
        survivors.set("rank", np.concatenate(ranks))
        survivors.set("crowding", np.concatenate(crowdings))
        return survivors


class ArrayNSGA2(NSGA2):  # type: ignore[misc]
    """pymoo's NSGA-II with an `ArrayPopulation`.

    Parameters
    ----------
    **settings
        As for pymoo's class, but for selection and survival, which are given here.
    """

    pop: ArrayPopulation

    def __init__(self, **settings: Any) -> None:
        selection = TournamentSelection(func_comp=crowded_tournament)
        super().__init__(selection=selection, survival=ArraySurvival(), **settings)

    def _initialize_infill(self) -> ArrayPopulation:
        sampling = self.initialization.sampling
        genomes = sampling._do(self.problem, self.pop_size, random_state=self.random_state)
        return ArrayPopulation.new("X", genomes)

    def _advance(self, infills: ArrayPopulation, **kwargs: Any) -> None:
        self.pop = self.survival.do(
            self.problem,
            self.pop.merge(infills),
            n_survive=self.pop_size,
            algorithm=self,
            random_state=self.random_state,
            **kwargs,
        )

    def _set_optimum(self, **kwargs: Any) -> None:
        self.opt = self.pop[self.pop.get("rank") == 0]
