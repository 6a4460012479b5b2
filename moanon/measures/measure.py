"""What a measure is, and the register of all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

import numpy.typing as npt

from moanon.data.domain import TreeDomain
from moanon.errors import ConfigError
from moanon.genome import Instance
from moanon.measures.groupwise import GROUP_WISE
from moanon.measures.scores import Scores

__all__ = ["MEASURES", "Measure", "find_measure", "measure", "register"]

Values = npt.NDArray[Any]
Requirement = Literal["", "sensitive", "tree", "label", "weights"]

_WANTING: dict[Requirement, str] = {
    "sensitive": "needs a sensitive column, and the table has none",
    "tree": "needs a quasi-identifier with a tree, and the table has none",
    "label": "needs a class column, and the table has none",
    "weights": "needs the weight of a quasi-identifier, and none is given",
}
#: Measures of privacy that need no sensitive column: of whom each row hides among.
_OF_SIZES = frozenset(
    ("weighted_k", "weighted_k_kept", "k", "d", "d1", "size_min", "size_mean", "size_rank")
)


@dataclass(frozen=True)
class Measure:
    """A named number of a generalized table.

    Attributes
    ----------
    name : str
        As in configurations and results.
    direction : {"max", "min"}
        Which end is better.
    range : str
        Possible values, in words or as an interval.
    unit : str
    meaning : str
        One line for tables and reports; says what suppression does to it.
    citation : str
        Source and equation.
    of : callable
        Reads the measure off `Scores`, one value per genome. Its docstring is the definition.
    requires : {"", "sensitive", "tree", "label", "weights"}
        What the table must have.
    models, costs, tallies : tuple of str
        What must be evaluated for it; see these modules of `moanon.kernels`.
    most : callable, optional
        The largest value that a table allows, where the unit does not say it.
    """

    name: str
    direction: Literal["max", "min"]
    range: str
    unit: str
    meaning: str
    citation: str
    of: Callable[[Scores], Values]
    requires: Requirement = ""
    models: tuple[str, ...] = ()
    costs: tuple[str, ...] = ()
    tallies: tuple[str, ...] = ()
    most: Callable[[Instance], float] | None = None

    @property
    def needs_sensitive(self) -> bool:
        """Whether the table must have a sensitive column."""
        return self.requires == "sensitive"

    @property
    def is_privacy(self) -> bool:
        """Whether it stands for privacy, in its own direction; the others stand for loss."""
        return self.needs_sensitive or self.name in _OF_SIZES

    @property
    def group_wise(self) -> bool:
        """Whether every group has a value, and a release that of its worst group."""
        return self.name in ("k", "l", *GROUP_WISE)

    @property
    def of_rule(self) -> bool:
        """Whether it tells what a suppression rule did, and nothing about the released table."""
        return self.name in ("d", "d1", "d2")

    def why_not(self, instance: Instance) -> str | None:
        """Why the measure cannot be taken of a table, as the end of a sentence; None if it can."""
        has = {
            "": True,
            "sensitive": bool(instance.cells.sensitive),
            "tree": any(isinstance(d, TreeDomain) for d in instance.layout.domains.values()),
            "label": instance.label is not None,
            "weights": bool(instance.weights),
        }
        return None if has[self.requires] else _WANTING[self.requires]


MEASURES: dict[str, Measure] = {}


def register(measure: Measure) -> Measure:
    """Add a measure to the registry; a name is given once."""
    if measure.name in MEASURES:
        raise ValueError(f"a measure called {measure.name!r} is registered already")
    MEASURES[measure.name] = measure
    return measure


def measure(
    direction: Literal["max", "min"],
    range: str,  # noqa: A002 - as the attribute
    unit: str,
    meaning: str,
    citation: str,
    **more: Any,
) -> Callable[[Callable[[Scores], Values]], Callable[[Scores], Values]]:
    """Register the function below under its own name; arguments as the attributes of `Measure`."""

    def note(function: Callable[[Scores], Values]) -> Callable[[Scores], Values]:
        name = function.__name__
        register(Measure(name, direction, range, unit, meaning, citation, function, **more))
        return function

    return note


def find_measure(name: str) -> Measure:
    """Return the measure of that name, or say which one was probably meant."""
    if name in MEASURES:
        return MEASURES[name]
    near = get_close_matches(name, MEASURES, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    raise ConfigError(f"there is no measure called {name!r}{hint} Known: {', '.join(MEASURES)}")
