"""Genomes in pymoo: the problem, and operators whose children are as valid as their parents.

All operators work on whole matrices of genomes, with pymoo's ``random_state`` as their only source
of chance. A column is crossed and mutated on its own, because columns are independent: a genome is
valid exactly if each of its columns is.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pymoo.core.crossover import Crossover
from pymoo.core.duplicate import DuplicateElimination
from pymoo.core.mating import Mating
from pymoo.core.mutation import Mutation
from pymoo.core.problem import Problem
from pymoo.core.sampling import Sampling

from moanon.data.domain import TreeDomain
from moanon.genome import Layout
from moanon.search.moves import Moves
from moanon.search.problem import SearchProblem

__all__ = [
    "ColumnCrossover",
    "FlipMutation",
    "GenomeDuplicates",
    "GenomeMating",
    "GenomeProblem",
    "GenomeSampling",
    "MoveMutation",
    "Unseen",
]

#: Genomes as pymoo hands them around: zeros and ones, or truth values.
Bits = npt.NDArray[Any]
Genomes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]

#: Attempts to find genomes not seen before by chance, before they are listed.
_ATTEMPTS = 8


class GenomeProblem(Problem):  # type: ignore[misc]
    """A search problem as pymoo sees it; a population is one call of the kernel.

    Parameters
    ----------
    problem : SearchProblem
    """

    def __init__(self, problem: SearchProblem) -> None:
        bits, objectives = problem.layout.bits, len(problem.objectives)
        super().__init__(n_var=bits, n_obj=objectives, xl=0, xu=1, vtype=bool)
        self.search = problem

    def _evaluate(self, X: Bits, out: dict[str, Floats], *args: Any, **kwargs: Any) -> None:
        out["F"] = self.search.values(X.astype(np.uint8))


# -- which genomes are new -------------------------------------------------------------------------


def genome_keys(genomes: Bits) -> npt.NDArray[np.bytes_]:
    """One string of bytes for each genome, equal for equal genomes only."""
    # A first bit of 1 keeps the string from being empty where a table has no bits.
    marked = np.ones((len(genomes), genomes.shape[1] + 1), dtype=np.uint8)
    marked[:, 1:] = genomes
    packed = np.packbits(marked, axis=1)
    keys: npt.NDArray[np.bytes_] = packed.view(f"S{packed.shape[1]}")[:, 0]
    return keys


class GenomeDuplicates(DuplicateElimination):  # type: ignore[misc]
    """Drops genomes that are equal to an earlier one or to one of another population."""

    def _do(self, pop: Any, other: Any, is_duplicate: npt.NDArray[np.bool_]) -> Any:
        keys = genome_keys(pop.get("X"))
        if other is not None:
            return is_duplicate | np.isin(keys, genome_keys(other.get("X")))
        _, first = np.unique(keys, return_index=True)
        later = np.ones(len(keys), dtype=bool)
        later[first] = False
        return is_duplicate | later


class Unseen:
    """The valid genomes that have not been evaluated yet.

    Parameters
    ----------
    layout : Layout
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.space = layout.count()
        self._seen: set[bytes] = set()
        self._listing: Iterator[Genomes] = layout.enumerate(self.space)
        self._listed = np.zeros((0, layout.bits), dtype=np.uint8)

    @property
    def left(self) -> int:
        """How many there are."""
        return self.space - len(self._seen)

    @property
    def removed(self) -> int:
        """How many genomes have been evaluated."""
        return len(self._seen)

    def remove(self, genomes: Genomes) -> None:
        """Take note that genomes were evaluated."""
        self._seen.update(genome_keys(genomes).tolist())

    def among(self, genomes: Genomes) -> Genomes:
        """The unseen ones of some genomes in their order, each once."""
        keys = genome_keys(genomes)
        _, first = np.unique(keys, return_index=True)
        first.sort()
        seen = self._seen
        new = np.array([key not in seen for key in keys[first].tolist()], dtype=bool)
        unseen: Genomes = genomes[first[new]]
        return unseen

    def fill(self, genomes: Genomes, number: int, rng: np.random.Generator) -> Genomes:
        """Add samples to distinct unseen genomes until there are `number`.

        Where chance finds no more, genomes are taken in the order of enumeration: fewer than
        `number` are returned only if there are not that many.
        """
        found = genomes
        for _ in range(_ATTEMPTS):
            if len(found) >= number:
                return found[:number]
            samples = self.layout.sample(number, rng)
            found = self.among(np.concatenate([found, samples]))
        return self._list(found, number)

    def _list(self, found: Genomes, number: int) -> Genomes:
        """Add the first unseen genomes of the enumeration, which is gone through once."""
        # A genome leaves the list when it has been evaluated, and only then: the same one may be
        # offered several times.
        self._listed = self.among(self._listed)
        wanted = min(number, self.left)
        filled = self.among(np.concatenate([found, self._listed]))
        while len(filled) < wanted:
            more = self.among(np.stack(list(islice(self._listing, number))))
            self._listed = np.concatenate([self._listed, more])
            filled = self.among(np.concatenate([filled, more]))
        return filled[:number]


# -- operators -------------------------------------------------------------------------------------


class GenomeSampling(Sampling):  # type: ignore[misc]
    """Draws distinct valid genomes: fair bits, and D §6.4's coin at each tree node.

    All genomes are returned where there are fewer than asked for.

    Parameters
    ----------
    layout : Layout
    start : array (genomes, bits), optional
        Distinct genomes that come first.
    """

    def __init__(self, layout: Layout, start: Genomes | None = None) -> None:
        super().__init__()
        self.layout = layout
        self.start = np.zeros((0, layout.bits), dtype=np.uint8) if start is None else start

    def _do(
        self,
        problem: Any,
        n_samples: int,
        *args: Any,
        random_state: np.random.Generator,
        **kwargs: Any,
    ) -> Genomes:
        return Unseen(self.layout).fill(self.start[:n_samples], n_samples, random_state)


class ColumnCrossover(Crossover):  # type: ignore[misc]
    """Crosses two parents column by column, each column at a point of its own (D §6.3).

    Interval and ordered columns have one-point crossover. The ends count as points too, so that a
    column of one bit takes part: it is exchanged or not. In a tree column the point is drawn among
    the boundaries at which *both* parents have a 1 (Lunacek et al.): on either side of it, each
    parent holds whole subtrees. Where the parents have none in common, the column is passed on
    whole.

    Parameters
    ----------
    layout : Layout
    rate : float
        Chance of a mating to be a crossover; otherwise the children equal their parents. pymoo's
        own probability is left at 1, or it would apply on top.
    """

    def __init__(self, layout: Layout, rate: float = 0.9) -> None:
        super().__init__(n_parents=2, n_offsprings=2, prob=1.0)
        self.rate = rate
        widths = layout.sizes - 1
        is_tree = [isinstance(domain, TreeDomain) for domain in layout.domains.values()]
        self._is_tree: npt.NDArray[np.bool_] = np.array(is_tree)
        self._places = widths + 1  # points of one-point crossover, both ends included
        self._starts, self._stops = layout.offsets[:-1], layout.offsets[1:]
        self._column = np.repeat(np.arange(len(widths)), widths)  # of each bit
        self._within = (np.arange(layout.bits) - self._starts[self._column]).astype(np.int32)

    def _do(
        self, problem: Any, X: Bits, *args: Any, random_state: np.random.Generator, **kwargs: Any
    ) -> Bits:
        matings: int = X.shape[1]
        # A bit is exchanged when it has passed the point, which lies behind as many bits of its
        # column (or as many common ones, in a tree) as `passed` says.
        common = np.zeros((matings, X.shape[2] + 1), dtype=np.int32)
        np.cumsum(X[0] & X[1], axis=1, dtype=np.int32, out=common[:, 1:])
        before = common[:, self._starts]
        choices = np.where(self._is_tree, common[:, self._stops] - before, self._places)
        chosen = (random_state.random(choices.shape) * choices).astype(np.int32)
        chosen += np.where(self._is_tree, before + 1, 0)
        passed = np.where(self._is_tree[self._column], common[:, :-1], self._within)
        exchanged = passed >= chosen[:, self._column]
        exchanged &= (random_state.random(matings) < self.rate)[:, None]
        return np.where(exchanged, X[::-1], X)


class FlipMutation(Mutation):  # type: ignore[misc]
    """D's mutation: bits of interval and ordered columns flip; tree columns never change.

    Parameters
    ----------
    layout : Layout
    rate : float
    per : {"bit", "genome"}
        What the rate is a chance of. D says "mutation rate = 0.1" and no more. ``bit`` flips each
        bit with that chance: it is what the rate of a bit string means in the textbooks and in the
        program its authors published with NSGA-II. ``genome`` flips one random bit of a genome with
        that chance.
    """

    def __init__(
        self, layout: Layout, rate: float = 0.1, per: Literal["bit", "genome"] = "bit"
    ) -> None:
        super().__init__()
        self.rate = rate
        self.per = per
        free = [np.zeros(0, dtype=np.int64)]
        for _, domain, place in layout.slices():
            if not isinstance(domain, TreeDomain):
                free.append(np.arange(place.start, place.stop))
        self._free = np.concatenate(free)

    def _do(
        self, problem: Any, X: Bits, *args: Any, random_state: np.random.Generator, **kwargs: Any
    ) -> Bits:
        mutated = X.copy()
        if not len(self._free):
            return mutated
        if self.per == "bit":
            flips = random_state.random((len(X), len(self._free))) < self.rate
        else:
            at = random_state.integers(len(self._free), size=len(X))
            chosen = random_state.random(len(X)) < self.rate
            flips = (np.arange(len(self._free)) == at[:, None]) & chosen[:, None]
        mutated[:, self._free] ^= flips
        return mutated


class MoveMutation(Mutation):  # type: ignore[misc]
    """Small valid moves of any column: boundaries flip or shift, nodes of a tree open or close.

    Parameters
    ----------
    layout : Layout
    rate : float
        Moves of a genome follow the law of as many coins as there are columns, each of which falls
        on a move with this chance. At least one is made: crossover alone soon finds nothing new.
    """

    def __init__(self, layout: Layout, rate: float = 0.1) -> None:
        super().__init__()
        self.rate = rate
        self._moves = Moves(layout)
        self._columns = len(layout.columns)

    def _do(
        self, problem: Any, X: Bits, *args: Any, random_state: np.random.Generator, **kwargs: Any
    ) -> Bits:
        mutated = X.astype(np.uint8)
        least = 1 if self.rate > 0 else 0
        moves = np.maximum(random_state.binomial(self._columns, self.rate, size=len(X)), least)
        for already in range(int(moves.max(initial=0))):
            rows = np.flatnonzero(moves > already)
            mutated[rows] = self._moves.step(mutated[rows], random_state)
        return mutated.astype(X.dtype)


class GenomeMating(Mating):  # type: ignore[misc]
    """Selection, crossover and mutation until there are enough children never evaluated before.

    pymoo would give up in silence where matings bring nothing new. Here samples fill the gap, and
    at last a list of all genomes: fewer children than asked for come only from a space that has no
    more. Genomes become individuals at the very end, once.

    Parameters
    ----------
    selection, crossover, mutation : operators of pymoo
    unseen : Unseen
        Kept up to date by whoever evaluates the children.
    """

    def __init__(self, selection: Any, crossover: Any, mutation: Any, unseen: Unseen) -> None:
        super().__init__(selection, crossover, mutation)
        self.unseen = unseen

    def do(
        self,
        problem: Any,
        pop: Any,
        n_offsprings: int,
        random_state: np.random.Generator,
        **kwargs: Any,
    ) -> Any:
        """Return a population of children, of the same class as their parents."""
        genomes = pop.get("X")
        found = genomes[:0]
        for _ in range(_ATTEMPTS):
            missing = n_offsprings - len(found)
            if missing <= 0:
                break
            parents = self.selection.do(
                problem, pop, -(-missing // 2), 2, to_pop=False, random_state=random_state, **kwargs
            )
            pairs = genomes[parents.T]
            children = self.crossover._do(problem, pairs, random_state=random_state)
            children = np.concatenate(children)
            children = self.mutation._do(problem, children, random_state=random_state)
            found = self.unseen.among(np.concatenate([found, children]))[:n_offsprings]
        return type(pop).new("X", self.unseen.fill(found, n_offsprings, random_state))
