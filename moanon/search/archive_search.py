"""What ``auto`` chooses between: breeding from the archive, or every genome of a small space.

NSGA-II keeps one population and forgets what does not fit into it. `ArchiveSearch` breeds straight
from the archive of undominated solutions, staircase steps included: every evaluation improves the
front at all thresholds it touches. A grid along the first objective (logarithmic where it spans
decades) picks the parents, so that each stretch of the front gets the same attention and its best
solution is bred from again and again until a better one is found; a child is a parent with columns
of another one and a few small moves. No genome is evaluated twice.

Whoever breeds from one archive alone soon has relatives in all of it, and may miss what another
seed finds. So for the first half of a long search for k and loss there are several *islands*:
archives that are bred from in turn, each from its own. What they find together is then bred from as
one, earlier if they stall.

Where the objectives are k and loss, every so many generations the solutions of the grid are
polished (`Polisher`): what chance would need long for, a shortest path finds at once, and breeding
goes on from there. A long search ends with the optima of large k (`settle_large`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from moanon.arrays import Bits, Floats, Ints, State
from moanon.errors import SearchError
from moanon.proofs.cut_table import Polisher, ProofTable
from moanon.proofs.proof import can_settle, settle_large
from moanon.search.algorithms import MOST_GENOMES, STALL_FROM, SearchSettings, default_limit
from moanon.search.archive import Archive, normalized
from moanon.search.checkpoint import generator_state, part_of, prefixed, restore_generator
from moanon.search.operators import SEED_SHARE, KnownGenomes, Moves, Unseen, first_genomes
from moanon.search.problem import AnonymizationProblem
from moanon.search.search import Hypervolume, Search, Stop

#: Values of the grid along the front.
_GRID = 300
#: Chance that a child takes columns of a second parent, and of each column to be taken.
_MATE, _TAKE = 0.7, 0.15
#: Chance that the second parent comes from anywhere on the front instead of from nearby.
_FAR = 0.3
#: What is nearby: within this part of the parents in order.
_NEAR = 10
#: Most moves of a child; fewer are likelier.
_MOST_MOVES = 3
#: Attempts to fill a generation with genomes not seen before.
_ATTEMPTS = 40
#: Spaces up to this size are listed when sampling finds nothing new.
_LISTED = 1_000_000
#: Generations from one polishing to the next, and how often it is repeated at the end.
_POLISH_EVERY, _LAST_ROUNDS = 50, 4
#: A search is long with a budget of so many evaluations or more: it has islands, for a share of it.
LONG, _ISLANDS, _APART = 100_000, 4, 0.5
#: Once islands are left, a search goes on until it has had so many times the evaluations.
_TOGETHER = 1.5
#: How the k of a solution is written behind its genome.
_K = np.dtype("<i8")


class ArchiveSearch(Search):
    """The default search: `population` genomes per generation, bred from the archive."""

    keeps_all = True

    def __init__(
        self,
        problem: AnonymizationProblem,
        population: int,
        seed: int,
        room: int = 8_000,
        budget: int = 0,
    ) -> None:
        self.problem = problem
        self.population = population
        self.rng = np.random.default_rng(seed)
        self.moves = Moves(problem.layout)
        self.archive = self.empty_archive(problem, room)
        self._polisher = polisher_for(problem)
        # Islands are known to help where the objectives are k and loss, as polishing does.
        self._is_long = budget >= LONG and self._polisher is not None
        self._apart = int(budget * _APART)
        self._islands = self._settle_islands(_ISLANDS if self._is_long else 0)
        self._home = self.archive  # what is bred from
        self._united = 0  # evaluations after which it was bred from as one
        self.unseen = Unseen(problem.layout)
        self.generation = 0
        self._smooth = KnownGenomes(problem.layout, more_bytes=_K.itemsize)

    @classmethod
    def default_stop(cls, problem: AnonymizationProblem) -> Stop:
        """Go on until the front has stalled; where that cannot be seen, as other searches do."""
        if Hypervolume(problem).why_not is not None:
            return super().default_stop(problem)
        return Stop(evaluations=default_limit(problem.layout.bits), stalled=STALL_FROM)

    @classmethod
    def warm_up(cls, problem: AnonymizationProblem) -> None:
        """Have what polishes and proves compiled or loaded, too."""
        super().warm_up(problem)
        polisher = polisher_for(problem)
        if polisher is None:
            return
        whole = np.zeros(problem.layout.bits, dtype=np.uint8)
        polisher.polish(whole, problem.instance.cells.rows, 0)
        if default_limit(problem.layout.bits) >= LONG and can_settle(problem.instance):
            ProofTable.of(problem.instance).warm_up()

    def _settle_islands(self, number: int) -> list[Archive]:
        """Archives that are bred from in turn, with nothing in them yet."""
        return [self.empty_archive(self.problem, self.archive.room) for _ in range(number)]

    @property
    def evaluations(self) -> int:
        return self.unseen.removed

    @property
    def exhausted(self) -> bool:
        return self.unseen.left == 0

    def step(self, most: int | None = None) -> int:
        wanted = self.population if most is None else min(self.population, most)
        self._settle()
        genomes = self._children(wanted) if len(self._home) else self._first(wanted)
        if len(genomes):
            points = self.problem.points(genomes)
            self.archive.add(points, genomes)
            if self._home is not self.archive:
                self._home.add(points, genomes)
        self.generation += 1
        return len(genomes)

    def _settle(self) -> None:
        """Go to the next island, or leave them all behind."""
        if self._islands and self.evaluations >= self._apart:
            self._unite()
        number = len(self._islands)
        self._home = self._islands[self.generation % number] if number else self.archive

    def _unite(self) -> None:
        self._islands, self._united = [], self.evaluations

    def refresh(self) -> bool:
        """Breed as one where islands have stalled, and go on for a while."""
        if self._islands:
            self._unite()
        return self.evaluations < _TOGETHER * self._united

    def finish(self) -> int:
        """Polish what was found, as long as that makes it better; return how many it changed."""
        changed, self._home = 0, self.archive
        for _ in range(_LAST_ROUNDS):
            genomes = self._polished(_GRID)
            if not len(genomes):
                break
            self.archive.add(self.problem.points(genomes), genomes)
            changed += len(genomes)
        genomes = self._settled()
        if len(genomes):
            self.archive.add(self.problem.points(genomes), genomes)
        return changed + len(genomes)

    # -- what is saved ---------------------------------------------------------------------------

    def state(self) -> State:
        islands: State = {}
        for number, island in enumerate(self._islands):
            islands |= prefixed(f"island{number}.", island.state())
        return (
            self.archive.state()
            | islands
            | {
                "smooth": self._smooth.state(),
                "islands": np.array(len(self._islands)),
                "united": np.array(self._united),
                "seen": self.unseen.state(),
                "generation": np.array(self.generation),
                "generator": generator_state(self.rng),
            }
        )

    def restore(self, state: State) -> None:
        shapes = (state["genomes"].shape[1], state["values"].shape[1])
        if shapes != (self.problem.layout.packed_bytes, len(self.problem.objectives)):
            raise SearchError("the saved state belongs to another problem")
        self.archive.restore(state)
        self._islands = self._settle_islands(int(state.get("islands", 0)))
        for number, island in enumerate(self._islands):
            island.restore(part_of(state, f"island{number}."))
        self._united = int(state.get("united", 0))
        self.unseen.restore(state["seen"])
        self._smooth.restore(state["smooth"])
        self.generation = int(state["generation"])
        restore_generator(self.rng, state["generator"])

    # -- what is evaluated next ------------------------------------------------------------------

    def _first(self, number: int) -> Bits:
        """The ends, some full-domain genomes, and samples of every density."""
        layout = self.problem.layout
        seeds = first_genomes(layout, int(number * SEED_SHARE), self.rng)
        one, other = layout.sample(number, self.rng), layout.sample(number, self.rng)
        # The AND and the OR of two samples are valid too, and coarser or finer than either.
        density = self.rng.integers(0, 3, size=(number, 1))
        mixed = np.where(density == 0, one & other, np.where(density == 1, one, one | other))
        return self._unseen(np.concatenate([seeds, mixed]), number)

    def _children(self, number: int) -> Bits:
        """Unseen offspring; where moves find none, fresh samples, and at last any unseen genome."""
        turn = self.generation // max(1, len(self._islands))  # of this island
        due = turn % _POLISH_EVERY == _POLISH_EVERY - 1
        found = [self._polished(number)] if due else []
        missing = number - sum(map(len, found))
        found.append(self._unseen(self._offspring(number), missing))
        missing -= len(found[-1])
        for attempt in range(_ATTEMPTS):
            if missing <= 0 or self.exhausted:
                break
            if attempt < _ATTEMPTS - 4:
                more = self._offspring(2 * number)
            else:
                more = self.problem.layout.sample(2 * number, self.rng)
            found.append(self._unseen(more, missing))
            missing -= len(found[-1])
        if missing > 0 and not self.exhausted and self.unseen.space <= _LISTED:
            rest = self.unseen.fill_in_order(found[0][:0], missing)
            found.append(self._unseen(rest, missing))
        return np.concatenate(found)

    def _polished(self, number: int) -> Bits:
        """Unseen genomes that come of polishing at most so many solutions of the grid, each once.

        If there are more that have never been polished, some along the whole front are; of a large
        table they are few.
        """
        rough = self._rough() if self._polisher is not None else np.zeros(0, dtype=np.int64)
        if self._polisher is None or not len(rough):
            return self.problem.layout.unpack(self._home.packed[:0])
        most = min(number, self._polisher.at_once)
        rough = rough[np.unique(np.linspace(0, len(rough) - 1, most).round().astype(np.int64))]
        limit = self.problem.suppression.most_rows(self.problem.instance.cells.rows)
        ks = self._ks(rough)
        genomes = self._home.genomes_at(rough)
        polished = np.stack(
            [
                self._polisher.polish(genome, k, limit)
                for genome, k in zip(genomes, ks.tolist(), strict=True)
            ]
        )
        for each in (genomes, polished):
            self._smooth.add(_with_k(self.problem.layout.pack(each), ks))
        return self._unseen(polished, number)

    def _settled(self) -> Bits:
        """Unseen genomes that are better for large k, after a long search; see `settle_large`."""
        instance, found = self.problem.instance, self.archive
        if not self._is_long or not can_settle(instance):
            return found.genomes_at(np.zeros(0, dtype=np.int64))
        known = np.sort(self._ks(np.arange(len(found))))
        elite = self._elite()[0]
        falling = elite[np.argsort(-self._ks(elite), kind="stable")]
        ks = self._ks(falling)
        starts = np.concatenate(([0], known))[np.searchsorted(known, ks)] + 1
        limit = self.problem.suppression.most_rows(instance.cells.rows)
        steps = zip(starts.tolist(), ks.tolist(), found.genomes_at(falling), strict=True)
        better = settle_large(instance, limit, steps)
        if not better:
            return found.genomes_at(np.zeros(0, dtype=np.int64))
        return self._unseen(np.stack(better), len(better))

    def _rough(self) -> Ints:
        """Solutions of the grid that have never been polished for their k."""
        elite, _ = self._elite()
        known = _with_k(self._home.packed[elite], self._ks(elite))
        return elite[np.sort(self._smooth.new_among(known))]

    def _ks(self, rows: Ints) -> Ints:
        """The k of some solutions."""
        place = self.problem.objectives.index("k")
        ks: Ints = (-self._home.values[rows, place]).astype(_K)
        return ks

    def _offspring(self, number: int) -> Bits:
        parents, mates = self._pairs(number)
        children = self._home.genomes_at(parents)
        mating = self.rng.random(number) < _MATE
        others = self._home.genomes_at(mates[mating])
        self.moves.exchange(children, np.flatnonzero(mating), others, _TAKE, self.rng)
        steps = np.minimum(self.rng.geometric(0.5, size=number), _MOST_MOVES)
        steps -= mating & (self.rng.random(number) < 0.3)  # an exchange alone may be change enough
        for step in range(_MOST_MOVES):
            self.moves.step(children, np.flatnonzero(steps > step), self.rng)
        return children

    def _pairs(self, number: int) -> tuple[Ints, Ints]:
        """Draw parents along the front, and for each a mate, mostly from nearby."""
        elite, share = self._elite()
        even = self.rng.integers(len(elite), size=number)
        wide = self.rng.choice(len(elite), size=number, p=share)
        parents = np.where(self.rng.random(number) < 0.5, even, wide)
        reach = max(2, len(elite) // _NEAR)
        near = parents + self.rng.integers(-reach, reach + 1, size=number)
        far = self.rng.integers(len(elite), size=number)
        mates = np.where(self.rng.random(number) < _FAR, far, np.clip(near, 0, len(elite) - 1))
        return elite[parents], elite[mates]

    def _elite(self) -> tuple[Ints, Floats]:
        """Solutions to breed from, in order along the front, and the stretch of it each stands for.

        With two objectives: for each value of the grid the solution with the least second objective
        among those at least as good in the first. With more, one solution of each occupied box.
        """
        places = normalized(self._home.values)
        if places.shape[1] == 2:
            order = np.argsort(places[:, 0], kind="stable")
            grid = np.linspace(0, 1, _GRID)
            best = order[np.searchsorted(places[order, 0], grid, side="right") - 1]
            elite, counts = np.unique(best, return_counts=True)
        else:
            bins = {3: 16}.get(places.shape[1], 6)
            box = np.minimum((places * bins).astype(np.int64), bins - 1)
            shuffled = self.rng.permutation(len(box))
            _, first = np.unique(box[shuffled], axis=0, return_index=True)
            elite = shuffled[first]
            counts = np.ones(len(elite), dtype=np.int64)
        along = np.argsort(places[elite, 0], kind="stable")
        return elite[along], counts[along] / counts.sum()

    def _unseen(self, genomes: Bits, most: int) -> Bits:
        """The first `most` genomes that were never evaluated; they are marked as seen."""
        fresh = self.unseen.among(genomes)[:most]
        self.unseen.remove(fresh)
        return fresh


def polisher_for(problem: AnonymizationProblem) -> Polisher | None:
    """What polishes the solutions of a problem; None where sizes of groups are not enough."""
    return Polisher(problem.instance) if problem.why_unprovable is None else None


def _with_k(packed: Bits, ks: Ints) -> Bits:
    """Packed genomes, each followed by a k."""
    return np.concatenate([packed, ks[:, None].view(np.uint8)], axis=1)


class ExhaustiveSearch(Search):
    """Goes through the space in order, `population` genomes at a time: the exact front."""

    is_random = False
    keeps_all = True

    def __init__(
        self, problem: AnonymizationProblem, population: int = 1_000, room: int = 100_000
    ) -> None:
        self.problem = problem
        self._space = problem.layout.count()
        if self._space > MOST_GENOMES:
            raise SearchError(
                f"algorithm exhaustive goes through at most {MOST_GENOMES} genomes; this table has "
                f"{self._space}"
            )
        self.population = population
        self.archive = self.empty_archive(problem, room)
        self.generation = 0
        self._evaluated = 0
        self._genomes: Iterator[Bits] = problem.layout.enumerate()

    @classmethod
    def stop_rule(cls, settings: SearchSettings, problem: AnonymizationProblem) -> Stop:
        """It never stalls: what it has yet to see does not follow from what it has seen."""
        return replace(Stop.of(settings), stall=None)

    @property
    def evaluations(self) -> int:
        return self._evaluated

    @property
    def space(self) -> int:
        return self._space

    @property
    def exhausted(self) -> bool:
        return self._evaluated >= self._space

    def step(self, most: int | None = None) -> int:
        wanted = self.population if most is None else min(self.population, most)
        batch = list(islice(self._genomes, wanted))
        if batch:
            genomes = np.stack(batch)
            self.archive.add(self.problem.points(genomes), genomes)
        self._evaluated += len(batch)
        self.generation += 1
        return len(batch)

    def state(self) -> State:
        return self.archive.state() | {
            "generation": np.array(self.generation),
            "evaluations": np.array(self._evaluated),
        }

    def restore(self, state: State) -> None:
        self.archive.restore(state)
        self.generation = int(state["generation"])
        self._evaluated = int(state["evaluations"])
        self._genomes = islice(self.problem.layout.enumerate(), self._evaluated, None)
