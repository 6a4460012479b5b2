"""Baselines: the classical algorithms, on the same plane as our fronts.

Each takes an instance and k, and gives one release of it, with a `grouping` for all that follows.

- ``mondrian``: Mondrian as published, strict and relaxed, and a variant of ours that also cuts
  below the median; every group has its own blocks (`Boxes`).
- ``lattice``: Datafly, where a share of the rows or up to k may be suppressed, Incognito, OLA,
  Flash and MinGen. One level of its hierarchy for each column (`FullDomain`), found in different
  ways and for different ends.
- ``requirement``: what every group must meet, as a rule of suppression.

>>> import pandas as pd
>>> from moanon.data.domain import IntervalSpec, OrderedSpec
>>> from moanon.engines import read_table
>>> from moanon.genome import Instance
>>> frame = pd.DataFrame({"age": [20, 21, 22, 30, 31, 45], "sex": list("ffmmff")})
>>> table = read_table(frame, {"age": "quasi", "sex": "quasi"})
>>> instance = Instance.build(table, {"age": IntervalSpec(10), "sex": OrderedSpec(("f", "m"))})
>>> find_baseline("mondrian").run(instance, 3).grouping(instance).sizes.tolist()
[3, 3]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from moanon.errors import unknown_name

if TYPE_CHECKING:
    from moanon.baselines.lattice import FullDomain
    from moanon.baselines.mondrian import Boxes

__all__ = ["BASELINES", "Baseline", "find_baseline"]


@dataclass(frozen=True)
class Baseline:
    """What an algorithm does in a few words, where it is, and what it takes beside k.

    Its module is loaded when it is first used.
    """

    about: str
    home: tuple[str, str]  # the module of this package and the function in it
    takes: tuple[str, ...]  # settings
    fixed: Mapping[str, Any] = field(default_factory=dict)  # those that its name says
    suppresses: Literal["no rows", "up to k rows"] = "no rows"  # at most, where it takes no eta

    @property
    def run(self) -> Callable[..., Boxes | FullDomain]:
        """The function: takes an instance, k, and the settings by name."""
        module, function = self.home
        return partial(getattr(import_module(f"{__name__}.{module}"), function), **self.fixed)


_GROUPS = ("demands", "recursive_c")

#: Algorithms by name.
BASELINES = {
    "mondrian": Baseline(
        "cuts the table after medians, group by group, as published",
        ("mondrian", "mondrian"),
        (*_GROUPS, "ties"),
    ),
    "mondrian-below": Baseline(
        "the same, and below a median that is the largest value of its group",
        ("mondrian", "mondrian"),
        (*_GROUPS, "ties"),
        {"below": True},
    ),
    "mondrian-relaxed": Baseline(
        "cuts at medians with blocks that may overlap there",
        ("mondrian", "mondrian"),
        (*_GROUPS, "ties"),
        {"relaxed": True},
    ),
    "datafly": Baseline(
        "generalizes the column with the most values, again and again",
        ("lattice", "datafly"),
        ("eta",),
    ),
    "datafly-k": Baseline(
        "the same until k rows are left over at most, as published",
        ("lattice", "datafly_k"),
        (),
        suppresses="up to k rows",
    ),
    "incognito": Baseline(
        "the best levels, by sets of columns",
        ("lattice", "least_loss"),
        ("eta", *_GROUPS),
        {"way": "Incognito"},
    ),
    "ola": Baseline(
        "the best levels, by halving the lattice",
        ("lattice", "least_loss"),
        ("eta", *_GROUPS),
        {"way": "OLA"},
    ),
    "flash": Baseline(
        "the best levels, by halving paths through the lattice",
        ("lattice", "least_loss"),
        ("eta", *_GROUPS),
        {"way": "Flash"},
    ),
    "mingen": Baseline(
        "the greatest precision, by looking at all levels", ("lattice", "mingen"), _GROUPS
    ),
}


def find_baseline(name: str) -> Baseline:
    """Return a baseline by name."""
    if name not in BASELINES:
        raise unknown_name("baseline", name, BASELINES)
    return BASELINES[name]
