"""Which runs configurations ask for, each with a folder of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from moanon.config import Config
from moanon.data.strict_yaml import HALF
from moanon.errors import ConfigError
from moanon.experiment.optimization import changed


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
        options["--eta"] = f"problem.eta={etas[0] if len(etas) == 1 else list(etas)}"
    if seed is not None:
        options["--seed"] = f"search.seed={seed}"
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


def with_eta(config: Config, eta: float | tuple[float, ...]) -> Config:
    """The configuration with other limits of suppression, if it is of a kind that has any."""
    return config if config.problem.eta is None else changed(config, "problem", eta=eta)
