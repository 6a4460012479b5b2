"""What is searched: objectives of genomes under a suppression rule, as points to be minimized.

`AnonymizationProblem` is a problem of pymoo: its variables are the bits of a genome, its objectives
those of what the suppression rule makes of it. But one genome can be several points: every step of
its staircase is a solution of its own, a genome with a threshold (see
`moanon.measures.evaluate.Scores.steps`). An archive takes in all of them.

A solution that breaks a constraint is *infeasible* and never part of a front. How far it is from
being feasible is its *violation*, the sum of pymoo's constraints G: the share of rows that would
have to be suppressed beyond the limit because their groups fail, and for each other bound
x / (1 + x), where x is how much it is missed by, relative to the bound. As long as no solution is
feasible, the least violations lead the search.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from sys import float_info
from typing import Any

import numpy as np
from pymoo.core.problem import Problem

from moanon.arrays import Bits, Bools, Floats, Ints, Outlined, Values
from moanon.errors import ImpossibleError, SearchError
from moanon.genome import Instance
from moanon.measures import Measure, find_measure
from moanon.measures.evaluate import Evaluator, Scores, objective_matrix
from moanon.measures.suppression import Suppression
from moanon.proofs.cut_table import why_not
from moanon.search.operators import Moves

#: Stands in the place of the size threshold of an infeasible solution; the other threshold is then
#: its violation in units of `VIOLATION`.
INFEASIBLE = -1
VIOLATION = 1e-12
#: How a column of points (negated where more is better) becomes another.
Scale = Callable[[Floats], Floats]


@dataclass(frozen=True, repr=False)
class Points(Outlined):
    """Solutions as points; smaller is better in every column of `values`.

    Thresholds are the smallest size and the smallest diversity (or class of what the rule goes by)
    that are kept; or `INFEASIBLE` and the violation.
    """

    values: Floats  # (points, objectives)
    genome: Ints  # (points,): row of the genome in the population that was evaluated
    thresholds: Ints  # (points, 2)

    def only(self, chosen: Bools) -> Points:
        """Some of the points."""
        return Points(self.values[chosen], self.genome[chosen], self.thresholds[chosen])


class AnonymizationProblem(Problem):  # type: ignore[misc]
    """Objectives of one table's genomes, as a problem of pymoo and for searches of moanon.

    Parameters
    ----------
    instance : Instance
    objectives : sequence of str
        Names of registered measures.
    suppression : Suppression
    threads : int
        Results do not depend on it.
    constraints : mapping of str to float, optional
        Bounds on registered measures, each in its better direction. Those on measures of groups
        are added to the constraints of `suppression`: groups that fail them are suppressed.
    steps : bool
        Whether every step of a genome's staircase is a solution, where it has one; else only that
        at which the rule arrives, as D has it.

    Examples
    --------
    >>> problem = AnonymizationProblem.from_config("configs/adult/problem2.yaml")
    >>> problem.n_var, problem.n_obj, problem.objectives
    (101, 2, ('k', 'gl'))
    """

    def __init__(
        self,
        instance: Instance,
        objectives: Sequence[str],
        suppression: Suppression,
        threads: int = 1,
        constraints: Mapping[str, float] | None = None,
        *,
        steps: bool = True,
    ) -> None:
        self.instance = instance
        self.layout = instance.layout
        self.objectives = tuple(objectives)
        self.measures = [find_measure(name) for name in objectives]
        bounds = {find_measure(name): bound for name, bound in (constraints or {}).items()}
        for what, measures in (("objective", self.measures), ("constraint", bounds)):
            for measure in measures:
                if (reason := measure.why_not(instance)) is not None:
                    raise SearchError(f"{what} {measure.name!r} {reason}")
                if (reason := _why_no_threshold(measure, suppression)) is not None:
                    raise SearchError(f"{what} {measure.name!r} {reason}")
                _check_reach(instance, measure, bounds.get(measure))
        self.table_bounds = {m: bound for m, bound in bounds.items() if not m.group}
        of_groups = {m.name: bound for m, bound in bounds.items() if m.group}
        for measure in self.measures:
            if measure.group and measure.range.has_infinity:  # such groups could not be ranked
                of_groups.setdefault(measure.name, float_info.max)
        self.suppression = replace(
            suppression, constraints=(*suppression.constraints, *of_groups.items())
        )
        self.threads = threads
        self.evaluator = Evaluator(instance, threads)
        self.names = tuple(dict.fromkeys((*objectives, *(m.name for m in self.table_bounds))))
        pairs = suppression.kind == "kl-safety" and suppression.safety == "strict"
        # What is taken of one release at a time would take as long again for every step.
        by_steps = not any(find_measure(name).reads_groups for name in self.names)
        self.has_steps = steps and by_steps and (suppression.kind == "limit" or pairs)
        self._scales: list[Scale] = []
        super().__init__(
            n_var=self.layout.bits,
            n_obj=len(self.objectives),
            n_ieq_constr=1 + len(self.table_bounds) if self.is_constrained else 0,
            xl=0,
            xu=1,
            vtype=bool,
        )

    @classmethod
    def from_config(cls, path: str | Path, threads: int = 1) -> AnonymizationProblem:
        """What a configuration file optimizes, under the widest of its limits.

        Raises
        ------
        MoanonError
            If the configuration is wrong, does not fit its data, or asks for local recodings, which
            are not made of genomes.
        """
        from moanon.experiment.runner import read_problem  # a convenience for pymoo's users

        return read_problem(path, threads)

    def scaled(self) -> AnonymizationProblem:
        """The same problem with objectives on [0, 1] (`scale_of`), as far as ranges are known.

        For algorithms of pymoo that weigh objectives against each other, such as MOEA/D. What
        dominates what stays the same.
        """
        twin = copy(self)
        scales = [scale_of(measure, self.instance) for measure in self.measures]
        twin._scales = [scale or (lambda values: values) for scale in scales]
        return twin

    def __deepcopy__(self, memo: object) -> AnonymizationProblem:
        """Itself: it never changes, and pymoo's history copies all that an algorithm holds."""
        return self

    @cached_property
    def moves(self) -> Moves:
        """Small changes of its genomes."""
        return Moves(self.layout)

    @property
    def is_constrained(self) -> bool:
        """Whether a solution can be infeasible."""
        return bool(self.table_bounds or self.suppression.constraints)

    @property
    def why_unprovable(self) -> str | None:
        """Why nothing can be proven about its solutions, as a sentence; None if it can."""
        return why_not(
            self.objectives, self.suppression, [bound.name for bound in self.table_bounds]
        )

    def with_eta(self, eta: float) -> AnonymizationProblem:
        """The same problem with another limit of suppression."""
        twin = copy(self)
        twin.suppression = replace(self.suppression, eta=eta)
        return twin

    def points(self, genomes: Bits) -> Points:
        """All solutions that genomes offer: one for each step, or one each where there are none."""
        return self._points(self._scores(genomes, steps=self.has_steps), genomes)

    def measured(self, genomes: Bits) -> tuple[Floats, Floats, Points]:
        """Objectives and constraints under the suppression rule, and all solutions.

        The former are one row for each genome, as pymoo sees them (F and G).
        """
        scores = self._scores(genomes, steps=self.has_steps)
        values, missed = self._measured(scores, genomes, np.arange(len(genomes)))
        return self.seen(values), missed, self._points(scores, genomes)

    def seen(self, values: Floats) -> Floats:
        """Objectives (rows) as pymoo sees them: on the scales of a problem that has some."""
        if not self._scales:
            return values
        columns = [scale(values[:, place]) for place, scale in enumerate(self._scales)]
        return np.stack(columns, axis=1)

    def _evaluate(self, x: Any, out: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        """Evaluate a population of pymoo; refuses genomes that are not valid."""
        genomes = self.layout.check(np.asarray(x).astype(np.uint8))
        out["F"], out["G"], _ = self.measured(genomes)

    def wanting(self, genomes: Bits, thresholds: Ints) -> str:
        """Say what the nearest of some infeasible solutions lacks."""
        scores = self._scores(genomes[thresholds[:, 1].argmin()][None])
        limit = self.suppression.most_rows(scores.rows)
        lacks = []
        if scores.excess[0] > 0:
            failing = scores.field("failing")[0]
            lacks.append(f"would have to suppress {failing:,} rows (at most {limit:,})")
        for measure, bound in self.table_bounds.items():
            value = measure.of(scores)[0]
            if _missed(measure, bound, np.array([value]))[0] > 0:
                side = "at least" if measure.direction == "max" else "at most"
                lacks.append(f"has {measure.name} {value:.6g} ({side} {bound:g})")
        return " and ".join(lacks)

    # -- values ------------------------------------------------------------------------------------

    def _scores(self, genomes: Bits, *, steps: bool = False) -> Scores:
        return self.evaluator.evaluate(
            genomes, self.suppression, measures=self.names, steps=steps, check=False
        )

    def _measured(self, scores: Scores, genomes: Bits, genome: Ints) -> tuple[Floats, Floats]:
        """Objectives and constraints of each entry; infeasible ones have some finite objectives.

        `genome` says which of the genomes an entry is of. Constraints are met where they are 0.
        """
        values = objective_matrix(scores, self.objectives)
        columns = [scores.excess]
        for measure, bound in self.table_bounds.items():
            columns.append(_missed(measure, bound, measure.of(scores)))
        missed = np.stack(columns, axis=1)
        infeasible = (missed > 0).any(axis=1)
        values[infeasible] = np.nan_to_num(values[infeasible], nan=0.0, posinf=0.0, neginf=0.0)
        return self._finite(values, genomes, genome), missed[:, : self.n_ieq_constr]

    def _points(self, scores: Scores, genomes: Bits) -> Points:
        """The feasible solutions, and the nearest infeasible one of each genome without any."""
        parts = [(scores, np.arange(len(genomes)))]
        if self.has_steps and len(scores.step_genome):  # under constraints there may be none at all
            steps = (self._steps_of(scores, genomes), scores.step_genome)
            parts = [steps, *parts] if self.is_constrained else [steps]
        found = []
        for each, genome in parts:
            values, missed_by = self._measured(each, genomes, genome)
            violation = missed_by.sum(axis=1)
            rule = np.stack([each.field("d1"), each.field("d2")], axis=1)
            missed = np.ceil(violation / VIOLATION).astype(np.int64)
            infeasible = np.stack([np.full(len(missed), INFEASIBLE), missed], axis=1)
            thresholds = np.where(violation[:, None] > 0, infeasible, rule)
            found.append(Points(values, genome, thresholds))
        if not self.is_constrained:
            return found[0]
        return _chosen(found, len(genomes))

    def _steps_of(self, scores: Scores, genomes: Bits) -> Scores:
        """Scores at all steps; those over pairs that tell too little are measured one by one."""
        steps = scores.steps()
        if self.suppression.kind != "kl-safety" or all(
            find_measure(name).on_pairs for name in self.names
        ):
            return steps
        pairs = np.stack([steps.field("d1"), steps.field("d2")], axis=1)
        return self.evaluator.evaluate_at(
            genomes[scores.step_genome], pairs, self.suppression, measures=self.names
        )

    def _finite(self, values: Floats, genomes: Bits, genome: Ints) -> Floats:
        """Refuse NaN and infinity: they would count as better than everything."""
        bad = ~np.isfinite(values)
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise SearchError(
                f"objective {self.objectives[column]!r} is {values[row, column]} for the genome "
                f"{self.layout.text(genomes[genome[row]])}; the search cannot rank it"
            )
        return values


def scale_of(measure: Measure, instance: Instance) -> Scale | None:
    """How an objective becomes a cost in [0, 1]: 0 is the best that the table could allow.

    Sizes of groups go by their logarithm. None where the range of a measure is not known.
    """
    found = _share(measure, instance)
    if found is None:
        return None

    def scale(points: Floats) -> Floats:
        with np.errstate(divide="ignore"):  # an infeasible solution may have no group at all
            costs = 1.0 - found(-points) if measure.direction == "max" else found(points)
        return np.clip(costs, 0.0, 1.0)

    return scale


def _share(measure: Measure, instance: Instance) -> Scale | None:
    rows = instance.cells.rows
    values = max((len(column.labels) for column in instance.cells.sensitive), default=1)
    if measure.unit.startswith("share") or measure.unit == "distance":
        return lambda numbers: numbers
    if measure.unit == "values":
        return lambda numbers: numbers / values
    if measure.unit in ("rows", "groups", "rows²"):
        add = 1 if measure.range.low == 0 else 0  # counts that can be 0 have no logarithm
        most = np.log(max(rows + add, 2)) * (2 if measure.unit == "rows²" else 1)
        return lambda numbers: np.log(numbers + add) / most
    if measure.most is not None:
        largest = measure.most(instance)
        return lambda numbers: numbers / largest
    return None


def _why_no_threshold(measure: Measure, rule: Suppression) -> str | None:
    """Why a threshold of a suppression rule says nothing under another, as a sentence's end."""
    if measure.name == "d2" and rule.kind != "kl-safety":
        return f"is a threshold of kl-safety, and the rule is {rule.kind}"
    if measure.name == "weighted_l":
        return None if rule.by == "l" else "is of the presets that take suppress_by: l"
    if measure.of_rule and rule.by != "k":
        return f"is a threshold of sizes, and groups are given up by {rule.by}"
    return None


def _check_reach(instance: Instance, measure: Measure, bound: float | None) -> None:
    """Refuse a bound that no group can meet, whatever the generalization."""
    if bound is None or not measure.group or measure.direction == "min":
        return
    most, why = instance.cells.rows, "the table has so many rows"
    if measure.name != "k":
        poorest = min(instance.cells.sensitive, key=lambda column: len(column.labels))
        most, why = len(poorest.labels), f"column {poorest.name!r} has so many values"
    if measure.worst(bound) > most:
        raise ImpossibleError(
            f"no group can have {measure.name} {bound:g}: it is at most {most}, because {why}"
        )


def _missed(measure: Measure, bound: float, values: Values) -> Floats:
    """By how much values miss a bound, relative to it: 0 where they meet it, always below 1."""
    short = bound - values if measure.direction == "max" else values - bound
    share = np.maximum(short, 0.0) / max(abs(bound), 1e-9)
    missed = np.where(np.isfinite(share), share / (1 + share), 1.0)
    return np.where(measure.meets(values, bound), 0.0, missed)


def _chosen(parts: Sequence[Points], genomes: int) -> Points:
    """All feasible points, and of a genome without one that with the least violation."""
    values = np.concatenate([part.values for part in parts])
    genome = np.concatenate([part.genome for part in parts])
    thresholds = np.concatenate([part.thresholds for part in parts])
    feasible = thresholds[:, 0] != INFEASIBLE
    # What the rule arrives at is among the steps, where there are any.
    chosen = feasible & (np.arange(len(genome)) < len(parts[0].genome))
    settled = np.zeros(genomes, dtype=bool)
    settled[genome[chosen]] = True
    order = np.lexsort((thresholds[:, 1], genome))
    order = order[~settled[genome[order]]]
    _, nearest = np.unique(genome[order], return_index=True)
    chosen[order[nearest]] = True
    return Points(values, genome, thresholds).only(chosen)
