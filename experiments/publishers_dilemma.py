"""The publisher's dilemma on Adult: which privacy for which loss, as in the multi-objective paper.

Runs the four problems of the paper (D: Dewri et al.), each with the paper's search and with
moanon's own, and writes to ``results/publishers_dilemma``

- ``front.png``: the trade-off between k and loss, with what a publisher can read off it;
- ``figure6.png`` to ``figure11.png``: D's figures. Those of problem 4 show, like D's, what the
  suppression rule aims at; ``-attained`` shows what the releases then are;
- ``etas.png``: problem 2 under smaller suppression limits (D §7.2);
- ``published.csv``: every point that D reports, and ours under the same limits;
- ``answers.md``: the four questions of D §1, answered as in D §7.5.

Runs go to a folder that is not committed, and are not repeated::

    python experiments/publishers_dilemma.py            takes some minutes
    python experiments/publishers_dilemma.py --quick    a few generations: does everything work?
"""

from __future__ import annotations

import argparse
import csv
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from moanon.atomic import StagedFiles
from moanon.config import Config
from moanon.experiment import Experiment, plan
from moanon.front import Front
from moanon.front.landmarks import find_landmarks, spell
from moanon.output.figure_files import Drawing, write_figures
from moanon.output.front_figures import plot_front, plot_fronts, plot_magnified
from moanon.output.objective_figures import (
    plot_filtered,
    plot_limits,
    plot_pairs,
    plot_preferences,
)

REPOSITORY = Path(__file__).parents[1]
CONFIGS = REPOSITORY / "configs" / "adult"
OUT = REPOSITORY / "results" / "publishers_dilemma"

PROBLEMS = ("problem1", "problem2", "problem3", "problem4-k", "problem4-l")
ETAS = (0.01, 0.05, 0.1)
#: moanon's own way: its search, the whole loss, and a rule for k and l that keeps what it says.
OWN_SEARCH = ("search.algorithm=auto", "search.moves=true")
OWN_PROBLEM = {
    "problem2": ("problem.objectives=[k, loss]",),
    "problem4-k": ("problem.objectives=[d1, d2, loss]", "problem.safety=strict"),
    "problem4-l": ("problem.objectives=[d1, d2, loss]", "problem.safety=strict"),
}
QUICK = ("search.population=40", "search.generations=4")
#: The figures are drawn here.
BARE = ("output.plots=false", "output.report=false")


# -- runs ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Runs:
    """What was found: for each problem by the paper's search and by ours, and for several η."""

    paper: Mapping[str, Front]
    own: Mapping[str, Front]
    etas: Mapping[str, Front]


def run_all(folder: Path, *, quick: bool, force: bool) -> Runs:
    """Run what has not been run yet, or everything."""
    run = partial(run_or_load, force=force)
    short = (*BARE, *(QUICK if quick else ()))
    paper, own = {}, {}
    for problem in PROBLEMS:
        config = CONFIGS / f"{problem}.yaml"
        (paper[problem],) = run(*plan([config], short, out=folder / "paper" / problem))
        if problem != "problem2":
            sets = (*OWN_SEARCH, *OWN_PROBLEM.get(problem, ()), *short)
            (own[problem],) = run(*plan([config], sets, out=folder / "own" / problem))
    sets = (*OWN_SEARCH, *OWN_PROBLEM["problem2"], *short)
    config, place = CONFIGS / "problem2.yaml", folder / "own" / "problem2"
    fronts = run(*plan([config], sets, etas=ETAS, out=place))
    etas = dict(zip((f"{100 * eta:g} %" for eta in ETAS), fronts, strict=True))
    return Runs(paper, {**own, "problem2": fronts[-1]}, etas)


def run_or_load(config: Config, *, force: bool) -> list[Front]:
    """Run a configuration, or read what it has left before; the narrowest limit comes first."""
    threads = os.cpu_count() or 1
    experiment = Experiment.prepare(config, resume=not force, force=force, threads=threads)
    if experiment.finished:
        fronts = experiment.load_fronts()
    else:
        result = experiment.run()
        fronts = dict(result.fronts)
        print(f"{experiment.folder}: {result.outcome.why}, {result.outcome.seconds:.0f} s")
    return [fronts[eta] for eta in sorted(fronts)]


# -- what D reports ------------------------------------------------------------------------------

#: Why our numbers differ from D's.
TREES = (
    "D's trees and its steps of age are not published; with other trees the same loss buys other "
    "groups"
)
KEPT_ONLY = (
    f"{TREES}; the paper's search minimizes the loss of the kept rows alone, ours the whole loss "
    "that is limited here"
)
AIMED_AT = (
    f"{TREES}; D reports what its rule aims at, but the rule keeps groups with fewer values, so "
    "less is attained"
)


@dataclass(frozen=True)
class Point:
    """A point that D reports: one measure, and the limits it was found under.

    Attributes
    ----------
    source : str
        Where D reports it.
    problem : str
    measure : str
        What D reports; the best of it is looked for.
    published : float
    why : str
        Why ours is another.
    at_most, at_least : dict of str to float
        The limits.
    """

    source: str
    problem: str
    measure: str
    published: float
    why: str
    at_most: Mapping[str, float] = field(default_factory=dict)
    at_least: Mapping[str, float] = field(default_factory=dict)

    def best(self, front: Front, names: Mapping[str, str] | None = None) -> int | None:
        """The row of a front that is best under the limits; `names` puts measures for others."""
        names = names or {}
        measures = {name: front.measures[names.get(name, name)] for name in self._all()}
        fit = np.ones(len(front), dtype=bool)
        for name, limit in self.at_most.items():
            fit &= measures[name] <= limit
        for name, limit in self.at_least.items():
            fit &= measures[name] >= limit
        rows = np.flatnonzero(fit)
        if not len(rows):
            return None
        values = measures[self.measure][rows]
        order = values if self.measure == "gl" else -values
        return int(rows[np.lexsort((front.measures["loss"][rows], order))[0]])

    def _all(self) -> set[str]:
        return {self.measure, *self.at_most, *self.at_least}


#: What problem 4 aims at in place of what it attains.
AIMS = {"k": "d1", "l": "d2"}

POINTS = (
    Point("§7.5, question 1", "problem1", "weighted_k", 2528, TREES, {"loss": 0.22}),
    Point("§7.5, question 2", "problem2", "k", 14, KEPT_ONLY, {"loss": 0.25}),
    Point("§7.5, question 2", "problem2", "k", 36, KEPT_ONLY, {"loss": 0.26}),
    Point("§7.3, Fig. 9", "problem3", "gl", 0.35, TREES, {"sl": 0.2}, {"weighted_k": 5000}),
    Point("§7.4, Fig. 10", "problem4-l", "k", 15, AIMED_AT, {"loss": 0.3}, {"l": 7}),
    Point("§7.5, question 4", "problem4-l", "k", 20, AIMED_AT, {"loss": 0.2}, {"l": 4}),
    Point("§7.5, question 4", "problem4-l", "k", 20, AIMED_AT, {"loss": 0.21}, {"l": 5}),
    Point("§7.5, question 4", "problem4-l", "k", 22, AIMED_AT, {"loss": 0.21}, {"l": 3}),
    Point("§7.5, question 4", "problem4-l", "k", 18, AIMED_AT, {"loss": 0.21}, {"l": 6}),
)


def published_table(runs: Runs) -> str:
    """Every point that D reports beside ours, as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    found = ("paper_search_aims_at", "paper_search_attains", "own_search_attains")
    writer.writerow(("source", "problem", "limits", "measure", "published", *found, "why"))
    for point in POINTS:
        paper, own = runs.paper[point.problem], runs.own[point.problem]
        aims = told(point, paper, AIMS) if point.problem.startswith("problem4") else ""
        limits = [f"{name} <= {limit}" for name, limit in point.at_most.items()]
        limits += [f"{name} >= {limit}" for name, limit in point.at_least.items()]
        what = f"D {point.source}", point.problem, "; ".join(limits), point.measure
        ours = told(point, paper), told(point, own)
        writer.writerow((*what, point.published, aims, *ours, point.why))
    return text.getvalue()


def told(point: Point, front: Front, names: Mapping[str, str] | None = None) -> str:
    """What a front has for a point."""
    row = point.best(front, names)
    if row is None:
        return "none"
    name = (names or {}).get(point.measure, point.measure)
    return f"{front.measures[name][row]:.4g}"


# -- the four questions --------------------------------------------------------------------------


def answers(runs: Runs) -> str:
    """The four questions of D §1 with our answers, as Markdown."""
    own, strict = runs.own["problem2"], runs.own["problem4-l"]
    flats = [flat for flat in find_landmarks(own).flats if flat.cost_to <= 0.4]
    nearly_free = max(flats, key=lambda flat: flat.worth).sentence if flats else "nothing"
    return f"""\
# The four questions of a publisher, answered for Adult

Written by `experiments/publishers_dilemma.py`. The questions are those of D §1, the answers follow
D §7.5. All numbers are attained by a release, with the search and the rules that moanon uses by
default; `published.csv` has them beside D's.

1. **What privacy can be had without suppressing any row, for a loss of at most 25 %?**
   A mean row can hide in a large group: {best(runs.own["problem1"], "weighted_k", 0.25)},
   {best(runs.own["problem1"], "weighted_k", 0.22)} (`figure6.png`).
   But {best(runs.own["problem1"], "k", 0.25)}: a few rare rows stay alone unless they may be
   suppressed.
2. **Which k, when 10 % of the rows may be suppressed and the loss is at most 25 %?**
   There is {best(own, "k", 0.25)}; {best(own, "k", 0.26)}; {best(own, "k", 0.3)}
   (`front.png`). Nearly free below 40 % loss: {nearly_free}.
3. **Can k-anonymity and l-diversity be combined?**
   Yes, by suppressing whatever lacks either. D's own rule sorts by one property first and keeps
   groups that lack the other; what it aims at is not what its releases attain
   (`figure10.png`, `figure10-attained.png`).
4. **Is there a high k and a high l, when 10 % of the rows may be suppressed and the loss is at
   most 20 %?**
   There is (k, l) = {pairs(strict, 0.2)}. A loss of at most 21 % allows
   {pairs(strict, 0.21)} (`figure11-attained.png`).
"""


def best(front: Front, measure: str, limit: float) -> str:
    """The most of a measure within a loss, in words."""
    within = front.measures["loss"] <= limit
    name = measure.replace("_", "-")
    if not within.any():
        return f"nothing within {100 * limit:.0f} % loss"
    value = float(front.measures[measure][within].max())
    return f"{name} = {spell(measure, value)} within {100 * limit:.0f} % loss"


def pairs(front: Front, limit: float) -> str:
    """The undominated (k, l) within a loss, in words."""
    within = front.measures["loss"] <= limit
    k, ell = front.measures["k"][within], front.measures["l"][within]
    chosen = [
        (int(a), int(b))
        for a, b in {*zip(k.tolist(), ell.tolist(), strict=True)}
        if not ((k >= a) & (ell >= b) & ((k > a) | (ell > b))).any()
    ]
    return ", ".join(f"({a:,}, {b})" for a, b in sorted(chosen)) or "nothing"


# -- figures -------------------------------------------------------------------------------------


def figures(runs: Runs) -> dict[str, Drawing]:
    """D's figures, and the two of our own."""
    paper, own = runs.paper, runs.own
    first = paper["problem1"]
    cheap = np.flatnonzero(first.measures["loss"] <= 0.22)
    insets = [int(cheap.max()) + 1 if len(cheap) else 1, round(0.85 * len(first))]
    sides = {"k preferred": paper["problem4-k"], "ℓ preferred": paper["problem4-l"]}
    limits = (0.2, 0.21)
    aims = ("d1", "d2")
    return {
        "front": partial(
            plot_front,
            own["problem2"],
            max_cost=0.25,
            size=(7.0, 3.9),
            words=("Adult, 30,162 people", "at most 10 % of rows suppressed"),
        ),
        "figure6": partial(plot_front, first, insets=insets),
        "figure7": partial(plot_magnified, paper["problem2"]),
        "figure8": partial(plot_pairs, paper["problem3"]),
        "figure9": partial(plot_filtered, paper["problem3"], limits={"sl": 0.2, "gl": 0.3}),
        "figure10": partial(plot_preferences, sides, 0.3, measures=aims),
        "figure10-attained": partial(plot_preferences, sides, 0.3),
        "figure11": partial(plot_limits, paper["problem4-l"], limits, measures=aims),
        "figure11-attained": partial(plot_limits, own["problem4-l"], limits),
        "etas": partial(plot_fronts, runs.etas),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, draw, write."""
    parser = argparse.ArgumentParser(description="The publisher's dilemma on Adult.")
    parser.add_argument("--quick", action="store_true", help="a few generations only")
    parser.add_argument("--out", type=Path, default=OUT, help="where figures and tables go")
    parser.add_argument("--runs", type=Path, help="where runs go; default: OUT-runs")
    parser.add_argument("--force", action="store_true", help="run again what has been run")
    options = parser.parse_args(arguments)
    folder = options.runs or options.out.with_name(f"{options.out.name}-runs")
    runs = run_all(folder, quick=options.quick, force=options.force)
    write_figures(figures(runs), options.out, ["png"])
    texts = {"published.csv": published_table(runs), "answers.md": answers(runs)}
    paths = {options.out / name: text for name, text in texts.items()}
    with StagedFiles(*paths, force=True) as staged:
        for path, text in paths.items():
            staged[path].write_text(text, encoding="utf-8")
        staged.move()
    print(f"Wrote {options.out}")


if __name__ == "__main__":
    main()
