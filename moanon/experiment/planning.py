"""What configurations ask for: runs, each with a folder of its own, and what they optimize."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from moanon.config import Config, check_reach
from moanon.data.strict_yaml import HALF
from moanon.errors import ConfigError
from moanon.genome import Instance
from moanon.measures import find_measure
from moanon.measures.suppression import find_preset, suppress_by
from moanon.search.algorithms import ALGORITHMS, choose_algorithm
from moanon.search.problem import AnonymizationProblem

#: What takes the place of a loss in presets where columns have weights.
_WEIGHTED = {"loss": "loss_weighted", "gl": "gl_weighted"}


def plan(
    paths: Sequence[str | Path],
    sets: Sequence[str] = (),
    *,
    etas: Sequence[float] = (),
    seed: int | None = None,
    out: str | Path | None = None,
) -> list[Config]:
    """Read configurations, one for each run, each with a folder of its own.

    Parameters
    ----------
    paths : sequence of str or Path
        The files.
    sets : sequence of str
        Overrides ``key.path=value`` for all of them.
    etas, seed, out
        Instead of ``problem.eta``, ``search.seed`` and ``output.dir``. Results of several
        configurations go to ``out/NAME``.

    Raises
    ------
    ConfigError
        If a configuration is wrong, or two runs would write to one folder.
    """
    options = {}
    if etas:
        options["eta=…"] = f"problem.eta={etas[0] if len(etas) == 1 else list(etas)}"
    if seed is not None:
        options["seed=…"] = f"search.seed={seed}"
    runs: list[Config] = []
    owners: dict[Path, str] = {}
    for path in paths:
        config = Config.load(path, sets, options)
        if out is not None:
            if HALF.search(str(out)):
                raise ConfigError(
                    f"the folder {str(out)!a} has a name that is not UTF-8, and config.yaml in it "
                    "could not name it; name another"
                )
            folder = Path(out) / config.name if len(paths) > 1 else Path(out)
            config = changed(config, "output", dir=str(folder))
        place = Path(config.output.dir).absolute()
        if place in owners:
            raise ConfigError(
                f"{owners[place]} and {path} would both write to {config.output.dir}; give "
                "each its own output.dir"
            )
        owners[place] = str(path)
        runs.append(config)
    return runs


def changed(config: Config, section: str, **values: Any) -> Config:
    """The configuration with other values in one of its sections."""
    there = getattr(config, section).model_copy(update=values)
    return config.model_copy(update={section: there})


def with_eta(config: Config, eta: float | tuple[float, ...]) -> Config:
    """The configuration with other limits of suppression, if it is of a kind that has any."""
    return config if config.problem.eta is None else changed(config, "problem", eta=eta)


# -- what they optimize ----------------------------------------------------------------------------


def etas_of(config: Config) -> tuple[float, ...]:
    """The limits of suppression that a configuration asks for; 0 where it has none."""
    eta = config.problem.eta
    return eta if isinstance(eta, tuple) else (eta or 0.0,)


def objectives_of(config: Config) -> tuple[str, ...]:
    """What a configuration optimizes: its own objectives, or the preset's.

    Where a column has a weight, somebody wants it to count: presets minimize weighted losses then.
    """
    section = config.problem
    if section.objectives:
        return section.objectives
    renamed = _WEIGHTED if config.weights else {}
    if section.preset == "any-suppression" and section.suppress_by == "l":
        renamed = {**renamed, "weighted_k": "weighted_l"}
    return tuple(renamed.get(name, name) for name in find_preset(section.preset).objectives)


def algorithm_for(config: Config, instance: Instance) -> str:
    """The algorithm that searches a table; what ``auto`` becomes on it."""
    space, cells = instance.layout.count(), len(instance.cells)
    return choose_algorithm(space, config.search, config.problem.recoding, cells=cells)


def read_problem(path: str | Path, threads: int = 1) -> AnonymizationProblem:
    """Read a configuration and its table, and build what it optimizes among genomes."""
    config = Config.load(path)
    if config.problem.has_boxes:
        raise ConfigError(
            f"a local recoding is not made of genomes, and pymoo searches among these; take the "
            f"recoding global. Got local ({path}: problem.recoding)"
        )
    return make_problem(config, config.instance(), threads)


def make_problem(config: Config, instance: Instance, threads: int = 1) -> AnonymizationProblem:
    """Build what a configuration optimizes, for the widest of its limits."""
    section = config.problem
    keys = ("safety", "prefer", "diversity", "recursive_c")
    chosen = {key: getattr(section, key) for key in keys if getattr(section, key) is not None}
    if section.eta is not None:
        chosen["eta"] = max(etas_of(config))
    preset = find_preset(section.preset).with_settings(**chosen)
    objectives = objectives_of(config)
    if section.has_boxes:  # where no rule has thresholds, there is what it would attain
        attained = [find_measure(name).attained or (name, 0) for name in objectives]
        objectives = tuple(dict.fromkeys(name for name, _ in attained))
    suppression = preset.suppression
    if suppression.kind == "limit":
        suppression = replace(suppression, by=section.suppress_by or suppress_by(objectives))
    elif section.suppress_by is not None:
        suppression = replace(suppression, by=section.suppress_by)
    kind = ALGORITHMS[algorithm_for(config, instance)].load()
    steps = kind.wants_steps(config.search)
    problem = AnonymizationProblem(
        instance, objectives, suppression, threads, config.bounds, steps=steps
    )
    check_reach(config.bounds, instance)
    return problem
