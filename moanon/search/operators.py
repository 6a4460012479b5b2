"""How genomes are made: the first ones, small moves, crossover and mutation, and which are new.

All operators work on whole matrices of genomes, with the generator they are given as their only
source of chance. A column is crossed and mutated on its own, because columns are independent: a
genome is valid exactly if each of its columns is. So children are as valid as their parents.

What plugs into pymoo is a class of pymoo: `ValidSampling`, `LunacekCrossover`, `ValidMutation` and
`BitDuplicates`, which take a population as a matrix of bools.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pymoo.core.crossover import Crossover
from pymoo.core.duplicate import DuplicateElimination
from pymoo.core.mutation import Mutation
from pymoo.core.sampling import Sampling

from moanon.arrays import Bits, Bools, Ints
from moanon.data.domain import Domain, TreeDomain
from moanon.data.hierarchy import Hierarchy
from moanon.errors import SearchError
from moanon.genome import Layout
from moanon.kernels.cuts import TreeNodes, keep_movable, move_boundaries, move_cuts

if TYPE_CHECKING:
    from moanon.search.problem import AnonymizationProblem

#: Of a first population, this share are full-domain genomes.
SEED_SHARE = 0.25
#: Attempts to find genomes not seen before by chance, before they are listed.
ATTEMPTS = 8
#: Bytes by which genomes are distinguished.
_KEY = 16
#: Chance that a boundary moves to any other place of its column.
_FAR = 0.4


def first_genomes(layout: Layout, number: int, rng: np.random.Generator) -> Bits:
    """Return the two ends of the space and a sample of `number` full-domain genomes.

    A full-domain genome takes one whole level of every column. Genomes may repeat.
    """
    ends = np.repeat(np.array([[0], [1]], dtype=np.uint8), layout.bits, axis=1)
    parts = [np.zeros((number, 0), dtype=np.uint8)]
    for domain in layout.domains.values():
        levels = np.stack(domain.full_domain())
        parts.append(levels[rng.integers(len(levels), size=number)])
    return np.concatenate([ends, np.concatenate(parts, axis=1)])


# -- which genomes are new -------------------------------------------------------------------------


def keys_of(packed: Bits) -> list[bytes]:
    """What distinguishes packed genomes: at most 16 bytes each, however long they are.

    Longer ones are represented by a digest. Two different ones of a billion have the same with a
    chance of 1 in 10^20; one of them would then never be evaluated.
    """
    if not packed.size:
        return [b""] * len(packed)
    rows: list[bytes] = np.ascontiguousarray(packed).view(f"V{packed.shape[1]}")[:, 0].tolist()
    if packed.shape[1] <= _KEY:
        return rows
    return [blake2b(row, digest_size=_KEY).digest() for row in rows]


def new_among(keys: list[bytes], known: set[bytes]) -> Ints:
    """Places of the keys that are not known, each key once."""
    first: dict[bytes, int] = {}
    for place, key in enumerate(keys):
        if key not in known:
            first.setdefault(key, place)
    return np.fromiter(first.values(), dtype=np.int64, count=len(first))


def saved_keys(known: set[bytes]) -> Bits:
    """Keys as an array, in an order of their own; `loaded_keys` takes them from there."""
    width = len(next(iter(known), b""))
    return np.frombuffer(b"".join(sorted(known)), np.uint8).reshape(len(known), width)


def loaded_keys(state: Bits) -> set[bytes]:
    """What was saved."""
    return {row.tobytes() for row in state}


class Unseen:
    """The valid genomes that have not been evaluated yet."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.space = layout.count()
        self._seen: set[bytes] = set()
        self._listing: Iterator[Bits] | None = None  # made when it is needed: it cannot be copied
        self._listed = np.zeros((0, layout.bits), dtype=np.uint8)

    @property
    def left(self) -> int:
        """How many there are."""
        return self.space - len(self._seen)

    @property
    def removed(self) -> int:
        """How many genomes have been evaluated."""
        return len(self._seen)

    def remove(self, genomes: Bits) -> None:
        """Take note that genomes were evaluated."""
        self._seen.update(keys_of(self.layout.pack(genomes)))

    def among(self, genomes: Bits) -> Bits:
        """The unseen ones of some genomes in their order, each once."""
        unseen: Bits = genomes[self.new_among(genomes)]
        return unseen

    def new_among(self, genomes: Bits) -> Ints:
        """Rows of the unseen ones of some genomes, each once."""
        return new_among(keys_of(self.layout.pack(genomes)), self._seen)

    def fill(self, genomes: Bits, number: int, rng: np.random.Generator) -> Bits:
        """Add samples to distinct unseen genomes until there are `number`.

        Where chance finds no more, genomes are taken in the order of enumeration: fewer than
        `number` are returned only if there are not that many.
        """
        found = genomes
        for _ in range(ATTEMPTS):
            if len(found) >= number:
                return found[:number]
            samples = self.layout.sample(number, rng)
            found = self.among(np.concatenate([found, samples]))
        return self.fill_in_order(found, number)

    def fill_in_order(self, genomes: Bits, number: int) -> Bits:
        """Add the first unseen genomes of the enumeration, which is made once."""
        # A genome leaves the list when it has been evaluated, and only then: the same one may be
        # offered several times.
        self._listed = self.among(self._listed)
        wanted = min(number, self.left)
        if self._listing is None:
            self._listing = self.layout.enumerate(self.space)
        filled = self.among(np.concatenate([genomes, self._listed]))
        while len(filled) < wanted:
            more = self.among(np.stack(list(islice(self._listing, number))))
            self._listed = np.concatenate([self._listed, more])
            filled = self.among(np.concatenate([filled, more]))
        return filled[:number]

    def state(self) -> Bits:
        """The genomes that have been evaluated, in an order of their own."""
        return saved_keys(self._seen)

    def restore(self, state: Bits) -> None:
        """Go on from a saved state."""
        self._seen = loaded_keys(state)


# -- small moves -----------------------------------------------------------------------------------


class Moves:
    """Small changes that keep a genome valid, for many genomes at once.

    D mutates unconstrained columns only, so a cut of a tree that is lost from the population never
    comes back. Here trees move too: a node is expanded (with all nodes above it, or the cut would
    not reach it) or collapsed (with all nodes below it).
    """

    def __init__(self, layout: Layout) -> None:
        self._coins = len(layout.columns)
        self._columns = [
            (place, _mover(domain, place.start))
            for _, domain, place in layout.slices()
            if domain.size > 1
        ]
        # A column with many places to move needs more moves, but not in proportion: small ones
        # decide as much about the groups.
        weights = np.sqrt([mover.places for _, mover in self._columns])
        shares = np.cumsum(weights / weights.sum()) if len(weights) else weights
        self._shares = shares / shares[-1:]  # of the columns up to each, 1 at the last

    def step(self, genomes: Bits, rows: Ints, rng: np.random.Generator) -> None:
        """Change one column of some rows: flip or shift a boundary, or move a tree's cut.

        In place, as a long genome takes longer to copy than to change.
        """
        if not self._columns:
            return
        chosen = np.searchsorted(self._shares, rng.random(len(rows)), side="right")
        rows = rows[np.argsort(chosen, kind="stable")]
        stops = np.cumsum(np.bincount(chosen, minlength=len(self._columns))).tolist()
        for (_, mover), start, stop in zip(self._columns, [0, *stops], stops, strict=False):
            if start < stop:
                mover(genomes, rows[start:stop], rng)

    def warm_up(self, genomes: Bits) -> None:
        """Have everything compiled or loaded that moves genomes, on a copy of some."""
        rng = np.random.default_rng(0)
        for _, mover in self._columns:
            mover(genomes.copy(), np.arange(len(genomes)), rng)

    def mutate(self, genomes: Bits, rate: float, rng: np.random.Generator) -> Bits:
        """Make as many moves as of one coin for each column fall on one, with the chance `rate`.

        At least one is made: crossover alone soon finds nothing new.
        """
        mutated = genomes.copy()
        least = 1 if rate > 0 else 0
        moves = np.maximum(rng.binomial(self._coins, rate, size=len(genomes)), least)
        for already in range(int(moves.max(initial=0))):
            self.step(mutated, np.flatnonzero(moves > already), rng)
        return mutated

    def exchange(
        self, genomes: Bits, rows: Ints, others: Bits, share: float, rng: np.random.Generator
    ) -> None:
        """Take each column of some rows from `others`, one for each, with probability `share`."""
        for place, _ in self._columns:
            taken = np.flatnonzero(rng.random(len(rows)) < share)
            genomes[rows[taken], place] = others[taken, place]


class _MoveBoundary:
    """Flip a boundary of an interval or ordered column, shift it by one place, or move it far.

    A coarse column has few boundaries, and a better place for one of them may be many shifts away,
    each of them worse than where it is: hence the far moves. Rows are changed in place.
    """

    def __init__(self, places: int, start: int) -> None:
        self.places = places
        self._start = start

    def __call__(self, genomes: Bits, rows: Ints, rng: np.random.Generator) -> None:
        at = rng.integers(self.places, size=len(rows))
        forward = rng.integers(2, size=len(rows))
        shifts = rng.random(len(rows))
        far = rng.random(len(rows)) < _FAR
        movable = keep_movable(genomes, self._start, self.places, rows, far)
        lots = rng.random((movable, self.places))
        move_boundaries(genomes, self._start, rows, at, forward, shifts, far, lots)


class _MoveCut:
    """Expand or collapse one inner node of a tree, in place."""

    def __init__(self, hierarchy: Hierarchy, start: int) -> None:
        self.places = len(hierarchy.inner)
        self._start = start
        self._nodes = tree_nodes(hierarchy)

    def __call__(self, genomes: Bits, rows: Ints, rng: np.random.Generator) -> None:
        nodes = rng.integers(self.places, size=len(rows))
        move_cuts(genomes, self._start, rows, nodes, self._nodes)


def tree_nodes(hierarchy: Hierarchy) -> TreeNodes:
    """Lay the inner nodes of a tree out as `move_cuts` takes them."""
    inner, order = hierarchy.inner, np.argsort(hierarchy.owner, kind="stable")
    return (
        np.array(hierarchy.starts, dtype=np.int64)[inner],
        np.array(hierarchy.stops, dtype=np.int64)[inner] - 1,
        hierarchy.inner_parent,
        np.searchsorted(hierarchy.owner[order], np.arange(len(inner) + 1)),
        order,
    )


def _mover(domain: Domain, start: int) -> _MoveBoundary | _MoveCut:
    if isinstance(domain, TreeDomain):
        return _MoveCut(domain.hierarchy, start)
    return _MoveBoundary(domain.size - 1, start)


# -- operators of pymoo ----------------------------------------------------------------------------


class ValidSampling(Sampling):  # type: ignore[misc]
    """Samples distinct valid genomes: fewer than asked for only where there are not that many.

    Parameters
    ----------
    coarse : float
        Share of full-domain genomes, one whole level of every column, with the two ends of the
        space first. The others decide from the root of each column whether its subtrees stay
        distinguishable (D §6.4), and on fine domains hardly ever have groups of two. 0 is D's own
        first population.
    """

    def __init__(self, coarse: float = SEED_SHARE) -> None:
        super().__init__()
        self.coarse = _share("coarse", coarse)

    def _do(
        self, problem: AnonymizationProblem, n_samples: int, *args: Any, **kwargs: Any
    ) -> Bools:
        layout, random_state = problem.layout, kwargs["random_state"]
        first = np.zeros((0, layout.bits), dtype=np.uint8)
        if self.coarse > 0:
            first = first_genomes(layout, int(n_samples * self.coarse), random_state)
            first = np.unique(first, axis=0)[:n_samples]
        return Unseen(layout).fill(first, n_samples, random_state).astype(bool)


class LunacekCrossover(Crossover):  # type: ignore[misc]
    """Crosses two parents column by column, each column at a point of its own (D §6.3).

    Interval and ordered columns have one-point crossover. The ends count as points too, so that a
    column of one bit takes part: it is exchanged or not. In a tree column the point is drawn among
    the boundaries at which *both* parents have a 1 (Lunacek et al.): on either side of it, each
    parent holds whole subtrees. So children of valid parents are valid.

    Parameters
    ----------
    prob : float
        Chance of a mating to be a crossover; otherwise the children equal their parents.
    points : {"common", "ends"}
        In a tree column without a common boundary, ``common`` passes the column on whole. With
        ``ends`` its ends are points too, and it is exchanged or not.
    n_offsprings : {2, 1}
        Both children, or the first alone, as MOEA/D wants it.
    """

    def __init__(
        self,
        prob: float = 0.9,
        points: Literal["common", "ends"] = "common",
        n_offsprings: int = 2,
    ) -> None:
        if points not in ("common", "ends"):
            raise SearchError(f"points must be common or ends. Got {points}")
        if n_offsprings not in (1, 2):
            raise SearchError(f"n_offsprings must be 1 or 2. Got {n_offsprings}")
        super().__init__(2, n_offsprings, prob=_share("prob", prob))
        self.points = points

    def _do(self, problem: AnonymizationProblem, X: Bools, *args: Any, **kwargs: Any) -> Bools:
        random_state = kwargs["random_state"]
        layout, ends = problem.layout, self.points == "ends"
        starts, stops = layout.offsets[:-1], layout.offsets[1:]
        column = np.repeat(np.arange(len(starts)), stops - starts)  # of each bit
        is_tree = np.array([isinstance(domain, TreeDomain) for domain in layout.domains.values()])
        # A bit is exchanged when it has passed the point, which lies behind as many bits of its
        # column (or as many common ones, in a tree) as `passed` says.
        common = np.zeros((X.shape[1], layout.bits + 1), dtype=np.int32)
        np.cumsum(X[0] & X[1], axis=1, dtype=np.int32, out=common[:, 1:])
        before = common[:, starts]
        choices = np.where(is_tree, common[:, stops] - before + (2 if ends else 0), layout.sizes)
        chosen = (random_state.random(choices.shape) * choices).astype(np.int32)
        chosen += np.where(is_tree, before + (0 if ends else 1), 0)
        within = (np.arange(layout.bits) - starts[column]).astype(np.int32)
        passed = np.where(is_tree[column], common[:, :-1], within)
        exchanged = passed >= chosen[:, column]
        children: Bools = np.where(exchanged, X[::-1], X)[: self.n_offsprings]
        return children


class ValidMutation(Mutation):  # type: ignore[misc]
    """Mutates genomes so that they stay valid.

    Parameters
    ----------
    rate : float
        With moves, a column's chance to be moved, but at least one is; without, a bit's chance.
        D says "mutation rate = 0.1" and no more; the chance of a bit is what it means in the
        textbooks and in the program its authors published with NSGA-II. 0 is no mutation.
    moves : bool
        Whether trees are cut elsewhere and boundaries shifted, see `Moves`. Without, as D has it,
        bits of interval and ordered columns flip, and tree columns never change.
    """

    def __init__(self, rate: float = 0.1, *, moves: bool = True) -> None:
        super().__init__()
        self.rate = _share("rate", rate)
        self.moves = moves

    def _do(self, problem: AnonymizationProblem, X: Bools, *args: Any, **kwargs: Any) -> Bools:
        random_state = kwargs["random_state"]
        if self.moves:
            genomes = problem.moves.mutate(X.astype(np.uint8), self.rate, random_state)
            return genomes.astype(bool)
        domains, sizes = problem.layout.domains.values(), problem.layout.sizes
        is_tree = [isinstance(domain, TreeDomain) for domain in domains]
        free = np.flatnonzero(~np.repeat(is_tree, sizes - 1))
        mutated = X.copy()
        mutated[:, free] ^= random_state.random((len(X), len(free))) < self.rate
        return mutated


class BitDuplicates(DuplicateElimination):  # type: ignore[misc]
    """Eliminates genomes that are there already, bit by bit.

    Parameters
    ----------
    unseen : Unseen, optional
        Those that it has seen are eliminated too.
    """

    def __init__(self, unseen: Unseen | None = None) -> None:
        super().__init__()
        self.unseen = unseen

    def do(self, pop: Any, *args: Any, **kwargs: Any) -> Any:
        """Those of a population that are new; `args` are others, its parents first."""
        # Parents were evaluated, so they have been seen.
        return super().do(pop, *(args if self.unseen is None else args[1:]), **kwargs)

    def _do(self, pop: Any, other: Any, is_duplicate: Bools) -> Bools:
        rows = np.array([each.X for each in pop], dtype=np.uint8)
        if other is None and self.unseen is not None:
            is_duplicate[:] = True
            is_duplicate[self.unseen.new_among(rows)] = False
            return is_duplicate
        known = {each.X.astype(np.uint8).tobytes() for each in (() if other is None else other)}
        for place, row in enumerate(rows):
            is_duplicate[place] = row.tobytes() in known
            if other is None:
                known.add(row.tobytes())
        return is_duplicate


def _share(name: str, value: float) -> float:
    if not 0 <= value <= 1:
        raise SearchError(f"{name} must be in [0, 1]. Got {value}")
    return value
