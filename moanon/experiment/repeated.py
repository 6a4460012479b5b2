"""The same run with several seeds: how far they differ, and what they found together.

Each seed has a folder of its own, ``seed-N``, in the folder of the run. That one holds the union:
what no solution of any seed beats, as a front of its own, which can be asked and exported like any
other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from moanon.arrays import Floats, Values
from moanon.config import Config
from moanon.errors import ConfigError
from moanon.experiment.experiment import make_record
from moanon.experiment.finished import (
    FinishedRun,
    changed,
    save_run,
    with_eta,
    write_eta_table,
    write_page,
)
from moanon.experiment.folder import check_vacant, clear_others, identity_of, make_folder
from moanon.front import Front
from moanon.front.asking import least_losses
from moanon.measures import find_measure
from moanon.recoding import joined
from moanon.search.algorithms import ALGORITHMS
from moanon.search.archive import undominated

#: How the folder of a seed is called.
_SEED = "seed-"


def repeat(config: Config, times: int) -> list[Config]:
    """The same run with following seeds, each for a folder of its own."""
    first, folder = config.search.seed, Path(config.output.dir)
    return [
        changed(changed(config, "search", seed=seed), "output", dir=str(folder / f"{_SEED}{seed}"))
        for seed in range(first, first + times)
    ]


def check_random(algorithm: str) -> None:
    """Refuse to repeat a search that draws no random numbers."""
    if not ALGORITHMS[algorithm].load().is_random:
        raise ConfigError(
            f"the search {algorithm} draws no random numbers, so every seed comes to the same; "
            "repeated are searches by breeding"
        )


def unite(fronts: Sequence[Front]) -> Front:
    """Keep what no solution of any of some fronts of one problem and table beats, each once."""
    first = fronts[0]
    measures = {
        name: np.concatenate([front.measures[name] for front in fronts]) for name in first.measures
    }
    turned = [find_measure(name).turned(measures[name]) for name in first.objectives]
    values = np.stack(turned, axis=1).astype(np.float64)
    _, once = np.unique(values, axis=0, return_index=True)
    kept = np.sort(once)[undominated(values[np.sort(once)])]
    order = kept[np.lexsort([measures[name][kept] for name in reversed(first.objectives)])]
    labels = [each for front in fronts for each in front.labels]
    return replace(
        first,
        proven=_united_bounds(fronts, {name: column[order] for name, column in measures.items()}),
        recodings=joined([front.recodings for front in fronts]).take(order),
        measures={name: column[order] for name, column in measures.items()},
        labels=tuple(labels[row] for row in order.tolist()),
        found=len(order),
    )


def _united_bounds(fronts: Sequence[Front], measures: Mapping[str, Values]) -> Floats | None:
    """What is proven of solutions by any of some fronts, for all of them.

    A bound holds for all generalizations with as large a k, or a larger one.
    """
    known = [front for front in fronts if front.proven is not None]
    if not known:
        return None
    ks = np.concatenate([front.measures["k"] for front in known])
    bounds = np.concatenate([front.proven for front in known if front.proven is not None])
    found = []
    for k, loss in zip(measures["k"].tolist(), measures["loss"].tolist(), strict=True):
        bound = bounds[ks <= k].max(initial=0.0)
        # That of an optimal solution is its loss, which is rounded.
        found.append(loss if bound >= loss else float(np.nextafter(bound, 0.0)))
    return np.maximum(found, 0.0)


#: For each k the least loss: of the best, the middle and the worst seed, and of all together.
Spread = dict[float, tuple[float | None, float | None, float | None, float | None]]


def spread_of(fronts: Mapping[int, Front], union: Front) -> Spread:
    """How far the seeds differ: the least loss at each k; None where no seed reaches it."""
    seeds = least_losses({float(seed): front for seed, front in fronts.items()})
    together = least_losses({0.0: union})
    found: Spread = {}
    for bound, losses in seeds.items():
        reached = [loss for loss in losses if loss is not None]
        worst = max(reached) if len(reached) == len(losses) else None
        middle = median(reached) if reached else None
        found[bound] = (min(reached, default=None), middle, worst, together[bound][0])
    return found


def write_union(
    config: Config, runs: Mapping[int, Mapping[float, FinishedRun]], *, force: bool
) -> dict[float, Front]:
    """Write the union of the seeds, for each limit of suppression, with its figure and page.

    `runs` are, for each seed, the results of each limit, with the table. Unless `force` is set, the
    folder of the configuration that was repeated must not hold other results.
    """
    folder = Path(config.output.dir)
    etas = sorted(next(iter(runs.values())), reverse=True)
    if not force:
        check_vacant(folder)
    places = {eta: folder / f"eta-{eta}" if len(etas) > 1 else folder for eta in etas}
    unions = {eta: unite([each[eta].front for each in runs.values()]) for eta in etas}
    written = {}
    for eta, place in places.items():
        make_folder(place)
        own = changed(with_eta(config, eta), "output", dir=str(place))
        record = _record(own, unions[eta], {seed: each[eta] for seed, each in runs.items()})
        written[eta] = save_run(place, unions[eta], own, record, force=True)
    if len(etas) > 1:
        every = with_eta(config, tuple(sorted(etas)))
        write_eta_table(folder, unions, {"config.yaml": every.to_yaml()})
    else:
        (run,) = written.values()
        clear_others(folder, {*run.record["files"], "run.json"})
    _show(config, written, runs)
    return unions


def _record(config: Config, union: Front, runs: Mapping[int, FinishedRun]) -> dict[str, Any]:
    """What ``run.json`` of a union says: what it was made from, and of which seeds."""
    assert union.instance is not None
    identity = identity_of(config, union.instance)
    seeds = sorted(runs)
    searches = [runs[seed].record["search"] for seed in seeds]
    return make_record(config, union.instance, identity) | {
        "seed": f"{seeds[0]} to {seeds[-1]}, united",
        "seeds": seeds,
        "search": {
            "algorithm": searches[0]["algorithm"],
            "evaluations": sum(search["evaluations"] for search in searches),
            "hypervolumes": [search["hypervolume"] for search in searches],
            "why": f"{len(seeds)} seeds had come to their ends",
        },
    }


def _show(
    config: Config,
    unions: Mapping[float, FinishedRun],
    runs: Mapping[int, Mapping[float, FinishedRun]],
) -> None:
    """Draw the seeds over each other, and write a page with the union and each of them."""
    if config.output.plots:
        from moanon.output.figure_files import write_figures  # here: matplotlib is slow
        from moanon.output.objective_figures import plot_fronts

        for eta, union in unions.items():
            named = {f"seed {seed}": each[eta].front for seed, each in runs.items()}
            drawn = {**named, "union": union.front}
            draw = partial(
                plot_fronts, drawn, heading="found by", ordered=False, words=(config.name,)
            )
            write_figures({"seeds": draw}, union.folder / "plots")
    if config.output.report:
        shown = [*unions.values()]
        if len(unions) == 1:
            shown += [run for each in runs.values() for run in each.values()]
        write_page(shown, Path(config.output.dir))
