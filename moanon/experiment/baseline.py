"""Baselines as results: a classical algorithm, k by k, in a folder like that of any run.

A configuration says what is anonymized and what its groups must meet; `run_baseline` asks an
algorithm of `moanon.baselines` for a release at each k, measures them as the solutions of a front
are measured, and writes the folder. So whatever reads results reads these: `moanon ask`, `export`,
`apply`, `compare`, `plot`, `report`. All releases are kept, also those that another one beats.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from moanon.arrays import Outlined
from moanon.atomic import checked_path
from moanon.baselines import Baseline, find_baseline
from moanon.baselines.lattice import FullDomain
from moanon.baselines.mondrian import Boxes
from moanon.baselines.requirement import make_requirement
from moanon.config import Config, check_reach
from moanon.errors import ConfigError, InfeasibleError, OutputError
from moanon.experiment.experiment import make_record, plan
from moanon.experiment.finished import changed, draw_plots, save_run, write_page
from moanon.experiment.folder import (
    FolderLock,
    check_vacant,
    clear_others,
    identity_of,
    make_folder,
    spare_inputs,
)
from moanon.experiment.runner import etas_of, objectives_of
from moanon.front import Front, shown
from moanon.genome import Instance
from moanon.measures import find_measure
from moanon.measures.evaluate import measure_grouping
from moanon.measures.suppression import Suppression
from moanon.recoding import GlobalRecodings, LocalRecodings, Recodings
from moanon.wording import Grid, Part, Worded

if TYPE_CHECKING:
    import pandas as pd

#: What is asked for where nobody says it, as far as the table goes.
KS = (2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)


@dataclass(frozen=True)
class _AskedK:
    """What an algorithm did when it was asked for a k; the release may have a larger one."""

    k: int
    solution: int | None  # its number; None where it breaks a constraint on the whole table
    checked: int | None  # nodes of the lattice whose groups were counted, if there is one
    cpu_seconds: float  # without compiling


@dataclass(frozen=True, repr=False)
class BaselineFront(Worded, Outlined):
    """The releases of an algorithm, what it was asked for in order of k, and what to note."""

    front: Front
    asked: tuple[_AskedK, ...]
    notes: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """One row for each k that was asked for."""
        import pandas as pd

        return pd.DataFrame([asdict(each) for each in self.asked])

    def parts(self, *, everything: bool = False) -> Iterator[Part]:
        """Say what each k came to, and what it took."""
        names = ("k", "loss", "groups", "suppressed")
        lattice = any(each.checked is not None for each in self.asked)
        rows = []
        for each in self.asked:
            row = [f"k ≥ {each.k:,}", "-" if each.solution is None else str(each.solution)]
            row += [self._shown(name, each.solution) for name in names]
            row += [f"{each.checked:,}"] if each.checked is not None else []
            rows.append([*row, f"{each.cpu_seconds:.3f}"])
        checked = ["nodes checked"] if lattice else []
        headers = ["asked for", "solution", *names, *checked, "CPU s"]
        yield Grid(headers, rows, right=range(1, len(headers)))

    def _shown(self, name: str, solution: int | None) -> str:
        if solution is None:
            return "-"
        return shown(name, self.front.measures[name][solution - 1].item())


def plan_baseline(
    name: str,
    path: str | Path,
    sets: Sequence[str] = (),
    *,
    eta: float | None = None,
    out: str | Path | None = None,
) -> Config:
    """Read a configuration for a baseline; `eta` and `out` instead of what it says.

    By default results go to ``results/CONFIG-BASELINE``, whatever ``output.dir`` says, which is for
    the search. Refused is an η for a baseline that takes none.
    """
    baseline = find_baseline(name)
    if eta is not None and "eta" not in baseline.takes:
        raise ConfigError(f"{name} suppresses {baseline.suppresses} and takes no eta. Got {eta}")
    (config,) = plan([path], sets, etas=() if eta is None else (eta,), out=out)
    called = f"{config.name}-{name}"
    if out is None:
        config = changed(config, "output", dir=str(Path("results") / called))
    return config.model_copy(update={"name": called})


def run_baseline(
    name: str, config: Config, ks: Sequence[int] = (), *, force: bool = False
) -> BaselineFront:
    """Ask a baseline for each k, and write the results folder that the configuration names.

    By default the k are `KS`, as far as the table goes and the constraints allow. `force` replaces
    whatever run the folder holds.
    """
    folder = checked_path(config.output.dir, OutputError)
    lock = FolderLock(folder)
    try:
        if folder.exists():
            _enter(lock, force=force)
        instance = config.instance()
        spare_inputs(folder, (*instance.table.files, *config.hierarchy_files))
        found = baseline_front(name, config, instance, ks)
        if not lock.entered:  # not before there is something to write
            _enter(lock, force=force)
        _write(name, config, found, folder, force=force)
    finally:
        lock.leave()
    return found


def _enter(lock: FolderLock, *, force: bool) -> None:
    """Be alone in a folder that may be written to."""
    if lock.folder.exists() and not lock.folder.is_dir():
        raise OutputError(f"{lock.folder} is a file; results go into a folder")
    lock.enter()
    if not force:
        check_vacant(lock.folder)


def _write(name: str, config: Config, found: BaselineFront, folder: Path, *, force: bool) -> None:
    front = found.front
    assert front.instance is not None
    if config.problem.eta is not None:
        config = changed(config, "problem", eta=front.suppression.eta)
    record = make_record(config, front.instance, identity_of(config, front.instance)) | {
        "baseline": {"name": name, "asked": [asdict(each) for each in found.asked]},
        "search": {"algorithm": f"{name} ({find_baseline(name).about})"},
        "times": {
            "search": round(sum(each.cpu_seconds for each in found.asked), 3),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        },
        "notes": list(found.notes),
    }
    make_folder(folder)
    run = save_run(folder, front, config, record, force=force)
    clear_others(folder, {*run.record["files"], "run.json"})
    if config.output.plots:
        draw_plots([run], folder)
    if config.output.report:
        write_page([run], folder)


# -- the releases --------------------------------------------------------------------------------


def baseline_front(
    name: str, config: Config, instance: Instance, ks: Sequence[int] = ()
) -> BaselineFront:
    """Ask a baseline for each k, and measure what it gives.

    Constraints of the configuration on groups are demands on every group of the algorithm. A
    release that breaks a constraint on the whole table is left out, and a note says so.
    """
    baseline, bounds = find_baseline(name), config.bounds
    for bounded in bounds:
        if (reason := find_measure(bounded).why_not(instance)) is not None:
            raise ConfigError(f"the constraint {bounded} {reason}")
    check_reach(bounds, instance)
    rule, notes = _rule(name, baseline, config)
    if dropped := instance.table.dropped:
        notes.insert(0, dropped)
    chosen = _chosen_ks(ks, bounds, instance)
    if baseline.suppresses == "up to k rows":  # the limit that all its releases keep to
        rows = instance.cells.rows
        rule = replace(rule, eta=min(chosen[-1], rows - 1) / rows)
    settings = _settings(name, baseline, rule)
    demands = settings.get("demands", ())
    make_requirement(instance, chosen[-1], rule.eta, demands, rule.recursive_c)  # the hardest
    baseline.run(instance, chosen[0], **settings)  # once for the compiler
    found = []
    for k in chosen:
        started = time.process_time()
        made = baseline.run(instance, k, **settings)
        seconds = round(time.process_time() - started, 3)
        checked = made.checked if isinstance(made, FullDomain) else None
        measures = measure_grouping(made.grouping(instance), rule)
        found.append(_Release(_AskedK(k, None, checked, seconds), made, measures))
    return _measured(name, config, instance, rule, found, notes)


def _rule(name: str, baseline: Baseline, config: Config) -> tuple[Suppression, list[str]]:
    """The rule that all releases keep to, whatever their k; and what is to be said about it."""
    problem, etas = config.problem, etas_of(config)
    notes = []
    if "eta" not in baseline.takes:
        if any(etas):
            notes.append(f"{name} suppresses {baseline.suppresses}; problem.eta is not used")
        etas = (0.0,)
    if len(etas) > 1:
        raise ConfigError(
            f"a baseline takes one eta. Got {list(etas)} (problem.eta); choose one (eta=…)"
        )
    groups = tuple(
        (bounded, bound) for bounded, bound in config.bounds.items() if find_measure(bounded).group
    )
    rule = Suppression(
        "limit",
        etas[0],
        diversity=problem.diversity,
        constraints=groups,
        recursive_c=problem.recursive_c,
    )
    return rule, notes


def settings_of(name: str, config: Config) -> dict[str, Any]:
    """What an algorithm takes beside k, as a configuration says it; to be run again."""
    baseline = find_baseline(name)
    return _settings(name, baseline, _rule(name, baseline, config)[0])


def _settings(name: str, baseline: Baseline, rule: Suppression) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    demands = tuple(
        (rule.own_name(bounded), bound) for bounded, bound in rule.constraints if bounded != "k"
    )
    if demands and "demands" not in baseline.takes:
        raise ConfigError(
            f"{name} knows no demand on groups but k, and the configuration has one on "
            f"{demands[0][0]}; leave that out, or take another baseline, such as mondrian"
        )
    if "eta" in baseline.takes:
        settings["eta"] = rule.eta
    if "demands" in baseline.takes:
        settings |= {"demands": demands, "recursive_c": rule.recursive_c}
    return settings


def _chosen_ks(ks: Sequence[int], bounds: Mapping[str, float], instance: Instance) -> list[int]:
    least = ceil(bounds.get("k", 1))
    if not ks:
        return [k for k in KS if least <= k <= instance.cells.rows] or [least]
    for k in ks:
        make_requirement(instance, k)  # refuses what is no k of this table
        if k < least:
            raise ConfigError(f"k must be at least {least}, as problem.constraints says. Got {k}")
    return sorted(set(ks))


@dataclass(frozen=True)
class _Release:
    """What an algorithm gave for a k, and how it measures."""

    asked: _AskedK
    made: Boxes | FullDomain
    measures: Mapping[str, float]

    def broken(self, bounds: Mapping[str, float]) -> list[str]:
        """Bounds on the whole table that it does not meet, in words."""
        words = []
        for name, bound in bounds.items():
            measure = find_measure(name)
            taken, more = measure.attained or (name, 0)
            value = self.measures[taken] + more
            if not measure.meets(np.asarray(value), bound):
                words.append(f"{name} is {value:.6g} ({measure.bound_text(bound)})")
        return words


def _measured(
    name: str,
    config: Config,
    instance: Instance,
    rule: Suppression,
    found: Sequence[_Release],
    notes: list[str],
) -> BaselineFront:
    """Put the releases that meet the constraints on a front."""
    bounds = {n: bound for n, bound in config.bounds.items() if not find_measure(n).group}
    broken = {each.asked.k: each.broken(bounds) for each in found}
    kept = [each for each in found if not broken[each.asked.k]]
    if not kept:
        k, words = next(iter(broken.items()))
        raise InfeasibleError(
            f"no release of {name} meets the constraints: with k {k}, {' and '.join(words)}"
        )
    if len(kept) < len(found):
        left = ", ".join(str(k) for k, words in broken.items() if words)
        notes.append(f"left out, because they break constraints: the releases for k {left}")
    # Of thresholds, which are a search's, what is attained.
    attained = (find_measure(name).attained or (name, 0) for name in objectives_of(config))
    objectives = tuple(dict.fromkeys(name for name, _ in attained))
    # In the order of a front, so that the number of each is known.
    kept.sort(key=lambda each: [each.measures.get(objective, 0) for objective in objectives])
    front = Front.of_recodings(
        instance, rule, objectives, _recodings(kept, instance, rule), bounds=bounds
    )
    numbers = {each.asked.k: number for number, each in enumerate(kept, 1)}
    asked = (replace(each.asked, solution=numbers.get(each.asked.k)) for each in found)
    return BaselineFront(front, tuple(asked), tuple(notes))


def _recodings(kept: Iterable[_Release], instance: Instance, rule: Suppression) -> Recodings:
    full = [each for each in kept if isinstance(each.made, FullDomain)]
    if not full:
        return LocalRecodings.of_groupings(each.made.grouping(instance) for each in kept)
    genomes = [each.made.recodings.genomes for each in full if isinstance(each.made, FullDomain)]
    thresholds = [[each.asked.k, 0] for each in full]
    return GlobalRecodings(np.concatenate(genomes), np.array(thresholds), rule)
