"""From an archive to a front: thinned to a cap, and measured once more."""

from __future__ import annotations

from moanon.errors import InfeasibleError
from moanon.front import Front
from moanon.search.archive import Archive, thin
from moanon.search.problem import SearchProblem

__all__ = ["front_of"]


def front_of(problem: SearchProblem, archive: Archive, cap: int) -> Front:
    """Make the front of what a search has found, with at most `cap` solutions.

    Raises
    ------
    InfeasibleError
        If nothing meets the constraints.
    SearchError
        If a solution does not measure as the search saw it.
    """
    if not archive.is_feasible:
        raise InfeasibleError(
            "no solution that was evaluated meets the constraints: the nearest one "
            f"{problem.wanting(archive.genomes, archive.thresholds)}"
        )
    chosen = thin(archive.values, cap)
    return Front.of(
        problem.evaluator,
        problem.suppression,
        problem.objectives,
        archive.genomes[chosen],
        archive.thresholds[chosen],
        values=archive.values[chosen],
        found=len(archive),
        bounds={measure.name: bound for measure, bound in problem.bounds.items()},
    )
