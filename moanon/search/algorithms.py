"""The algorithms by name: what each is, which settings it takes, how it is built, how long it goes.

Configurations read this register, so it imports nothing slow: an algorithm's module is loaded when
a search is built. A new algorithm is a subclass of `Search`, and a line in `ALGORITHMS`.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from math import comb
from typing import TYPE_CHECKING, Any, Literal, Protocol

from moanon.errors import SearchError

if TYPE_CHECKING:
    from moanon.search.problem import AnonymizationProblem
    from moanon.search.running import Search

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
#: Most points of a curve that are kept.
_MOST_POINTS = 60
#: Up to this share of the hypervolume, the last tenth of the evaluations gained nothing to speak
#: of; from the other one on, there is more to be found.
_LITTLE, _MUCH = 0.001, 0.01


Recoding = Literal["global", "local"]


@dataclass(frozen=True)
class Algorithm:
    """What an algorithm does in a few words, where it is, and what it takes.

    Its class is called with a problem, `room` and the settings.
    """

    about: str
    home: tuple[str, str]  # the module of this package and the class in it
    settings: tuple[str, ...]  # keys of a configuration's search section
    room: int = 8_000  # most solutions of its archive, unless more are asked for in the end
    plans: bool = False  # whether it takes a budget, the evaluations that there will be at most
    recoding: Recoding = "global"
    objectives: tuple[int, int] = (1, 99)  # least and largest number
    constrained: bool = True  # whether it takes constraints

    def load(self) -> type[Search]:
        """Load the class."""
        module, name = self.home
        kind: type[Search] = getattr(import_module(f"moanon.search.{module}"), name)
        return kind


#: Where algorithms of pymoo are, and the settings they take; some also reference directions.
_BY_PYMOO = (
    ("pymoo_search", "PymooSearch"),
    ("population", "seed", "crossover", "mutation", "moves", "tree_crossover", "front_of"),
)
_DIRECTED = (_BY_PYMOO[0], (*_BY_PYMOO[1], "partitions"))
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
    "nsga2": Algorithm("pymoo's NSGA-II, the search of the multi-objective paper", *_BY_PYMOO),
    "nsga3": Algorithm("pymoo's NSGA-III", *_DIRECTED, objectives=(2, 10)),
    "unsga3": Algorithm("pymoo's U-NSGA-III", *_DIRECTED, objectives=(2, 10)),
    "smsemoa": Algorithm(
        "pymoo's SMS-EMOA", *_BY_PYMOO, objectives=(2, 4)
    ),  # of more, hypervolumes take too long
    "agemoea": Algorithm("pymoo's AGE-MOEA", *_BY_PYMOO, objectives=(2, 10)),
    "moead": Algorithm("pymoo's MOEA/D", *_DIRECTED, objectives=(2, 10), constrained=False),
    "local": Algorithm(
        "of local recodings: boxes split from the whole table down; ends by itself",
        ("local", "LocalSearch"),
        (),
        room=1_000_000,  # it is never short of room: targets are few
        recoding="local",
    ),
}


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
    """Choose what ``auto`` means for a space of so many genomes; for boxes there is one algorithm.

    Enumeration where the space has at most `AUTO_EXHAUSTIVE` genomes (fewer on a table of many
    cells) and the limits leave room for all of them; half an enumeration would be worse than any
    search.
    """
    if settings.algorithm != AUTO:
        return settings.algorithm
    if recoding != "global":
        return next(name for name, each in ALGORITHMS.items() if each.recoding == recoding)
    fewer = max(AUTO_EXHAUSTIVE * _MOST_CELLS // max(cells, 1), _ALWAYS_EXHAUSTIVE)
    budgets = [AUTO_EXHAUSTIVE, fewer]
    return "exhaustive" if space <= min([*budgets, *_budgets(settings)]) else "archive"


def _budgets(settings: SearchSettings) -> list[int]:
    """Evaluations that each of the given limits leaves room for, at least."""
    given = (settings.evaluations, settings.generations, settings.seconds)
    each = (1, settings.population, _SLOWEST)
    pairs = zip(given, each, strict=True)
    return [int(limit * genomes) for limit, genomes in pairs if limit is not None]


def default_limit(bits: int) -> int:
    """Evaluations after which the default search ends even if its front still grows."""
    return min(max(DEFAULT_EVALUATIONS, PER_BIT * bits), MOST_EVALUATIONS)


def make_search(
    problem: AnonymizationProblem, settings: SearchSettings, algorithm: str | None = None
) -> Search:
    """Build the search that settings ask for, before its first generation.

    `algorithm` is its name where ``auto`` has been settled already.
    """
    layout, cells = problem.layout, len(problem.instance.cells)
    name = algorithm or choose_algorithm(layout.count(), settings, cells=cells)
    if name not in ALGORITHMS:
        known = ", ".join((AUTO, *ALGORITHMS))
        raise SearchError(f"algorithm must be one of {known}. Got {name}")
    entry = ALGORITHMS[name]
    chosen: dict[str, Any] = {key: getattr(settings, key) for key in entry.settings}
    if entry.plans:
        chosen["budget"] = min(_budgets(settings), default=default_limit(layout.bits))
    build: Any = entry.load()
    if entry.home == _BY_PYMOO[0]:
        chosen["algorithm"] = name
    search: Search = build(problem, room=room_of(settings, name), **chosen)
    return search


def room_of(settings: SearchSettings, algorithm: str) -> int:
    """Most solutions that an archive holds while searching."""
    return max(ALGORITHMS[algorithm].room, settings.cap)


def foreign_settings(algorithm: str) -> dict[str, str]:
    """Settings that an algorithm has no use for, and the name of one that has."""
    return {
        setting: name
        for name, other in reversed(ALGORITHMS.items())  # the first one that has it remains
        for setting in other.settings
        if setting not in _COMMON and setting not in ALGORITHMS[algorithm].settings
    }


# -- how long a search goes, and whether that was enough -------------------------------------------


@dataclass(frozen=True)
class Stop:
    """When to stop: at the first of the limits that are set.

    From `stalled` evaluations on, it stops when the second half of all evaluations has gained less
    than `STALLED` of the hypervolume.
    """

    generations: int | None = None
    evaluations: int | None = None
    seconds: float | None = None  # on the clock, over all resumptions
    stall: int | None = None  # generations in which the hypervolume grew by less than a millionth
    stalled: int | None = None

    @classmethod
    def of(cls, settings: SearchSettings) -> Stop:
        """The limits that settings name."""
        return cls(settings.generations, settings.evaluations, settings.seconds, settings.stall)

    @property
    def is_set(self) -> bool:
        """Whether there is a limit at all."""
        return self != Stop()


@dataclass(frozen=True)
class Convergence:
    """How the hypervolume of what was found grew.

    Local searches evaluate `targets`, each of which is solved as well as it goes, and not
    solutions.
    """

    evaluations: tuple[int, ...]  # rising
    hypervolumes: tuple[float, ...]  # after so many evaluations, in [0, 1]
    complete: bool = False  # whether there was nothing left to be evaluated
    targets: bool = False

    @classmethod
    def of(
        cls, points: Sequence[tuple[float, float]], complete: bool = False, targets: bool = False
    ) -> Convergence | None:
        """Make the curve of points; None of fewer than two. Of many, some are kept, evenly."""
        known = {int(evaluations): float(volume) for evaluations, volume in points}
        if len(known) < 2:
            return None
        ends, number = sorted(known), min(len(known), _MOST_POINTS)
        step = (len(ends) - 1) / (number - 1)
        chosen = tuple(ends[round(place * step)] for place in range(number))
        return cls(chosen, tuple(known[at] for at in chosen), complete, targets)

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Convergence | None:
        """Read the curve off ``run.json``; None where it has none."""
        search = record.get("search")
        curve = search.get("convergence") if isinstance(search, Mapping) else None
        if not isinstance(curve, Mapping):
            return None
        ends, volumes = curve.get("evaluations"), curve.get("hypervolume")
        if not isinstance(ends, list) or not isinstance(volumes, list):
            return None
        if not all(type(each) in (int, float) and 0 <= each <= 1e300 for each in (*ends, *volumes)):
            return None
        points = list(zip(ends, volumes, strict=False))
        complete, targets = (curve.get(name) is True for name in ("complete", "targets"))
        return cls.of(points, complete=complete, targets=targets)

    def to_dict(self) -> dict[str, Any]:
        """As `of_record` reads it, with what the last tenth has gained."""
        return {
            "evaluations": list(self.evaluations),
            "hypervolume": [round(volume, 6) for volume in self.hypervolumes],
            "complete": self.complete,
            "targets": self.targets,
            "last_tenth": round(self.last_tenth, 6),
        }

    @property
    def last_tenth(self) -> float:
        """What the last tenth of the evaluations gained, as a share of the hypervolume."""
        ends, volumes = self.evaluations, self.hypervolumes
        at, last = 0.9 * ends[-1], volumes[-1]
        place = max(bisect(ends, at), 1)  # between this point and the one before it
        slope = (volumes[place] - volumes[place - 1]) / (ends[place] - ends[place - 1])
        before = volumes[place - 1] + slope * max(at - ends[place - 1], 0.0)
        return (last - before) / last if last > 0 else 0.0

    @property
    def gained(self) -> str:
        """The same in words."""
        return "less than 0.01%" if self.last_tenth < 0.0001 else f"{self.last_tenth:.2%}"

    @property
    def sentence(self) -> str:
        """What to make of it."""
        if self.complete and self.targets:
            return "every size of groups was searched for; better groups may exist"
        if self.complete:
            return "everything there is was evaluated: nothing more can be found"
        gain = self.last_tenth
        words = f"the last tenth of the evaluations gained {self.gained} of hypervolume"
        if gain <= _LITTLE:
            return f"{words}: as good as converged"
        if gain < _MUCH:
            return f"{words}: a longer search finds a little more"
        return f"{words}: not converged, more search.generations or search.evaluations find more"


# -- what an algorithm takes -----------------------------------------------------------------------


def check_fit(
    algorithm: str, objectives: int, population: int, partitions: int | None, constrained: bool
) -> None:
    """Refuse what an algorithm cannot take: a number of objectives, constraints, directions."""
    entry = ALGORITHMS[algorithm]
    if population < 2:
        raise SearchError(f"population must be at least 2. Got {population}")
    least, most = entry.objectives
    if not least <= objectives <= most:
        raise SearchError(
            f"the algorithm {algorithm} takes {least} to {most} objectives. Got {objectives}"
        )
    if constrained and not entry.constrained:
        raise SearchError(
            f"the algorithm {algorithm} takes no constraints, nor objectives that can be "
            "infinite; take nsga2"
        )
    if "partitions" not in entry.settings:
        return
    fitting = largest_partitions(objectives, population)
    if fitting == 0:
        raise SearchError(
            f"the algorithm {algorithm} needs a population of at least {objectives} for "
            f"{objectives} objectives. Got {population}"
        )
    if partitions is not None and partitions > fitting:
        raise SearchError(
            f"partitions {partitions} give {_directions(objectives, partitions):,} reference "
            f"directions for {objectives} objectives, and the population is {population:,}; at "
            f"most {fitting} fit"
        )


def largest_partitions(objectives: int, population: int) -> int:
    """Into how many parts directions can divide each objective, one for each genome at most."""
    parts = 0
    while _directions(objectives, parts + 1) <= population:
        parts += 1
    return parts


def _directions(objectives: int, partitions: int) -> int:
    """Reference directions of so many partitions (Das and Dennis).

    >>> _directions(3, 12)
    91
    """
    return comb(partitions + objectives - 1, objectives - 1)
