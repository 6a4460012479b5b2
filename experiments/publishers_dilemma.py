"""The publisher's dilemma on Adult: which privacy for which loss, as in the multi-objective paper.

Runs the four problems of the paper (D: Dewri et al.), each with the paper's search and with
moanon's own, and writes to ``results/publishers_dilemma``

- ``front.png``: the trade-off between k and loss, with what a publisher can read off it;
- ``figure6.png`` to ``figure11.png``: D's figures. Those of problem 4 show, like D's, what the
  suppression rule aims at; ``-attained`` shows what the releases then are. D defines l by the most
  frequent value (§4.2) and counts values (§4.3): ``-frequency`` is the former reading. All are of
  one run, like D's; ``safety_seeds.py`` has figures 10 and 11 over five;
- ``figure7-narrow.png``: figure 7 with at most 1 % of the rows suppressed, as D §7.2 mentions it;
- ``figure6-l.png``, ``figure7-l.png``, ``figure8-l.png``: problems 1 to 3 for l instead of k (D
  §5.3);
- ``etas.png``: problem 2 under smaller suppression limits (D §7.2);
- ``fits.png``, ``fits.csv``: polynomials through the fronts of problems 1 and 2 (D §7.5);
- ``initial_populations.csv``, ``.png``: problem 1 from five initial populations, with both ways to
  cross trees and both fronts (D §6.5 saw no significant difference);
- ``published.csv``: every point that D reports, and ours under the same limits;
- ``answers.md``: the four questions of D §1, answered as in D §7.5.

Runs go to a folder that is not committed, and are not repeated::

    python experiments/publishers_dilemma.py            takes a quarter of an hour
    python experiments/publishers_dilemma.py --quick    a few generations: does everything work?
    python experiments/publishers_dilemma.py --part initial        the initial populations alone
"""

from __future__ import annotations

import argparse
import csv
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from moanon.atomic import StagedFiles
from moanon.config import Config
from moanon.errors import ConfigError
from moanon.experiment import Experiment, plan
from moanon.front import Front
from moanon.front.landmarks import TradeOff, find_landmarks, spell
from moanon.output.figure_files import Drawing, write_figures
from moanon.output.figure_style import (
    COLOURS,
    COLUMN,
    GREY,
    PAGE,
    add_legend,
    dress,
    lay_out,
    new_axes,
    percent_text,
    root_figure,
    scale_axis,
    shown,
)
from moanon.output.front_figures import draw_tradeoff, plot_front, plot_magnified
from moanon.output.objective_figures import (
    plot_diversity,
    plot_filtered,
    plot_fronts,
    plot_limits,
    plot_pairs,
)

REPOSITORY = Path(__file__).parents[1]
CONFIGS = REPOSITORY / "configs" / "adult"
OUT = REPOSITORY / "results" / "publishers_dilemma"

#: How a group's diversity is counted, and what that adds to the names of configurations.
READINGS = {"distinct": "", "frequency": "-frequency"}
SAFETIES = tuple(f"problem4-{side}{end}" for end in READINGS.values() for side in "kl")
FOR_L = ("problem1-l", "problem2-l", "problem3-l")
PROBLEMS = ("problem1", "problem2", "problem3", *FOR_L, *SAFETIES)
ETAS = (0.01, 0.05, 0.1)
#: Of the figure that D §7.2 mentions.
NARROW = 0.01
#: Initial populations.
SEEDS = range(1, 6)
#: Where tree columns are crossed, and what the front is made of; the last is D's own way.
VARIANTS = tuple(product(("ends", "common"), ("archive", "population")))
DEGREES = (1, 2, 3, 5)
#: How the polynomials differ, beside their colours.
DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (6, 1, 1, 1)))
PARTS = ("problems", "initial")
#: Problems that are also searched our way, beside problem 2 with its limits.
OWN = ("problem1", "problem3", *(f"problem4-l{end}" for end in READINGS.values()))
#: moanon's own way: its search, the whole loss, and a rule for k and l that keeps what it says.
OWN_SEARCH = ("search.algorithm=auto", "search.moves=true")
OWN_PROBLEM = {
    "problem2": ("problem.objectives=[k, loss]",),
    **dict.fromkeys(SAFETIES, ("problem.objectives=[d1, d2, loss]", "problem.safety=strict")),
}
QUICK = ("search.population=40", "search.generations=4")
#: The figures are drawn here.
BARE = ("output.plots=false", "output.report=false")


# -- runs ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Runs:
    """What was found.

    Attributes
    ----------
    paper, own : mapping of str to Front
        For each problem by the paper's search, and for some by ours.
    etas : mapping of str to Front
        For several η.
    narrow : Front
        Of problem 2 with a narrow limit, by the paper's search.
    """

    paper: Mapping[str, Front]
    own: Mapping[str, Front]
    etas: Mapping[str, Front]
    narrow: Front


#: Fronts of problem 1 from several initial populations, by seed, for each of `VARIANTS`.
Initial = Mapping[tuple[str, str], Mapping[int, Front]]


def run_all(folder: Path, *, quick: bool, force: bool) -> Runs:
    """Run what has not been run yet, or everything."""
    run = partial(run_or_load, force=force)
    short = (*BARE, *(QUICK if quick else ()))
    paper, own = {}, {}
    for problem in PROBLEMS:
        config = CONFIGS / f"{problem}.yaml"
        (paper[problem],) = run(*plan([config], short, out=folder / "paper" / problem))
        if problem in OWN:
            sets = (*OWN_SEARCH, *OWN_PROBLEM.get(problem, ()), *short)
            (own[problem],) = run(*plan([config], sets, out=folder / "own" / problem))
    sets = (*OWN_SEARCH, *OWN_PROBLEM["problem2"], *short)
    config, place = CONFIGS / "problem2.yaml", folder / "own" / "problem2"
    fronts = run(*plan([config], sets, etas=ETAS, out=place))
    etas = dict(zip((f"{100 * eta:g} %" for eta in ETAS), fronts, strict=True))
    place = folder / "paper" / "problem2-narrow"
    (narrow,) = run(*plan([config], short, etas=[NARROW], out=place))
    return Runs(paper, {**own, "problem2": fronts[-1]}, etas, narrow)


def run_initial(folder: Path, *, quick: bool, force: bool) -> Initial:
    """Run problem 1 from each initial population."""
    initial: dict[tuple[str, str], dict[int, Front]] = {variant: {} for variant in VARIANTS}
    for (crossed, made_of), seed in product(VARIANTS, SEEDS[:2] if quick else SEEDS):
        sets = (f"search.tree_crossover={crossed}", f"search.front_of={made_of}", *BARE)
        place = folder / "initial" / f"{crossed}-{made_of}-{seed}"
        sets += QUICK if quick else ()
        (config,) = plan([CONFIGS / "problem1.yaml"], sets, seed=seed, out=place)
        (initial[crossed, made_of][seed],) = run_or_load(config, force=force)
    return initial


def run_or_load(config: Config, *, force: bool) -> list[Front]:
    """Run a configuration, or read what it has left before; the narrowest limit comes first."""
    threads = os.cpu_count() or 1
    experiment = Experiment.prepare(config, resume=not force, force=force, threads=threads)
    if experiment.finished:
        fronts = {eta: run.front for eta, run in experiment.known_runs.items()}
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
SIMILAR = (
    f"{TREES}; D finds a solution similar to its (k 5000, GL 35 %, SL 17 %) also where GL is at "
    "most 30 %; ours suppress far more there"
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
        order = values if self.measure in ("gl", "sl") else -values
        return int(rows[np.lexsort((front.measures["loss"][rows], order))[0]])

    def _all(self) -> set[str]:
        return {self.measure, *self.at_most, *self.at_least}


#: What problem 4 aims at in place of what it attains.
AIMS = {"k": "d1", "l": "d2"}

#: Where D reports a point of problem 4, its k and l, and the loss it is within. Figure 11 names
#: (17, 5) without saying in which of its two plots; it is read as what (20, 5) then betters.
SAFE = (
    ("§7.4, Fig. 10", 15, 7, 0.3),
    ("§7.5, question 4", 20, 4, 0.2),
    ("Fig. 11", 17, 5, 0.2),
    ("§7.5, question 4", 20, 5, 0.21),
    ("§7.5, question 4", 22, 3, 0.21),
    ("§7.5, question 4", 18, 6, 0.21),
)
POINTS = (
    Point("§7.5, question 1", "problem1", "weighted_k", 2528, TREES, {"loss": 0.22}),
    Point("§7.5, question 2", "problem2", "k", 14, KEPT_ONLY, {"loss": 0.25}),
    Point("§7.5, question 2", "problem2", "k", 36, KEPT_ONLY, {"loss": 0.26}),
    Point("§7.3, Fig. 9 left", "problem3", "gl", 0.35, TREES, {"sl": 0.2}, {"weighted_k": 5000}),
    Point("§7.3, Fig. 9 right", "problem3", "sl", 0.17, SIMILAR, {"gl": 0.3}),
    *(
        Point(source, f"problem4-l{end}", "k", k, AIMED_AT, {"loss": loss}, {"l": ell})
        for end in READINGS.values()
        for source, k, ell, loss in SAFE
    ),
)


def published_rows(runs: Runs) -> Iterator[dict[str, object]]:
    """Every point that D reports beside ours."""
    for point in POINTS:
        paper, own = runs.paper[point.problem], runs.own[point.problem]
        is_safety = point.problem in SAFETIES
        limits = [f"{name} <= {limit}" for name, limit in point.at_most.items()]
        limits += [f"{name} >= {limit}" for name, limit in point.at_least.items()]
        yield {
            "source": f"D {point.source}",
            "problem": point.problem,
            "l": paper.suppression.diversity if is_safety else "",
            "limits": "; ".join(limits),
            "measure": point.measure,
            "published": point.published,
            "paper_search_aims_at": reached(point, paper, AIMS) if is_safety else "",
            "paper_search_attains": reached(point, paper),
            "own_search_attains": reached(point, own),
            "why": point.why,
        }


def reached(point: Point, front: Front, names: Mapping[str, str] | None = None) -> str:
    """What a front has for a point."""
    row = point.best(front, names)
    if row is None:
        return "none"
    name = (names or {}).get(point.measure, point.measure)
    return f"{front.measures[name][row]:.4g}"


# -- initial populations -------------------------------------------------------------------------


def initial_rows(initial: Initial) -> Iterator[dict[str, object]]:
    """What each initial population leads to, under the limit of D's first question."""
    point = POINTS[0]
    for (crossed, made_of), fronts in initial.items():
        for seed, front in fronts.items():
            yield {
                "tree_crossover": crossed,
                "front_of": made_of,
                "seed": seed,
                "solutions": len(front),
                "weighted_k at loss <= 0.22": reached(point, front),
            }


# -- polynomials through fronts ------------------------------------------------------------------


@dataclass(frozen=True)
class FittedCurve:
    """A cost as a polynomial of privacy, or of its natural logarithm (D §7.5).

    It describes one front of one table and says nothing about others, as D warns; nor does it
    promise that a release on the curve exists. A front that is flat here and steep there is no
    polynomial, and how far the curve is off (`worst`) says so.

    Attributes
    ----------
    privacy, cost : str
        Names of the measures.
    logarithmic : bool
        Whether the variable is the logarithm of privacy.
    coefficients : tuple of float
        That of 1 first, then of the variable, its square, …
    explained : float
        Share of the variance of the costs that the curve explains (R²).
    worst : float
        How far it is off the cost of a solution at most.
    """

    privacy: str
    cost: str
    logarithmic: bool
    coefficients: tuple[float, ...]
    explained: float
    worst: float

    @classmethod
    def of(cls, tradeoff: TradeOff, degree: int) -> FittedCurve:
        """Fit a polynomial by least squares, every solution with the same weight.

        Raises
        ------
        ConfigError
            If the degree is below 0, or there are not more solutions than coefficients.
        """
        if not 0 <= degree < len(tradeoff) - 1:
            raise ConfigError(
                "a polynomial needs a degree of at least 0, and one solution more than it has "
                f"coefficients. Got degree {degree} for {len(tradeoff)} solutions"
            )
        x = variable(tradeoff.privacies, logarithmic=tradeoff.logarithmic)
        costs = np.asarray(tradeoff.costs, dtype=np.float64)
        fitted = np.polynomial.Polynomial.fit(x, costs, degree)
        off = costs - fitted(x)
        variance = float(((costs - costs.mean()) ** 2).sum())
        return cls(
            tradeoff.privacy,
            tradeoff.cost,
            tradeoff.logarithmic,
            tuple(fitted.convert().coef.tolist()),
            1 - float((off**2).sum()) / variance,
            float(np.abs(off).max()),
        )

    def at(self, privacy: npt.ArrayLike) -> np.ndarray:
        """The cost that the curve has for some privacy."""
        x = variable(np.asarray(privacy), logarithmic=self.logarithmic)
        return np.asarray(np.polynomial.Polynomial(self.coefficients)(x))


def variable(privacy: npt.ArrayLike, *, logarithmic: bool) -> np.ndarray:
    """What the polynomial is of."""
    values = np.asarray(privacy, dtype=np.float64)
    return np.log(values) if logarithmic else values


def fit_rows(runs: Runs) -> Iterator[dict[str, object]]:
    """Polynomials through our fronts of problems 1 and 2."""
    for problem, degree in product(("problem1", "problem2"), DEGREES):
        tradeoff = TradeOff.of(runs.own[problem])
        curve = FittedCurve.of(tradeoff, degree)
        yield {
            "problem": problem,
            "curve": f"{curve.cost} of {'ln ' if curve.logarithmic else ''}{curve.privacy}",
            "solutions": len(tradeoff),
            "degree": degree,
            "explained": f"{curve.explained:.4f}",
            "worst": f"{curve.worst:.4f}",
            "coefficients": " ".join(f"{number:.6g}" for number in curve.coefficients),
        }


def plot_fits(front: Front, degrees: Sequence[int]) -> Axes:
    """Draw a front and polynomials of some degrees through it, with how far they are off."""
    tradeoff = TradeOff.of(front)
    ax = new_axes(COLUMN, 2.9)
    x, y = shown(tradeoff.privacy, tradeoff.privacies), shown(tradeoff.cost, tradeoff.costs)
    dress(ax)
    scale_axis(ax, "x", tradeoff.privacy, x)
    scale_axis(ax, "y", tradeoff.cost, y)
    lines, entries = [draw_tradeoff(ax, tradeoff, color=GREY)], []
    least, most = float(tradeoff.privacies.min()), float(tradeoff.privacies.max())
    places = (np.geomspace if tradeoff.logarithmic else np.linspace)(least, most, 300)
    for i, degree in enumerate(degrees):
        curve = FittedCurve.of(tradeoff, degree)
        line = np.stack([places, shown(tradeoff.cost, curve.at(places))], axis=1)
        look: dict[str, Any] = {"color": COLOURS[i % len(COLOURS)], "linewidth": 1.2}
        look["linestyle"] = DASHES[i % len(DASHES)]
        ax.plot(*line.T, zorder=5, **look)
        off = f"off by at most {percent_text(round(curve.worst, 4))}"
        entries.append(Line2D([], [], label=f"degree {degree}: {off}", **look))
        lines.append(line)
    lay_out(root_figure(ax))
    add_legend(ax, entries, heading="polynomials of least squares", lines=lines)
    return ax


# -- tables --------------------------------------------------------------------------------------


def as_csv(rows: Iterator[dict[str, object]]) -> str:
    """Write rows with the same keys."""
    listed, text = list(rows), io.StringIO()
    writer = csv.DictWriter(text, listed[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(listed)
    return text.getvalue()


# -- the four questions --------------------------------------------------------------------------


def answers(runs: Runs) -> str:
    """The four questions of D §1 with our answers, as Markdown."""
    own, strict = runs.own["problem2"], runs.own["problem4-l"]
    frequency = runs.own["problem4-l-frequency"]
    marks = find_landmarks(own)
    flats = [flat for flat in marks.flats if flat.cost_to <= 0.4]
    widest = max(flats, key=lambda flat: flat.worth, default=None)
    nearly_free = "nothing" if widest is None else marks.sentence(widest)
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
   There is (k, l) = {pairs(strict, 0.2)}, where l counts values. A loss of at most 21 % allows
   {pairs(strict, 0.21)} (`figure11-attained.png`). Where l is a group's size over the rows of its
   most frequent value, there is {pairs(frequency, 0.2)}, and within 21 %
   {pairs(frequency, 0.21)} (`figure11-frequency-attained.png`).
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
    """D's figures, and ours."""
    paper, own = runs.paper, runs.own
    first = paper["problem1"]
    cheap = np.flatnonzero(first.measures["loss"] <= 0.22)
    insets = [int(cheap.max()) + 1 if len(cheap) else 1, round(0.85 * len(first))]
    drawings: dict[str, Drawing] = {}
    for end in READINGS.values():
        drawings |= safety_figures(runs, end)
    return {
        "front": partial(
            plot_front,
            own["problem2"],
            max_cost=0.25,
            size=(7.0, 3.9),
            words=("Adult, 30,162 people", "at most 10 % of rows suppressed"),
        ),
        "figure6": partial(plot_with_insets, first, insets),
        "figure6-l": partial(plot_front, paper["problem1-l"], privacy="weighted_l", cost="gl"),
        "figure7": partial(plot_magnified, paper["problem2"]),
        "figure7-narrow": partial(plot_magnified, runs.narrow),
        "figure7-l": partial(plot_front, paper["problem2-l"], privacy="l", cost="loss"),
        "figure8": partial(plot_pairs, paper["problem3"]),
        "figure8-l": partial(plot_pairs, paper["problem3-l"]),
        "figure9": partial(plot_filtered, paper["problem3"], limits={"sl": 0.2, "gl": 0.3}),
        "etas": partial(plot_fronts, runs.etas),
        "fits": partial(plot_fits, own["problem2"], DEGREES[1:]),
        **drawings,
    }


def plot_with_insets(front: Front, solutions: Sequence[int]) -> Axes:
    """D Fig. 6: the front, and the group sizes of some solutions; large enough for all of them."""
    ax = plot_front(front, insets=solutions, size=(PAGE, 4.6))
    if len(ax.child_axes) < len(solutions):
        print(f"figure 6 has room for {len(ax.child_axes)} of {len(solutions)} insets only")
    return ax


def initial_figure(initial: Initial) -> dict[str, Drawing]:
    """What D's own way finds from each initial population."""
    fronts = {f"{seed}": front for seed, front in initial[VARIANTS[-1]].items()}
    heading = "seed of the first population"
    return {"initial_populations": partial(plot_fronts, fronts, heading=heading, ordered=False)}


def safety_figures(runs: Runs, end: str) -> dict[str, Drawing]:
    """D's figures of problem 4, in one reading of l."""
    sides = {
        "k preferred": runs.paper[f"problem4-k{end}"],
        "ℓ preferred": runs.paper[f"problem4-l{end}"],
    }
    aims, limits = ("d1", "d2"), (0.2, 0.21)
    paper, own = sides["ℓ preferred"], runs.own[f"problem4-l{end}"]
    return {
        f"figure10{end}": partial(plot_diversity, sides, 0.3, measures=aims),
        f"figure10{end}-attained": partial(plot_diversity, sides, 0.3),
        f"figure11{end}": partial(plot_limits, paper, limits, measures=aims),
        f"figure11{end}-attained": partial(plot_limits, own, limits),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, draw, write."""
    parser = argparse.ArgumentParser(description="The publisher's dilemma on Adult.")
    parser.add_argument("--quick", action="store_true", help="a few generations only")
    parser.add_argument("--out", type=Path, default=OUT, help="where figures and tables go")
    parser.add_argument("--runs", type=Path, help="where runs go; default: OUT-runs")
    parser.add_argument("--force", action="store_true", help="run again what has been run")
    parser.add_argument("--part", choices=PARTS, action="append", help="default: both")
    options = parser.parse_args(arguments)
    folder = options.runs or options.out.with_name(f"{options.out.name}-runs")
    drawings: dict[str, Drawing] = {}
    texts: dict[str, str] = {}
    if "problems" in (options.part or PARTS):
        runs = run_all(folder, quick=options.quick, force=options.force)
        drawings |= figures(runs)
        texts |= {"published.csv": as_csv(published_rows(runs)), "fits.csv": as_csv(fit_rows(runs))}
        texts["answers.md"] = answers(runs)
    if "initial" in (options.part or PARTS):
        initial = run_initial(folder, quick=options.quick, force=options.force)
        drawings |= initial_figure(initial)
        texts["initial_populations.csv"] = as_csv(initial_rows(initial))
    write_figures(drawings, options.out, ["png"])
    paths = {options.out / name: text for name, text in texts.items()}
    with StagedFiles(*paths, force=True) as staged:
        for path, text in paths.items():
            staged[path].write_text(text, encoding="utf-8")
        staged.move()
    print(f"Wrote {options.out}")


if __name__ == "__main__":
    main()
