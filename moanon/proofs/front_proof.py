"""Proofs for a whole front: how far from the optimum each of its solutions can be.

With the loss of the best generalization for each k known from below, every solution has a *bound*;
where the bound is its loss, the solution is optimal. The optimum never falls as k grows, so a bound
for one k holds for all larger ones. Hence a proof is made where a *step* of the front begins, at
the first k that the solution before it does not reach: it holds for the solution, and where it
finds something better in between, the front gets another step.

First every solution is *polished*: with all other columns as they are, the best cut of a column is
a shortest path. Of the proofs, steps that hold a round k (2, 3, 5, 10, 20, …) come first, and the
others where bounds are farthest from the front. All get their turn again and again, with twice the
work each time, until their gap is as small as wanted.

A search that has seen all genomes has the optimum for every k, without a proof (`bounds_of_all`).
Otherwise, without suppression, branch and bound often proves a whole front in the time of the
search before it (`prove_within_budget`). How much of that is done is a number of bounds, not of
seconds, so that the same run ends in the same front on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from moanon.arrays import Bits, Floats, State
from moanon.errors import ConfigError, got
from moanon.front import Front
from moanon.genome import Instance
from moanon.measures.evaluate import OnPart
from moanon.proofs.cut_table import ProofTable, check_provable, why_not
from moanon.proofs.proof import Proof, no_experience
from moanon.recoding import GlobalRecodings

#: Work of a first turn; it doubles from turn to turn.
_FIRST_TURN = 128
#: Turns that steps with a round k are ahead.
_AHEAD = 5
#: A proof with more open genomes than this is left as it is: they have to be kept and saved.
_MOST_OPEN = 200_000
#: Most bounds that a run computes, and most cells that are read for them: some 20 seconds.
EXACT_BOUNDS, _MOST_CELLS = 40_000, 800_000_000
#: After this share of them, it goes on only if this share of the solutions is proven optimal.
_SO_FAR = 0.2
#: Different sums of losses up to this are different shares, too.
_LARGEST_SHARED = 2**51


@dataclass(frozen=True)
class ProofRecord:
    """What ``run.json`` says about a proof."""

    bounds: int  # how many were computed; none where every genome was evaluated
    steps: int  # of the front
    optimal: int  # those of them whose solution is proven to be optimal

    @classmethod
    def of(cls, front: Front, bounds: int) -> ProofRecord:
        """What the bounds of a front say."""
        assert front.proven is not None
        optimal = int((front.proven >= front.measures["loss"]).sum())
        return cls(bounds, len(front), optimal)

    def to_dict(self) -> dict[str, int]:
        """As it is written."""
        return asdict(self)


class FrontProof:
    """Proofs for the steps of a front, or for some `ks`, and what they have found.

    A solution that is above its bound by at most `gap`, a share of the bound, is left alone.
    """

    def __init__(self, front: Front, ks: Sequence[int] = (), gap: float = 0.0) -> None:
        check_provable(front)
        instance, recodings = front.instance, front.recodings
        assert instance is not None
        assert isinstance(recodings, GlobalRecodings)
        self.table = ProofTable.of(instance)
        self.limit = front.suppression.most_rows(instance.cells.rows)
        self.gap = gap
        self.ks = tuple(_checked(k, instance) for k in ks)
        self.experience = no_experience(self.table.bits)
        self.proofs: dict[int, Proof] = {}
        self.current: int | None = None
        #: Best loss that is known for each k that a solution has, and for which genome.
        self.known: dict[int, int] = {}
        self.better: dict[int, Bits] = {}
        #: Bounds that the front comes with, by the k of their solutions.
        self._earlier: dict[int, int] = {}
        #: Solutions whose columns have yet to be given their best cuts.
        self._rough: list[tuple[int, Bits]] = []
        thresholds = recodings.thresholds[:, 0].tolist()
        for genome, threshold, k in zip(
            recodings.genomes, thresholds, front.measures["k"].tolist(), strict=True
        ):
            loss = self.table.loss(genome, threshold, self.limit)
            assert loss is not None
            self.known[k] = min(loss, self.known.get(k, loss))
            self._rough.append((k, genome))
        self._earlier = _bounds_of(front, self.known, self.table.whole)
        self._check_earlier()
        wanted = [(k, self.least_loss(k)) for k in self.ks]
        self._rough = [
            (k, genome)
            for k, genome in self._rough
            if not wanted or any(k >= asked and self.known[k] == least for asked, least in wanted)
        ]

    # -- what is known -----------------------------------------------------------------------------

    @property
    def work(self) -> int:
        """Bounds that were computed so far."""
        return sum(proof.work for proof in self.proofs.values())

    def steps(self) -> list[tuple[int, int, int]]:
        """Stretches of k for which one solution is the best that is known: start, end, loss."""
        best: list[tuple[int, int]] = []
        for k in sorted(self.known, reverse=True):
            if not best or self.known[k] < best[-1][1]:
                best.append((k, self.known[k]))
        ends = [0, *(k for k, _ in reversed(best))]
        return [(before + 1, k, self.known[k]) for before, k in pairwise(ends)]

    def record(self) -> ProofRecord:
        """How far the proofs are."""
        steps = self.steps()
        optimal = sum(self.bound(start) >= loss for start, _, loss in steps)
        return ProofRecord(self.work, len(steps), optimal)

    def better_genomes(self) -> Bits:
        """Genomes that were found to be better than the front, each once."""
        found: Bits = np.unique(np.array([*self.better.values()]), axis=0)
        return found

    def least_loss(self, k: int) -> int:
        """Loss of the best solution that is known for a k."""
        found = (loss for own, loss in self.known.items() if own >= k)
        return min(found, default=self.table.whole)  # of the whole table as one group

    def bound(self, k: int) -> int:
        """A loss that no generalization for this k goes below: the best of all smaller k."""
        found = [proof.bound for own, proof in self.proofs.items() if own <= k]
        return max(found + [bound for own, bound in self._earlier.items() if own <= k], default=0)

    def bounds(self, front: Front) -> Floats:
        """The bound of each solution of a front as a share, never above the truth.

        Where a solution is optimal it is its loss, to the last digit.
        """
        recodings = front.recodings
        assert isinstance(recodings, GlobalRecodings)
        found = []
        for genome, threshold, k, share in zip(
            recodings.genomes,
            recodings.thresholds[:, 0].tolist(),
            front.measures["k"].tolist(),
            front.measures["loss"].tolist(),
            strict=True,
        ):
            bound, loss = self.bound(k), self.table.loss(genome, threshold, self.limit)
            if loss is not None and bound >= loss:
                found.append(share)
                continue
            # Below the truth, and below the solution, whose share is rounded, too.
            below = np.nextafter([bound / self.table.whole, share], 0.0).min()
            found.append(max(float(below), 0.0))
        return np.array(found, dtype=np.float64)

    # -- proving -----------------------------------------------------------------------------------

    @property
    def is_done(self) -> bool:
        """Whether every gap is as small as wanted."""
        return self.current is None and not self._rough and not self._wanting()

    def advances(self) -> Iterator[None]:
        """Advance again and again until all is done; the caller can stop before."""
        while not self.is_done:
            self.advance()
            yield

    def advance(self) -> None:
        """Polish one more solution; then do a little more of the proof whose turn it is."""
        if self._rough:
            self._polish(*self._rough.pop())
            return
        if self.current is None:
            wanting = self._wanting()
            if not wanting:
                return
            self.current = min(wanting)[-1]
        k = self.current
        if k not in self.proofs:
            self.proofs[k] = Proof(self.table, k, self.limit, self.least_loss(k), self.experience)
        proof = self.proofs[k]
        turn = _turn(proof.work)
        proof.advance()
        if proof.genome is not None and proof.best < self.least_loss(k):
            self._take_in(k, proof.genome, proof.best)
        if proof.is_closed or _turn(proof.work) > turn or proof.opened > _MOST_OPEN:
            self.current = None

    def _polish(self, k: int, genome: Bits) -> None:
        """Give a solution the best cut of each column, the others being as they are."""
        polished, loss = self.table.polish(genome, k, self.limit)
        if loss is not None and loss < self.least_loss(k):
            self._take_in(k, polished, loss)

    def _take_in(self, k: int, genome: Bits, loss: int) -> None:
        """Make a better solution known, by the k that it attains."""
        attained = self.table.attained(genome, k)
        self.known[attained] = loss
        self.better[attained] = genome
        self._check_earlier()
        for own, proof in self.proofs.items():
            if own <= attained:
                proof.take_in(loss)

    def _check_earlier(self) -> None:
        """Forget all bounds that the front came with if one of them is above what is known."""
        if any(self.least_loss(k) < bound for k, bound in self._earlier.items()):
            self._earlier = {}

    def _wanting(self) -> list[tuple[int, float, int]]:
        """Steps whose gap is too large: turn, gap (largest first) and k of each."""
        found = []
        for start, k, loss in self._wanted():
            bound = self.bound(start)  # for all k of the step, or a better one might lie within
            proof = self.proofs.get(start)
            stuck = proof is not None and (proof.is_closed or proof.opened > _MOST_OPEN)
            if stuck or loss - bound <= self.gap * bound:
                continue
            turn = _turn(proof.work if proof is not None else 0)
            ahead = any(start <= each <= k for each in _round_numbers(k))
            gap = loss / bound if bound else float("inf")
            found.append((turn + (0 if ahead else _AHEAD), -gap, start))
        return found

    def _wanted(self) -> list[tuple[int, int, int]]:
        """Where proofs are wanted: their k, the largest k they are for, and the loss there."""
        if self.ks:
            return [(k, k, self.least_loss(k)) for k in self.ks]
        return self.steps()

    # -- what is saved -----------------------------------------------------------------------------

    def state(self) -> State:
        """Everything that the next step depends on."""
        saved: State = {
            "gains": self.experience[0],
            "tried": self.experience[1],
            "rough": np.array(len(self._rough), dtype=np.int64),
            "current": np.array(-1 if self.current is None else self.current, dtype=np.int64),
            "proofs": np.array([*self.proofs], dtype=np.int64),
            "better": np.array([*self.better], dtype=np.int64),
            "least": np.array([str(self.known[k]) for k in self.better], dtype=np.str_),
            "genomes": np.array([*self.better.values()], dtype=np.uint8).reshape(
                len(self.better), self.table.bits
            ),
        }
        for k, proof in self.proofs.items():
            saved |= {f"{k}.{name}": array for name, array in proof.state().items()}
        return saved

    def restore(self, state: State) -> None:
        """Go on from a saved state; what the front has learnt since then is kept."""
        least = state["least"].tolist()  # first, as it is not there in files of earlier versions
        self.experience[:] = state["gains"], state["tried"]
        self._rough = self._rough[: int(state["rough"])]
        current = int(state["current"])
        self.current = None if current < 0 else current
        for k, loss, genome in zip(
            state["better"].tolist(), map(int, least), state["genomes"], strict=True
        ):
            if loss <= self.known.get(k, loss):
                self.known[k], self.better[k] = loss, genome
        for k in state["proofs"].tolist():
            proof = Proof(self.table, k, self.limit, self.least_loss(k), self.experience)
            own = [name for name in state if name.startswith(f"{k}.")]
            proof.restore({name.removeprefix(f"{k}."): state[name] for name in own})
            proof.take_in(self.least_loss(k))
            self.proofs[k] = proof


def _bounds_of(front: Front, losses: Mapping[int, int], whole: int) -> dict[int, int]:
    """Bounds of a front's solutions as sums, by their k; that of an optimal one is its loss."""
    if front.proven is None:
        return {}
    found = {}
    for k, share, bound in zip(
        front.measures["k"].tolist(),
        front.measures["loss"].tolist(),
        front.proven.tolist(),
        strict=True,
    ):
        found[k] = losses[k] if bound >= share else int(Fraction(bound) * whole)
    return found


def _checked(k: int, instance: Instance) -> int:
    rows = instance.cells.rows
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= rows:
        raise ConfigError(f"k must be a whole number from 1 to {rows}, the rows. Got {got(k)}")
    return k


def _turn(work: int) -> int:
    """How many turns a proof has had after so much work."""
    return (work // _FIRST_TURN).bit_length()


def _round_numbers(most: int) -> list[int]:
    """2, 3, 5, 10, 20, 50, 100, … up to a number."""
    found, ten = [2, 3], 1
    while ten <= most:
        found += [5 * ten, 10 * ten, 20 * ten]
        ten *= 10
    return [number for number in found if number <= most]


# -- as part of a run ------------------------------------------------------------------------------


def bounds_of_all(front: Front) -> Floats | None:
    """Bounds of a front that was found among all genomes: each solution is the best for its k.

    None where that would rest on rounded losses, and of fronts about which nothing can be proven
    otherwise (`why_not`).
    """
    assert front.instance is not None
    if why_not(front.objectives, front.suppression, [*front.bounds]) is not None:
        return None
    if not _is_exact_in_shares(front.instance):
        return None
    return np.asarray(front.measures["loss"], dtype=np.float64)


def _is_exact_in_shares(instance: Instance) -> bool:
    """Whether different losses of a table are different shares, in the same order."""
    whole = instance.losses.scale * instance.cells.rows * len(instance.layout.columns)
    return instance.losses.exact and whole <= _LARGEST_SHARED


def prove_within_budget(
    front: Front,
    interrupted: Callable[[], bool] | None = None,
    on_part: OnPart | None = None,
) -> FrontProof | None:
    """Prove a front as far as the budget goes; None where `interrupted` ends it before.

    `on_part` is called with how many of how many bounds were computed.
    """
    assert front.instance is not None
    proof = FrontProof(front)
    proof.table.warm_up()
    most = min(EXACT_BOUNDS, _MOST_CELLS // max(len(front.instance.cells), 1))
    looked = False
    for _ in proof.advances():
        if not looked and proof.work >= _SO_FAR * most:
            looked, record = True, proof.record()
            if record.optimal < _SO_FAR * record.steps:
                break
        if on_part is not None:
            on_part(min(proof.work, most), most)
        if interrupted is not None and interrupted():
            return None
        if proof.work >= most:
            break
    return proof
