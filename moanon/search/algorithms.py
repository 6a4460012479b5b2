"""The algorithms by name: what each is, which settings it takes, and how it is built.

Configurations read this register, so it imports nothing slow: an algorithm's module is loaded when
a search is built. A new algorithm is a class that keeps to `Search`, and a line in `ALGORITHMS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Literal, Protocol

from moanon.errors import SearchError

if TYPE_CHECKING:
    from moanon.arrays import Bits, Floats
    from moanon.search.archive import Archive
    from moanon.search.checkpoint import State
    from moanon.search.problem import SearchProblem

#: Where no limit is given: the budget of D's runs, 250 generations of 200. The default search goes
#: on until its front has stalled, from the first of these numbers of evaluations on …
DEFAULT_EVALUATIONS, STALL_FROM = 50_000, 30_000
#: … that is, the second half of its evaluations gained less than this share of the hypervolume.
STALLED = 0.0005
#: It ends at the latest after so many evaluations for each bit, but never after more than these.
PER_BIT, MOST_EVALUATIONS = 2_000, 500_000
#: The name that leaves the choice to `choose_algorithm` …
AUTO = "auto"
#: … which enumerates spaces up to this size, some ten seconds; larger ones are bred from the
#: archive. Tables of more than ten thousand cells take longer, and more of them are bred.
AUTO_EXHAUSTIVE, _ALWAYS_EXHAUSTIVE, _MOST_CELLS = 300_000, 20_000, 10_000
#: Larger spaces are never enumerated: at some 50 µs a genome this is a few minutes.
MOST_GENOMES = 2_000_000
#: Evaluations per second that even a slow machine manages.
_SLOWEST = 1_000
#: Why a search among genomes is complete.
ALL_GENOMES = "every valid genome was evaluated"
#: Settings that mean something to everybody, even if the result does not depend on them.
_COMMON = frozenset({"population", "seed"})


class Found(Protocol):
    """What a search has found, as points of which less is better in every column."""

    @property
    def values(self) -> Floats:
        """Objectives, one row for each solution."""
        ...

    @property
    def is_feasible(self) -> bool:
        """Whether they meet the constraints, all of them or none."""
        ...


class Search(Protocol):
    """An algorithm that can be stopped between any two steps and go on from its saved state."""

    problem: SearchProblem
    generation: int
    #: Why it ends when it is exhausted, as part of a sentence.
    complete: str

    @property
    def archive(self) -> Found:
        """What it has found so far."""
        ...

    @property
    def space(self) -> int:
        """Evaluations after which it is exhausted."""
        ...

    @property
    def evaluations(self) -> int:
        """Genomes evaluated so far."""
        ...

    @property
    def exhausted(self) -> bool:
        """Whether there is nothing left to evaluate."""
        ...

    def step(self, most: int | None = None) -> int:
        """Evaluate one more generation, at most `most` genomes; return how many it was."""
        ...

    def refresh(self) -> bool:
        """Go on in another way now that the front has stalled; False where there is none."""
        ...

    def finish(self) -> int:
        """Do what is worth doing once, at the end; return how many genomes were evaluated more."""
        ...

    def state(self) -> State:
        """Everything the next step depends on."""
        ...

    def restore(self, state: State) -> None:
        """Go on from a saved state."""
        ...


class GenomeSearch(Search, Protocol):
    """A search among genomes, which other searches can give a head start."""

    @property
    def archive(self) -> Archive:
        """What it has found so far."""
        ...

    def inherit(self, archive: Archive, evaluated: Bits) -> None:
        """Begin with the archive and the evaluated genomes (packed) of other searches."""
        ...


@dataclass(frozen=True)
class Algorithm:
    """What an algorithm does in a few words, where it is, and what it takes.

    Attributes
    ----------
    home : tuple of str
        The module of this package and the class in it, which is called with a problem, `room` and
        the settings.
    settings : tuple of str
        Keys of a configuration's search section that it takes.
    room : int
        Most solutions that its archive holds while searching, unless more are asked for in the end.
    plans : bool
        Whether it is told its `budget`, the evaluations that there will be at most.
    """

    about: str
    home: tuple[str, str]
    settings: tuple[str, ...]
    room: int = 8_000
    plans: bool = False


#: Algorithms by the names that configurations use.
ALGORITHMS = {
    "archive": Algorithm(
        "breeds from all undominated solutions",
        ("archive_search", "ArchiveSearch"),
        ("population", "seed"),
        plans=True,
    ),
    "exhaustive": Algorithm(
        "the exact front",
        ("archive_search", "ExhaustiveSearch"),
        ("population",),
        room=100_000,  # it is there to be exact
    ),
    "nsga2": Algorithm(
        "the search of the multi-objective paper, with pymoo",
        ("nsga2", "NSGA2Search"),
        ("population", "seed", "crossover", "mutation", "moves", "tree_crossover", "front_of"),
    ),
    "local": Algorithm(
        "of local recodings: boxes split from the whole table down; ends by itself",
        ("local", "LocalSearch"),
        (),
    ),
}

Recoding = Literal["global", "local"]


class SearchSettings(Protocol):
    """The search section of a configuration, as far as every algorithm needs it."""

    algorithm: str
    population: int
    generations: int | None
    evaluations: int | None
    seconds: float | None
    stall: int | None
    cap: int


def choose_algorithm(
    space: int, settings: SearchSettings, recoding: Recoding = "global", *, cells: int
) -> str:
    """Settle what ``auto`` means for a space of so many genomes; for boxes there is one algorithm.

    Enumeration where the space has at most `AUTO_EXHAUSTIVE` genomes (fewer on a table of many
    cells) and the limits leave room for all of them; half an enumeration would be worse than any
    search.
    """
    if recoding == "local":
        return "local"
    if settings.algorithm != AUTO:
        return settings.algorithm
    fewer = max(AUTO_EXHAUSTIVE * _MOST_CELLS // max(cells, 1), _ALWAYS_EXHAUSTIVE)
    budgets = [AUTO_EXHAUSTIVE, fewer]
    return "exhaustive" if space <= min([*budgets, *_budgets(settings)]) else "archive"


def _budgets(settings: SearchSettings) -> list[int]:
    """Evaluations that each of the given limits leaves room for, at least."""
    found = []
    if settings.evaluations is not None:
        found.append(settings.evaluations)
    if settings.generations is not None:
        found.append(settings.generations * settings.population)
    if settings.seconds is not None:
        found.append(int(settings.seconds * _SLOWEST))
    return found


def default_limit(bits: int) -> int:
    """Evaluations after which the default search ends even if its front still grows."""
    return min(max(DEFAULT_EVALUATIONS, PER_BIT * bits), MOST_EVALUATIONS)


def make_search(problem: SearchProblem, settings: SearchSettings) -> GenomeSearch:
    """Build the search among genomes that settings ask for, before its first generation."""
    cells = len(problem.instance.cells)
    name = choose_algorithm(problem.layout.count(), settings, cells=cells)
    if name not in ALGORITHMS:
        known = ", ".join((AUTO, *ALGORITHMS))
        raise SearchError(f"algorithm must be one of {known}. Got {name}")
    module, kind = ALGORITHMS[name].home
    build: Callable[..., GenomeSearch] = getattr(import_module(f"moanon.search.{module}"), kind)
    chosen = {setting: getattr(settings, setting) for setting in ALGORITHMS[name].settings}
    if ALGORITHMS[name].plans:
        bits = problem.layout.bits
        chosen["budget"] = min(_budgets(settings), default=default_limit(bits))
    return build(problem, room=room_of(settings, name), **chosen)


def room_of(settings: SearchSettings, algorithm: str) -> int:
    """Most solutions that an archive holds while searching."""
    return max(ALGORITHMS[algorithm].room, settings.cap)


def foreign_settings(algorithm: str) -> dict[str, str]:
    """Settings that an algorithm has no use for, and the name of one that has."""
    return {
        setting: name
        for name, other in ALGORITHMS.items()
        for setting in other.settings
        if setting not in _COMMON and setting not in ALGORITHMS[algorithm].settings
    }
