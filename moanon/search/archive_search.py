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

All this is `ArchiveBreeding`, an algorithm of pymoo whose survivors are the archive.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
from pymoo.core.algorithm import Algorithm
from pymoo.core.evaluator import Evaluator
from pymoo.core.population import Population

from moanon.arrays import Bits, Floats, Ints, State
from moanon.errors import SearchError
from moanon.proofs.cut_table import Polisher, ProofTable, can_settle
from moanon.proofs.proof import settle_large
from moanon.search.algorithms import (
    MOST_GENOMES,
    STALL_FROM,
    SearchSettings,
    Stop,
    default_limit,
)
from moanon.search.archive import Archive, normalized
from moanon.search.checkpoint import generator_state, part_of, prefixed, restore_generator
from moanon.search.operators import (
    SEED_SHARE,
    Unseen,
    first_genomes,
    keys_of,
    loaded_keys,
    new_among,
    saved_keys,
)
from moanon.search.problem import VIOLATION, AnonymizationProblem, Points
from moanon.search.running import (
    GenomeSearch,
    Hypervolume,
    Search,
    population_of,
    set_measured,
)

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


class ArchiveBreeding(Algorithm):  # type: ignore[misc]
    """Breeding from the archive as an algorithm of pymoo, for `AnonymizationProblem` alone.

    It needs no operators. What it returns holds every undominated solution that it has found, so a
    genome comes once for each of its thresholds that is one.

    Parameters
    ----------
    pop_size : int
        Genomes of a generation.
    budget : int
        Evaluations that there will be at most: from `LONG` on, it begins with islands.
    room : int
        Most solutions that the archive holds.
    """

    def __init__(
        self, pop_size: int = 200, budget: int = 0, room: int = 8_000, **kwargs: Any
    ) -> None:
        super().__init__(evaluator=_StairEvaluator(), **kwargs)
        self.pop_size = self.n_offsprings = pop_size
        self.budget, self.room = budget, room

    def _setup(self, problem: Any, **kwargs: Any) -> None:
        if not isinstance(problem, AnonymizationProblem):
            raise SearchError(
                f"ArchiveBreeding searches an AnonymizationProblem. Got {type(problem).__name__}"
            )
        self.found = self._new_archive()
        self.unseen = Unseen(problem.layout)
        self._polisher = polisher_for(problem)
        # Islands are known to help where the objectives are k and loss, as polishing does.
        self._is_long = self.budget >= LONG and self._polisher is not None
        self._islands = [self._new_archive() for _ in range(_ISLANDS if self._is_long else 0)]
        self._home = self.found  # what is bred from
        self._united = 0  # evaluations after which it was bred from as one
        self._smooth: set[bytes] = set()  # keys of what was polished, or came of it, with its k
        # The values of an archive, and what was chosen among them.
        self._elite_of: tuple[Floats | None, tuple[Ints, Floats]]
        self._elite_of = None, (np.zeros(0, np.int64), np.zeros(0))

    def _new_archive(self) -> Archive:
        return Archive.empty(self.problem.n_obj, self.problem.layout, self.room)

    # -- as pymoo asks and tells -------------------------------------------------------------------

    def infill(self) -> Population:
        """Genomes that were never evaluated, of the next island's archive or of the whole.

        pymoo's own also writes the number of the generation into each, which takes a hundredth of
        the whole time.
        """
        if not self.is_initialized:
            self._initialize()
        if self._islands and self.unseen.removed >= int(self.budget * _APART):
            self._unite()
        number = len(self._islands)
        self._home = self._islands[self._generation % number] if number else self.found
        wanted = self.n_offsprings
        genomes = self._children(wanted) if len(self._home) else self._first(wanted)
        return self.evaluator.asked(genomes)

    def _initialize_advance(self, infills: Any = None, **kwargs: Any) -> None:
        self._advance(infills)

    def _advance(self, infills: Any = None, **kwargs: Any) -> None:
        """Take every step of the staircases into the archive."""
        if len(infills):
            genomes, points = self.evaluator.genomes, self.evaluator.points
            self.found.add(points, genomes)
            if self._home is not self.found:
                self._home.add(points, genomes)
        elif self.unseen.left == 0:
            self.termination.force_termination = True

    def _set_optimum(self) -> None:
        found = self.found
        missed = np.zeros((len(found), self.problem.n_ieq_constr))
        if not found.is_feasible:
            missed[:, 0] = found.thresholds[:, 1] * VIOLATION  # the sum of all constraints
        self.opt = self.pop = population_of(found.genomes)
        set_measured(self.opt, found.values, missed)

    def _finalize(self) -> None:
        self.finish()
        self._set_optimum()

    @property
    def _generation(self) -> int:
        """Generations that are done."""
        done: int = self.n_iter - 1
        return done

    def _unite(self) -> None:
        self._islands, self._united = [], self.unseen.removed

    def refresh(self) -> bool:
        """Breed as one where islands have stalled, and go on for a while."""
        if self._islands:
            self._unite()
        return self.unseen.removed < _TOGETHER * self._united

    def finish(self) -> int:
        """Polish what was found, as long as that makes it better; return how many it changed."""
        changed, self._home = 0, self.found
        for _ in range(_LAST_ROUNDS):
            genomes = self._polished(_GRID)
            if not len(genomes):
                break
            self.found.add(self.problem.points(genomes), genomes)
            changed += len(genomes)
        genomes = self._settled()
        if len(genomes):
            self.found.add(self.problem.points(genomes), genomes)
        return changed + len(genomes)

    # -- what is saved ---------------------------------------------------------------------------

    def state(self) -> State:
        """Everything the next generation depends on."""
        islands: State = {}
        for number, island in enumerate(self._islands):
            islands |= prefixed(f"island{number}.", island.state())
        return (
            self.found.state()
            | islands
            | {
                "smooth": saved_keys(self._smooth),
                "islands": np.array(len(self._islands)),
                "united": np.array(self._united),
                "seen": self.unseen.state(),
                "generation": np.array(self._generation if self.is_initialized else 0),
                "generator": generator_state(self.random_state),
            }
        )

    def restore(self, state: State) -> None:
        """Go on from a saved state."""
        shapes = (state["genomes"].shape[1], state["values"].shape[1])
        if shapes != (self.problem.layout.packed_bytes, self.problem.n_obj):
            raise SearchError("the saved state belongs to another problem")
        self.found.restore(state)
        self._islands = [self._new_archive() for _ in range(int(state.get("islands", 0)))]
        for number, island in enumerate(self._islands):
            island.restore(part_of(state, f"island{number}."))
        self._united = int(state.get("united", 0))
        self.unseen.restore(state["seen"])
        self._smooth = loaded_keys(state["smooth"])
        self._initialize()
        self.n_iter = int(state["generation"]) + 1
        self.is_initialized = self.n_iter > 1
        restore_generator(self.random_state, state["generator"])

    # -- what is evaluated next ------------------------------------------------------------------

    def _first(self, number: int) -> Bits:
        """The ends, some full-domain genomes, and samples of every density."""
        layout, rng = self.problem.layout, self.random_state
        seeds = first_genomes(layout, int(number * SEED_SHARE), rng)
        one, other = (
            layout.sample(number, rng),
            layout.sample(number, rng),
        )
        # The AND and the OR of two samples are valid too, and coarser or finer than either.
        density = rng.integers(0, 3, size=(number, 1))
        mixed = np.where(density == 0, one & other, np.where(density == 1, one, one | other))
        return self._unseen(np.concatenate([seeds, mixed]), number)

    def _children(self, number: int) -> Bits:
        """Unseen offspring; where moves find none, fresh samples, and at last any unseen genome."""
        turn = self._generation // max(1, len(self._islands))  # of this island
        due = turn % _POLISH_EVERY == _POLISH_EVERY - 1
        found = [self._polished(number)] if due else []
        missing = number - sum(map(len, found))
        found.append(self._unseen(self._offspring(number), missing))
        missing -= len(found[-1])
        for attempt in range(_ATTEMPTS):
            if missing <= 0 or self.unseen.left == 0:
                break
            if attempt < _ATTEMPTS - 4:
                more = self._offspring(2 * number)
            else:
                more = self.problem.layout.sample(2 * number, self.random_state)
            found.append(self._unseen(more, missing))
            missing -= len(found[-1])
        if missing > 0 and self.unseen.left and self.unseen.space <= _LISTED:
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
            return self._home.genomes_at(rough[:0])
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
            self._smooth.update(keys_of(_with_k(self.problem.layout.pack(each), ks)))
        return self._unseen(polished, number)

    def _settled(self) -> Bits:
        """Unseen genomes that are better for large k, after a long search; see `settle_large`."""
        instance, found = self.problem.instance, self.found
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
        return elite[np.sort(new_among(keys_of(known), self._smooth))]

    def _ks(self, rows: Ints) -> Ints:
        """The k of some solutions."""
        place = self.problem.objectives.index("k")
        ks: Ints = (-self._home.values[rows, place]).astype(_K)
        return ks

    def _offspring(self, number: int) -> Bits:
        moves, rng = self.problem.moves, self.random_state
        parents, mates = self._pairs(number)
        children = self._home.genomes_at(parents)
        mating = rng.random(number) < _MATE
        others = self._home.genomes_at(mates[mating])
        moves.exchange(children, np.flatnonzero(mating), others, _TAKE, rng)
        steps = np.minimum(rng.geometric(0.5, size=number), _MOST_MOVES)
        steps -= mating & (rng.random(number) < 0.3)  # an exchange alone may be change enough
        for step in range(_MOST_MOVES):
            moves.step(children, np.flatnonzero(steps > step), rng)
        return children

    def _pairs(self, number: int) -> tuple[Ints, Ints]:
        """Draw parents along the front, and for each a mate, mostly from nearby."""
        (elite, share), rng = self._elite(), self.random_state
        even = rng.integers(len(elite), size=number)
        wide = rng.choice(len(elite), size=number, p=share)
        parents = np.where(rng.random(number) < 0.5, even, wide)
        reach = max(2, len(elite) // _NEAR)
        near = parents + rng.integers(-reach, reach + 1, size=number)
        far = rng.integers(len(elite), size=number)
        mates = np.where(rng.random(number) < _FAR, far, np.clip(near, 0, len(elite) - 1))
        return elite[parents], elite[mates]

    def _elite(self) -> tuple[Ints, Floats]:
        """Solutions to breed from, in order along the front, and the stretch of it each stands for.

        With two objectives: for each value of the grid the solution with the least second objective
        among those at least as good in the first. With more, one solution of each occupied box.
        """
        values = self._home.values
        if values is self._elite_of[0]:  # as for all attempts of one generation
            return self._elite_of[1]
        places = normalized(values)
        if places.shape[1] == 2:
            order = np.argsort(places[:, 0], kind="stable")
            grid = np.linspace(0, 1, _GRID)
            best = order[np.searchsorted(places[order, 0], grid, side="right") - 1]
            elite, counts = np.unique(best, return_counts=True)
        else:
            bins = {3: 16}.get(places.shape[1], 6)
            box = np.minimum((places * bins).astype(np.int64), bins - 1)
            shuffled = self.random_state.permutation(len(box))
            _, first = np.unique(box[shuffled], axis=0, return_index=True)
            elite = shuffled[first]
            counts = np.ones(len(elite), dtype=np.int64)
        along = np.argsort(places[elite, 0], kind="stable")
        found = elite[along], counts[along] / counts.sum()
        if places.shape[1] == 2:  # of more objectives, other solutions stand for a box each time
            self._elite_of = values, found
        return found

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


class _StairEvaluator(Evaluator):  # type: ignore[misc]
    """Measures a generation at every step of its staircases, and has these at hand."""

    genomes: Bits
    points: Points

    def asked(self, genomes: Bits) -> Population:
        """The genomes that are to be measured next, as a population."""
        self.genomes = genomes
        return population_of(genomes)

    def eval(self, problem: AnonymizationProblem, pop: Population, **kwargs: Any) -> Population:
        """Measure the genomes that were asked for."""
        if len(pop):
            values, missed, self.points = problem.measured(self.genomes)
            set_measured(pop, values, missed)
            self.n_eval += len(pop)
        return pop


class ArchiveSearch(GenomeSearch):
    """The default search: `population` genomes per generation, bred from the archive."""

    keeps_all = True
    algorithm: ArchiveBreeding

    def __init__(
        self,
        problem: AnonymizationProblem,
        population: int,
        seed: int,
        room: int = 8_000,
        budget: int = 0,
    ) -> None:
        super().__init__(problem, ArchiveBreeding(population, budget, room), seed)
        self.archive, self.unseen = self.algorithm.found, self.algorithm.unseen

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

    def _ask(self, most: int | None) -> Population:
        whole = self.algorithm.pop_size
        self.algorithm.n_offsprings = whole if most is None else min(whole, most)
        return self.algorithm.infill()

    def _measure(self, asked: Population) -> None:
        self.algorithm.evaluator.eval(self.problem, asked)

    def refresh(self) -> bool:
        return self.algorithm.refresh()

    def finish(self) -> int:
        return self.algorithm.finish()

    def state(self) -> State:
        return self.algorithm.state()

    def restore(self, state: State) -> None:
        self.algorithm.restore(state)
        self.generation = int(state["generation"])


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
