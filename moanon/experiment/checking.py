"""A configuration and its table, looked at before anything is searched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import floor, log10
from sys import float_info
from typing import TYPE_CHECKING

from moanon.arrays import Ints, Outlined
from moanon.config import Config
from moanon.data.cells import merged_values, raw_group_sizes
from moanon.data.domain import TreeDomain
from moanon.data.table import Role
from moanon.experiment.runner import make_problem, notes_on_table
from moanon.genome import Instance
from moanon.measures import Measure, applicable, find_measure
from moanon.search.problem import AnonymizationProblem
from moanon.wording import Grid, Part, Worded, facts

if TYPE_CHECKING:
    import pandas as pd

#: What the letters stand for that measures are cited with.
_SOURCES = (
    "D: Dewri et al., multi-objective optimization of anonymity and loss; L: Li and Li, the "
    "tradeoff between privacy and utility (2009); M: Marchand, limits of information loss metrics; "
    "C: Dewri et al., on the comparison of disclosure control algorithms."
)
_HEADERS = (
    *("column", "role", "kind", "base values", "bits", "distinct values"),
    "merged before the search",
)


@dataclass(frozen=True, eq=False, repr=False)
class _CheckedConfig(Worded, Outlined):
    """What a configuration makes of its table.

    With `examples`, notes quote values of the table; a notebook that is passed on should not.
    """

    config: Config
    instance: Instance
    problem: AnonymizationProblem
    examples: bool = False

    def parts(self, *, everything: bool = False) -> Iterator[Part]:
        """Describe the columns, the exposure and the task; `everything` adds the measures."""
        yield Grid(_HEADERS, list(self._columns()), right=range(3, 6))
        yield from facts(self._exposure() | self._space() | self._task())
        if everything:
            yield _measures(self.instance)
            yield _SOURCES
        noted = notes_on_table(self.config, self.instance, examples=self.examples)
        yield from (f"note: {note}" for note in (*noted, *self._left_open()))

    def to_frame(self) -> pd.DataFrame:
        """One row per column."""
        import pandas as pd

        return pd.DataFrame(self._columns(), columns=list(_HEADERS))

    def _columns(self) -> Iterator[tuple[str, ...]]:
        table, domains = self.instance.table, self.instance.layout.domains
        for name, role in table.roles.items():
            if role is Role.IDENTIFYING:  # to count names, DuckDB would copy them
                yield (name, role.value, "", "", "", "not counted", "")
                continue
            column, domain = table.columns[name], domains.get(name)
            missing = f" and missing ({column.missing:,})" if column.missing else ""
            distinct = f"{len(column.values):,}{missing}"
            shape, merged = ("", "", ""), ""
            if domain is not None:
                shape = (domain.kind, f"{domain.size:,}", f"{domain.size - 1:,}")
                merged = merged_values(column, domain) or "nothing"
            if name in table.sensitive:
                shape = (f"{self.instance.distance_of(name)} distance", "", "")
            yield (name, role.value, *shape, distinct, merged)

    def _exposure(self) -> dict[str, str]:
        table, counts = self.instance.table, self.instance.cells.counts
        found = {
            "rows": f"{table.rows_in:,} read, {table.rows_dropped:,} dropped for missing values",
            "distinct cells": f"{len(counts):,}",
            "k of the raw table": f"{_smallest(raw_group_sizes(table))}, values as they were read",
            "k of the base table": f"{_smallest(counts)}, the finest a release can show",
        }
        if table.undeclared:
            found["undeclared columns"] = f"{', '.join(table.undeclared)} (dropped on release)"
        return found

    def _space(self) -> dict[str, str]:
        """What is searched: genomes, or boxes that each group has for itself."""
        layout = self.instance.layout
        if not self.config.problem.has_boxes:
            return {"valid genomes": f"{_large(layout.count())} ({layout.bits:,} bits)"}
        blocks = 1
        for domain in layout.domains.values():
            if isinstance(domain, TreeDomain) and not domain.sets:
                blocks *= len(domain.hierarchy.names)
            else:
                blocks *= domain.size * (domain.size + 1) // 2
        return {"possible boxes": _large(blocks)}

    def _task(self) -> dict[str, str]:
        """What is optimized, under which bounds."""
        rule = self.problem.suppression
        task = {
            "objectives": ", ".join(
                f"{measure.name} ({'most' if measure.direction == 'max' else 'least'})"
                for measure in self.problem.measures
            )
        }
        if self.config.problem.has_boxes:
            task["recoding"] = "local: every group has blocks of its own"
        elif rule.kind == "limit":
            task["suppressed"] = f"the worst groups by {rule.by}, within eta"
        elif rule.kind == "weighted-k":
            task["suppressed"] = f"groups below the mean {rule.by} over all rows"
        bounds = [(find_measure(name), bound) for name, bound in rule.constraints]
        bounds += self.problem.table_bounds.items()
        if bounds:
            task["constraints"] = ", ".join(_bound_in_words(*each) for each in bounds)
        return task

    def _left_open(self) -> Iterator[str]:
        """What the configuration leaves open that its author may not have meant to."""
        config = self.config
        if config.weights and not config.problem.objectives:
            weighted = ", ".join(f"{name} {weight:g}" for name, weight in config.weights.items())
            yield (
                f"columns have weights ({weighted}), so the preset minimizes the weighted loss; "
                "name objectives: to choose another"
            )
        from_data = [
            name
            for name, column in config.columns.items()
            if column.kind == "interval" and column.range is None
        ]
        if from_data:
            yield (
                f"the range of {', '.join(from_data)} was taken from the data, so a released label "
                "can show the smallest or largest value even of a suppressed row; declare range: "
                "to avoid that"
            )


def check_config(config: Config, *, examples: bool = False) -> _CheckedConfig:
    """Read the table and the hierarchies of a configuration, and what is to be searched."""
    instance = config.instance()
    return _CheckedConfig(config, instance, make_problem(config, instance), examples)


def _measures(instance: Instance) -> Grid:
    """Every measure that can be taken of the table."""
    rows = []
    for each in applicable(instance):
        better = "high" if each.direction == "max" else "low"
        rows.append((each.name, better, str(each.range), each.unit, each.meaning, each.citation))
    return Grid(("measure", "better", "range", "unit", "meaning", "source"), rows)


def _bound_in_words(measure: Measure, bound: float) -> str:
    if bound == float_info.max:  # nobody's wish: what is infinite could not be ranked
        return f"{measure.name} must be finite"
    return f"{measure.name} {'>=' if measure.direction == 'max' else '<='} {bound:g}"


def _smallest(sizes: Ints) -> str:
    """The smallest group of a table, and how many rows are alone."""
    unique = int((sizes == 1).sum())
    return f"{sizes.min():,} (unique rows: {unique:,}, {unique / sizes.sum():.1%})"


def _large(number: int) -> str:
    """Write a count so that it can be read.

    >>> _large(8192), _large(10**21 * 23 // 10), _large(999_999_999)
    ('8,192', '2.3 x 10^21', '1.0 x 10^9')
    """
    if number < 1_000_000:
        return f"{number:,}"
    exponent = floor(log10(number))
    digits = f"{10 ** (log10(number) - exponent):.1f}"
    return f"1.0 x 10^{exponent + 1}" if digits == "10.0" else f"{digits} x 10^{exponent}"
