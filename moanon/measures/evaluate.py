"""Scoring a population of genomes under a suppression rule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from moanon.errors import ConfigError
from moanon.genome import Instance
from moanon.kernels.population import Mode, PopulationKernel, RawScores
from moanon.kernels.scoring import FIELDS, GIVEN
from moanon.measures.suppression import Suppression

__all__ = ["Evaluator", "Scores", "Staircase"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Staircase:
    """What one genome offers within the suppression limit: a solution for every threshold.

    D's rule always spends the whole limit. For a wanted k, giving up only the groups smaller than
    k loses less; so a genome is a whole curve, and a solution is a genome *and* a threshold.

    Attributes
    ----------
    k : array
        Smallest kept group at each step, ascending.
    l : array or None
        For (k, l)-safety, the least diversity of the kept groups; every attained pair is listed.
    suppressed : array
        Rows given up.
    gl, sl, loss : arrays
        As fractions of ``n * q``.
    """

    k: Ints
    l: Ints | None  # noqa: E741 - the papers' name
    suppressed: Ints
    gl: Floats
    sl: Floats
    loss: Floats

    def maximal(self) -> npt.NDArray[np.bool_]:
        """Tell for each step whether no other one has both k and l at least as high."""
        if self.l is None:
            return np.asarray(self.k == self.k.max())
        order = np.lexsort((-self.l, -self.k))
        best = np.zeros(len(order), dtype=bool)
        highest = -1
        for i in order:
            best[i] = self.l[i] > highest
            highest = max(highest, int(self.l[i]))
        return best


@dataclass(frozen=True)
class Scores:
    """Results of a population, one entry per genome and in its order.

    Losses are sums of integers until the last division, exact wherever the domains have a common
    denominator that fits; see `moanon.kernels.join.LossScale`.
    """

    suppression: Suppression
    rows: int
    columns: int
    scale: int
    raw: RawScores

    def __len__(self) -> int:
        return len(self.raw.fields)

    def field(self, name: str) -> Ints:
        """Integer result by its name in `moanon.kernels.scoring.FIELDS`."""
        return self.raw.fields[:, FIELDS.index(name)]

    def total_share(self, losses: Ints, suppressed: Ints) -> Floats:
        """GL + SL as a fraction of ``n * q``, added up before the division: ties stay ties."""
        return self.share(losses + suppressed * (self.columns * self.scale))

    def share(self, losses: Ints) -> Floats:
        """Integer losses as a fraction of ``n * q``."""
        return losses / float(self.scale * self.rows * self.columns)

    def diversity(self, rule: str) -> Ints:
        """Least ``distinct`` or ``frequency`` diversity of kept groups, over sensitive columns."""
        if self.raw.ell.shape[1] == 0:
            raise ConfigError("diversity needs a sensitive column, and the table has none")
        by_column = self.raw.ell[:, :, ("distinct", "frequency").index(rule)]
        least: Ints = by_column.min(axis=1)
        return least

    def staircase(self, genome: int) -> Staircase:
        """Staircase of one genome; the evaluation must have been asked for it."""
        starts = self.raw.step_starts
        steps = self.raw.steps[starts[genome] : starts[genome + 1]]
        if not len(steps):
            raise ValueError("no staircases here: evaluate with steps=True under a limit")
        pairs = steps.shape[1] == 4
        suppressed = steps[:, -2]
        gl = self.share(steps[:, -1])
        sl = suppressed / self.rows
        loss = self.total_share(steps[:, -1], suppressed)
        return Staircase(steps[:, 0], steps[:, 1] if pairs else None, suppressed, gl, sl, loss)


class Evaluator:
    """Scores genomes of one table.

    Parameters
    ----------
    instance : Instance
    threads : int
        Threads to use; results do not depend on it.

    Examples
    --------
    >>> from moanon.data.table import read_table
    >>> from moanon.data.domain import IntervalSpec, OrderedSpec
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [20, 21, 22, 30, 31, 45], "sex": list("ffmmff")})
    >>> table = read_table(frame, {"age": "quasi", "sex": "quasi"})
    >>> instance = Instance.build(table, {"age": IntervalSpec(10), "sex": OrderedSpec(("f", "m"))})
    >>> from moanon.measures.registry import MEASURES
    >>> genomes = [[0, 0, 0], [0, 0, 1], [1, 1, 1]]
    >>> scores = Evaluator(instance).evaluate(genomes, Suppression("none"))
    >>> MEASURES["k"].of(scores)
    array([6, 2, 1])
    """

    def __init__(self, instance: Instance, threads: int = 1) -> None:
        self.instance = instance
        self.kernel: PopulationKernel = (
            instance.kernel if threads == 1 else instance.make_kernel(threads)
        )

    def evaluate(
        self,
        genomes: npt.ArrayLike,
        suppression: Suppression,
        *,
        steps: bool = False,
        mode: Mode = "auto",
        check: bool = True,
    ) -> Scores:
        """Score genomes under a suppression rule.

        Parameters
        ----------
        genomes : array (genomes, bits)
        suppression : Suppression
        steps : bool
            Also keep each genome's staircase.
        mode : {"auto", "flat", "rollup"}
            How to evaluate; the results are the same.
        check : bool
            Refuse invalid genomes. A search whose operators are closed may leave it out.
        """
        if suppression.kind == "kl-safety" and not self.instance.cells.sensitive:
            raise ConfigError("kl-safety needs a sensitive column, and the table has none")
        matrix = self.instance.layout.check(genomes) if check else np.asarray(genomes)
        rule = suppression.kernel_rule(self.kernel.rows, steps=steps)
        return self._scores(suppression, self.kernel.evaluate(matrix, rule, mode))

    def evaluate_at(
        self, genomes: npt.ArrayLike, thresholds: npt.ArrayLike, suppression: Suppression
    ) -> Scores:
        """Score solutions: genomes, each with the thresholds that settle what it gives up.

        Parameters
        ----------
        genomes : array (genomes, bits)
        thresholds : array (genomes, 2)
            Smallest size and smallest diversity that are kept.
        suppression : Suppression
            The rule that the thresholds come from. It also says how diversity is counted. Ordered
            safety keeps other groups than its thresholds say, and always arrives at the same ones:
            there the rule itself is applied.
        """
        if suppression.kind == "kl-safety" and suppression.safety == "ordered":
            return self.evaluate(genomes, suppression)
        matrix = self.instance.layout.check(genomes)
        given = np.ascontiguousarray(thresholds, dtype=np.int64).reshape(len(matrix), 2)
        rule = suppression.kernel_rule(self.kernel.rows, steps=False)
        rule = rule._replace(suppression=GIVEN, pairs=False)
        return self._scores(suppression, self.kernel.evaluate(matrix, rule, given=given))

    def _scores(self, suppression: Suppression, raw: RawScores) -> Scores:
        columns = len(self.instance.layout.columns)
        return Scores(suppression, self.kernel.rows, columns, self.kernel.losses.scale, raw)
