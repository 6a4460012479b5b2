"""What is searched: objectives of genomes under a suppression rule, as points to be minimized.

One genome can be several points: every step of its staircase is a solution of its own, a genome
with a threshold (see `moanon.measures.evaluate.Staircase`).
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from moanon.errors import SearchError
from moanon.genome import Instance
from moanon.kernels.scoring import FIELDS
from moanon.measures.evaluate import Evaluator, Scores
from moanon.measures.registry import find_measure, objective_matrix
from moanon.measures.suppression import Suppression

__all__ = ["Points", "SearchProblem"]

Genomes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

#: Measures whose value follows from a step of a staircase.
_ON_STEPS = {"k", "d", "d1", "gl", "sl", "loss", "suppressed", "weighted_k"}
#: The same on a staircase over (k, l).
_ON_PAIRS = {*_ON_STEPS, "d2", "l"}


@dataclass(frozen=True)
class Points:
    """Solutions as points; smaller is better in every column of `values`.

    Attributes
    ----------
    values : array (points, objectives)
    genome : array (points,)
        Row of the genome in the population that was evaluated.
    thresholds : array (points, 2)
        Smallest size and smallest diversity that are kept.
    """

    values: Floats
    genome: Ints
    thresholds: Ints


class SearchProblem:
    """Objectives of one table's genomes.

    Parameters
    ----------
    instance : Instance
    objectives : sequence of str
        Names of registered measures.
    suppression : Suppression
    threads : int
        Results do not depend on it.
    """

    def __init__(
        self,
        instance: Instance,
        objectives: Sequence[str],
        suppression: Suppression,
        threads: int = 1,
    ) -> None:
        self.instance = instance
        self.layout = instance.layout
        self.objectives = tuple(objectives)
        self.measures = [find_measure(name) for name in objectives]
        for measure in self.measures:
            if measure.needs_sensitive and not instance.cells.sensitive:
                raise SearchError(
                    f"objective {measure.name!r} needs a sensitive column, and the table has none"
                )
        self.suppression = suppression
        self.evaluator = Evaluator(instance, threads)
        self.has_steps = (suppression.kind == "limit" and set(objectives) <= _ON_STEPS) or (
            suppression.kind == "kl-safety"
            and suppression.safety == "strict"
            and set(objectives) <= _ON_PAIRS
        )

    def with_eta(self, eta: float) -> SearchProblem:
        """The same problem with another limit of suppression."""
        twin = copy(self)
        twin.suppression = replace(self.suppression, eta=eta)
        return twin

    def values(self, genomes: Genomes) -> Floats:
        """Objectives of genomes under the suppression rule, one row each."""
        scores = self.evaluator.evaluate(genomes, self.suppression, check=False)
        return self._finite(objective_matrix(scores, self.objectives), genomes)

    def points(self, genomes: Genomes) -> Points:
        """All solutions that genomes offer: one for each step, or one each where there are none."""
        return self.both(genomes)[1]

    def both(self, genomes: Genomes) -> tuple[Floats, Points]:
        """Objectives under the suppression rule and all solutions, from one evaluation."""
        scores = self.evaluator.evaluate(
            genomes, self.suppression, steps=self.has_steps, check=False
        )
        values = self._finite(objective_matrix(scores, self.objectives), genomes)
        if not self.has_steps:
            thresholds = scores.raw.fields[:, [FIELDS.index("d1"), FIELDS.index("d2")]]
            return values, Points(values, np.arange(len(genomes)), thresholds)
        return values, self._step_points(scores, genomes)

    def steps(self, genomes: Genomes) -> tuple[Points, Ints]:
        """All solutions of genomes that have staircases, and the rows that each suppresses."""
        scores = self.evaluator.evaluate(genomes, self.suppression, steps=True, check=False)
        return self._step_points(scores, genomes), scores.raw.steps[:, -2]

    def _step_points(self, scores: Scores, genomes: Genomes) -> Points:
        genome = np.repeat(np.arange(len(genomes)), np.diff(scores.raw.step_starts))
        steps = scores.raw.steps
        ell = steps[:, 1] if steps.shape[1] == 4 else np.zeros(len(steps), dtype=np.int64)
        values = self._finite(self._step_values(scores, genome), genomes[genome])
        return Points(values, genome, np.stack([steps[:, 0], ell], axis=1))

    def _step_values(self, scores: Scores, genome: Ints) -> Floats:
        steps = scores.raw.steps
        gl = scores.share(steps[:, -1])
        sl = steps[:, -2] / scores.rows
        found = {
            "k": steps[:, 0],
            "d1": steps[:, 0],
            "d": steps[:, 0] - 1,
            "d2": steps[:, 1],
            "l": steps[:, 1],
            "gl": gl,
            "sl": sl,
            "loss": scores.total_share(steps[:, -1], steps[:, -2]),
            "suppressed": steps[:, -2],
        }
        if "weighted_k" in self.objectives:
            found["weighted_k"] = (scores.field("squares") / scores.rows)[genome]
        columns = [
            -found[measure.name] if measure.direction == "max" else found[measure.name]
            for measure in self.measures
        ]
        return np.stack(columns, axis=1).astype(np.float64)

    def _finite(self, values: Floats, genomes: Genomes) -> Floats:
        """Refuse NaN and infinity: they would count as better than everything."""
        bad = ~np.isfinite(values)
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise SearchError(
                f"objective {self.objectives[column]!r} is {values[row, column]} for the genome "
                f"{self.layout.text(genomes[row])}; the search cannot rank it"
            )
        return values
