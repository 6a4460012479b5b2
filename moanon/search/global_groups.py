"""What a local search begins with: groups of global recodings are groups, too.

Splitting from the whole table down can miss groups that one cut of every column makes at once. So
the solutions of a short search among genomes are offered as well; with the smallest boxes around
their groups they lose no more than they did. Where that search sees every genome, a local front is
never worse than the global one.
"""

from __future__ import annotations

from collections.abc import Iterator

from moanon.arrays import Ints
from moanon.recoding import GlobalRecodings
from moanon.search.archive_search import ArchiveSearch, ExhaustiveSearch
from moanon.search.problem import SearchProblem

#: Genomes that are evaluated, in generations of so many; a smaller space is enumerated.
_EVALUATIONS, _POPULATION = 10_000, 200
#: The search draws the same numbers every time.
_SEED = 0


def find_global_groups(problem: SearchProblem) -> Iterator[Ints]:
    """Search among genomes; give the group of each cell in what is found, -1 where suppressed.

    Nothing is given where each genome would have to be measured by itself, which takes too long.
    """
    if not problem.has_steps:
        return
    search: ArchiveSearch | ExhaustiveSearch
    if problem.layout.count() <= _EVALUATIONS:
        search = ExhaustiveSearch(problem, _POPULATION)
    else:
        search = ArchiveSearch(problem, _POPULATION, _SEED)
    while not search.exhausted and search.evaluations < _EVALUATIONS and search.step():
        pass
    search.finish()
    archive = search.archive
    if not archive.is_feasible:
        return
    archive.sort()
    found = GlobalRecodings(archive.genomes, archive.thresholds, problem.suppression)
    for row in range(len(found)):
        group = found.grouping(row, problem.instance).released().cell_group
        assert group is not None  # a genome puts whole cells together
        yield group
