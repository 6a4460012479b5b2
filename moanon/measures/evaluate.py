"""Scoring a population of genomes under a suppression rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from moanon.arrays import Bits, Ints
from moanon.data.domain import TreeDomain
from moanon.errors import ConfigError
from moanon.genome import Instance, Layout
from moanon.grouping import Grouping
from moanon.kernels.population import Mode, PopulationKernel, RawScores
from moanon.kernels.selection import GroupRule
from moanon.kernels.thresholds import GIVEN
from moanon.measures.demand import Demand, demand_of, group_rule
from moanon.measures.measure import find_measure
from moanon.measures.scores import Scores
from moanon.measures.suppression import Suppression

#: Measured where nobody says what is wanted, if there is a sensitive column.
_USUAL = ("l_distinct", "l_frequency")


class Evaluator:
    """Scores genomes of one table.

    Parameters
    ----------
    instance : Instance
    threads : int
        Threads to use; results do not depend on it.

    Examples
    --------
    >>> from moanon.engines import read_table
    >>> from moanon.data.domain import IntervalSpec, OrderedSpec
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [20, 21, 22, 30, 31, 45], "sex": list("ffmmff")})
    >>> table = read_table(frame, {"age": "quasi", "sex": "quasi"})
    >>> instance = Instance.build(table, {"age": IntervalSpec(10), "sex": OrderedSpec(("f", "m"))})
    >>> from moanon.measures import MEASURES
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
        measures: Sequence[str] | None = None,
        steps: bool = False,
        mode: Mode = "auto",
        check: bool = True,
    ) -> Scores:
        """Score genomes under a suppression rule.

        Parameters
        ----------
        genomes : array (genomes, bits)
        suppression : Suppression
        measures : sequence of str, optional
            Names of the measures that will be read off; what they do not need is not computed.
            Default: those that follow from sizes, losses and counts of sensitive values.
        steps : bool
            Also keep each genome's staircase.
        mode : {"auto", "flat", "rollup"}
            How to evaluate; the results are the same.
        check : bool
            Refuse invalid genomes. A search whose operators are closed may leave it out.
        """
        matrix = self.instance.layout.check(genomes) if check else np.asarray(genomes)
        rule = self._rule(suppression, measures, steps)
        return self._scores(suppression, matrix, rule, self.kernel.evaluate(matrix, rule, mode))

    def evaluate_at(
        self,
        genomes: npt.ArrayLike,
        thresholds: npt.ArrayLike,
        suppression: Suppression,
        *,
        measures: Sequence[str] | None = None,
    ) -> Scores:
        """Score solutions: genomes, each with the thresholds that settle what it gives up.

        Parameters
        ----------
        genomes : array (genomes, bits)
        thresholds : array (genomes, 2)
            Smallest size and smallest diversity (or class of what the rule goes by) that are kept.
        suppression : Suppression
            The rule that the thresholds come from. It also says how diversity is counted, and which
            groups fail constraints. Ordered safety keeps other groups than its thresholds say, and
            always arrives at the same ones: there the rule itself is applied.
        measures : sequence of str, optional
            As for `evaluate`.
        """
        if suppression.is_ordered:
            return self.evaluate(genomes, suppression, measures=measures)
        matrix = self.instance.layout.check(genomes)
        given = np.ascontiguousarray(thresholds, dtype=np.int64).reshape(len(matrix), 2)
        rule = self._rule(suppression, measures, steps=False)._replace(suppression=GIVEN)
        raw = self.kernel.evaluate(matrix, rule, given=given)
        return self._scores(suppression, matrix, rule, raw)

    def kept_sizes(
        self, genomes: npt.ArrayLike, thresholds: npt.ArrayLike, suppression: Suppression
    ) -> list[Ints]:
        """Sizes of the groups that each of some solutions keeps; parameters as of `evaluate_at`."""
        matrix = self.instance.layout.check(genomes)
        rule = group_rule(suppression, self.kernel.rows)
        if not suppression.is_ordered:
            rule = rule._replace(suppression=GIVEN)
        given = np.ascontiguousarray(thresholds, dtype=np.int64).reshape(len(matrix), 2)
        starts, sizes = self.kernel.kept_sizes(matrix, rule, given)
        return [sizes[start:stop] for start, stop in pairwise(starts.tolist())]

    def _rule(
        self, suppression: Suppression, measures: Sequence[str] | None, steps: bool
    ) -> GroupRule:
        """The rule with all that must be measured."""
        if suppression.needs_sensitive and not self.instance.cells.sensitive:
            what = "kl-safety" if suppression.kind == "kl-safety" else "the suppression rule"
            raise ConfigError(f"{what} needs a sensitive column, and the table has none")
        if measures is None:
            measures = _USUAL if self.instance.cells.sensitive else ()
        wanted = [find_measure(name) for name in measures]
        for measure in wanted:
            if (reason := measure.why_not(self.instance)) is not None:
                raise ConfigError(f"{measure.name} {reason}")
        demand = demand_of(wanted, self.instance)
        return group_rule(suppression, self.kernel.rows, demand, steps=steps)

    def _scores(
        self, suppression: Suppression, genomes: Bits, rule: GroupRule, raw: RawScores
    ) -> Scores:
        levels = partial(cut_levels, self.instance.layout, genomes)
        scale = self.kernel.losses.scale
        groupings = partial(_groupings, self.instance, suppression, genomes)
        return Scores(
            self.instance, suppression, scale, raw, Demand.met_by(rule), levels, groupings
        )


def _groupings(
    instance: Instance, suppression: Suppression, genomes: Bits, entry: Ints, thresholds: Ints
) -> Iterator[Grouping]:
    """The groupings of some genomes under a rule that has arrived at thresholds."""
    from moanon.measures.measuring import suppress_groups  # which goes by what stands here

    for genome, threshold in zip(genomes[entry], thresholds, strict=True):
        yield suppress_groups(Grouping.of_genome(instance, genome), suppression, threshold)


def cut_levels(layout: Layout, genomes: Bits) -> Ints:
    """Level of each tree column (genomes, tree columns): the lowest that is as general as its cut.

    A node that is not expanded stands at least at its own height.
    """
    found = [np.zeros((len(genomes), 0), dtype=np.int64)]
    for _, domain, place in layout.slices():
        if isinstance(domain, TreeDomain):
            tree = domain.hierarchy
            collapsed = 1 - genomes[:, place][:, tree.first_boundary].astype(np.int64)
            heights = tree.heights[tree.inner]
            found.append((collapsed * heights).max(axis=1, initial=0)[:, None])
    return np.concatenate(found, axis=1)
