"""A released file measured against its original: every measure that the file allows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from moanon.arrays import Outlined
from moanon.config import Config
from moanon.errors import ConfigError
from moanon.experiment.anonymizations import KnownColumns, read_original, table_of
from moanon.grouping import Grouping
from moanon.measures import find_measure
from moanon.measures.evaluate import measure_grouping
from moanon.measures.suppression import Suppression
from moanon.release import read_released
from moanon.release.matching import StarredRows
from moanon.wording import Grid, Part, Worded, facts

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class MeasuredRelease(Worded, Outlined):
    """Every measure of a released file.

    Attributes
    ----------
    grouping : Grouping
        The file, with its rows found in the original.
    measures : mapping of str to number
        By registered name.
    notes : tuple of str
        What is not measured, or not by what the file shows.
    """

    grouping: Grouping
    measures: Mapping[str, float]
    notes: tuple[str, ...]

    @property
    def sensitive(self) -> list[str]:
        """The sensitive columns that are measured."""
        found = self.grouping
        return [name for name in found.table.sensitive if name not in found.absent]

    def parts(self, *, everything: bool = False) -> Iterator[Part]:
        """Say how many rows are released, by which columns, and each measure."""
        found = self.grouping
        yield (
            f"{found.name}: {found.rows - found.suppressed:,} of {found.rows:,} rows released; "
            f"rows found by {found.matched_by}"
        )
        named = {"quasi-identifiers": found.quasi, "sensitive": self.sensitive}
        yield from facts({what: ", ".join(some) for what, some in named.items() if some})
        rows = []
        for name, value in self.measures.items():
            about = find_measure(name)
            better = "higher" if about.direction == "max" else "lower"
            rows.append((name, _written(value, about.unit), better, about.meaning))
        yield Grid(("measure", "value", "better", "what it says"), rows, right=(1,))
        yield from (f"note: {text}" for text in self.notes)

    def to_frame(self) -> pd.DataFrame:
        """One row per measure."""
        import pandas as pd

        return pd.DataFrame({"measure": [*self.measures], "value": [*self.measures.values()]})

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values; JSON has no infinity, so what has no bound is a text."""
        found = self.grouping
        return {
            "released": found.name,
            "original": found.table.source,
            "rows": found.rows,
            "matched_by": found.matched_by,
            "quasi": list(found.quasi),
            "sensitive": self.sensitive,
            "measures": {n: v if math.isfinite(v) else str(v) for n, v in self.measures.items()},
            "notes": list(self.notes),
        }


def measure_release(
    original: str, released: str, known: KnownColumns, stars: StarredRows = "all"
) -> MeasuredRelease:
    """Measure a released file against its original.

    Parameters
    ----------
    original, released : str
        The tables before and after.
    known : KnownColumns
        What is known about the columns. A sensitive column that it names and that was not released
        is measured by the original's values; others are left out.
    stars : {"all", "quasi"}
        As for :func:`moanon.release.read_released`.
    """
    origin, sensitive = read_original(original, known, [released])
    for name in sensitive:
        if name in table_of(origin).quasi:
            raise ConfigError(f"column {name!r} is a quasi-identifier; it cannot be sensitive, too")
    found = read_released(
        released, origin, key=known.key, stars=stars, delimiter=known.delimiter, counted=True
    )
    named = sensitive if known.sensitive is not None else ()
    notes = [*filter(None, [found.table.dropped]), *found.notes, *_left_out(found, named)]
    found = replace(found, absent=tuple(name for name in found.absent if name not in named))
    rule = Suppression()
    if known.config is not None:  # which says how l is counted
        problem = Config.load(known.config).problem
        rule = Suppression(diversity=problem.diversity, recursive_c=problem.recursive_c)
    return MeasuredRelease(found, measure_grouping(found, rule), tuple(notes))


def _left_out(found: Grouping, named: Sequence[str]) -> Iterator[str]:
    """Say what is not measured, or not by what the file shows."""
    for name in found.absent:
        lacks = f"{found.name} has no column {name!r}"
        if name not in found.table.sensitive:
            yield f"{lacks}, so cm is not measured"
        elif name in named:
            yield f"{lacks}; diversity, closeness and the like go by the original's values"
        else:
            yield f"{lacks}, so diversity, closeness and the like are not measured for it"
    if not found.has_meaning:
        yield (
            "without config=… or hierarchies=… it is not known what labels mean, so losses are "
            "left out"
        )
    if not found.table.sensitive:
        yield "no column is sensitive, so all that is about sensitive values is left out"


def _written(value: float, unit: str) -> str:
    if not math.isfinite(value):
        return "no bound"
    if unit.startswith("share"):
        return f"{value:.2%}"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4f}"
