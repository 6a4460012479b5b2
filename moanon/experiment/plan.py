"""Which runs configurations ask for, and what each of them optimizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from moanon.config import Config
from moanon.config.constraints import check_reach
from moanon.errors import ConfigError
from moanon.genome import Instance
from moanon.measures.suppression import find_preset, suppress_by
from moanon.search.problem import SearchProblem

__all__ = ["etas_of", "make_problem", "plan", "with_eta", "with_folder"]


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
    changes = [*sets]
    if etas:
        given = str(etas[0]) if len(etas) == 1 else str(list(etas))
        changes.append(f"problem.eta={given}")
    if seed is not None:
        changes.append(f"search.seed={seed}")
    runs: list[Config] = []
    owners: dict[Path, str] = {}
    for path in paths:
        config = Config.load(path, changes)
        if out is not None:
            folder = Path(out) / config.name if len(paths) > 1 else Path(out)
            config = with_folder(config, folder)
        place = Path(config.output.dir).absolute()
        if place in owners:
            raise ConfigError(
                f"{owners[place]} and {path} would both write to {config.output.dir}; give "
                "each its own output.dir"
            )
        owners[place] = str(path)
        runs.append(config)
    return runs


def etas_of(config: Config) -> tuple[float, ...]:
    """The limits of suppression that a configuration asks for; 0 where it has none."""
    eta = config.problem.eta
    return eta if isinstance(eta, tuple) else (eta or 0.0,)


def with_eta(config: Config, eta: float | tuple[float, ...]) -> Config:
    """The configuration with other limits of suppression, if it is of a kind that has any."""
    if config.problem.eta is None:
        return config
    problem = config.problem.model_copy(update={"eta": eta})
    return config.model_copy(update={"problem": problem})


def with_folder(config: Config, folder: Path) -> Config:
    """The configuration with its results at another place."""
    output = config.output.model_copy(update={"dir": str(folder)})
    return config.model_copy(update={"output": output})


def make_problem(config: Config, instance: Instance, threads: int = 1) -> SearchProblem:
    """Build what a configuration optimizes, for the widest of its limits."""
    section = with_eta(config, max(etas_of(config))).problem
    chosen = {
        key: getattr(section, key)
        for key in ("eta", "safety", "prefer", "diversity", "recursive_c")
        if getattr(section, key) is not None
    }
    preset = find_preset(section.preset).with_settings(**chosen)
    objectives = section.objectives or preset.objectives
    suppression = preset.suppression
    if suppression.kind == "limit":
        by = section.suppress_by or suppress_by(objectives)
        suppression = replace(suppression, by=by)
    problem = SearchProblem(instance, objectives, suppression, threads, config.bounds)
    check_reach(config.bounds, instance)
    return problem
