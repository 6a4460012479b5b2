"""Whether a search has converged: how its hypervolume grew, and what the last tenth gained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from moanon.measures.measure import is_number

#: Most points of a curve that are kept.
_MOST_POINTS = 60
#: Up to this share of the hypervolume, the last tenth of the evaluations gained nothing to speak
#: of; from the other one on, there is more to be found.
_LITTLE, _MUCH = 0.001, 0.01


@dataclass(frozen=True)
class Convergence:
    """How the hypervolume of what was found grew.

    Attributes
    ----------
    evaluations : tuple of int
        Rising.
    hypervolumes : tuple of float
        After so many evaluations, in [0, 1].
    complete : bool
        Whether there was nothing left to be evaluated.
    targets : bool
        Whether that were targets, each of which is solved as well as it goes, and not solutions.
    """

    evaluations: tuple[int, ...]
    hypervolumes: tuple[float, ...]
    complete: bool = False
    targets: bool = False

    @classmethod
    def of(
        cls,
        points: Sequence[tuple[float, float]],
        *,
        complete: bool = False,
        targets: bool = False,
    ) -> Convergence | None:
        """Make the curve of points; None of fewer than two. Of many, some are kept, evenly."""
        known = {int(evaluations): float(volume) for evaluations, volume in points}
        if len(known) < 2:
            return None
        ends = np.array(sorted(known))
        kept = np.unique(np.linspace(0, len(ends) - 1, min(len(ends), _MOST_POINTS)).round())
        chosen = ends[kept.astype(np.int64)].tolist()
        return cls(tuple(chosen), tuple(known[at] for at in chosen), complete, targets)

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Convergence | None:
        """Read the curve off ``run.json``; None where it has none."""
        search = record.get("search")
        curve = search.get("convergence") if isinstance(search, Mapping) else None
        if not isinstance(curve, Mapping):
            return None
        ends, volumes = curve.get("evaluations"), curve.get("hypervolume")
        if not isinstance(ends, list) or not isinstance(volumes, list):
            return None
        if not all(map(is_number, (*ends, *volumes))):
            return None
        points = list(zip(ends, volumes, strict=False))
        complete, targets = (curve.get(name) is True for name in ("complete", "targets"))
        return cls.of(points, complete=complete, targets=targets)

    def to_dict(self) -> dict[str, Any]:
        """As `of_record` reads it, with what the last tenth has gained."""
        return {
            "evaluations": list(self.evaluations),
            "hypervolume": [round(volume, 6) for volume in self.hypervolumes],
            "complete": self.complete,
            "targets": self.targets,
            "last_tenth": round(self.last_tenth, 6),
        }

    @property
    def last_tenth(self) -> float:
        """What the last tenth of the evaluations gained, as a share of the hypervolume."""
        last = self.hypervolumes[-1]
        before = np.interp(0.9 * self.evaluations[-1], self.evaluations, self.hypervolumes)
        return float(last - before) / last if last > 0 else 0.0

    @property
    def gained(self) -> str:
        """The same in words."""
        return "less than 0.01%" if self.last_tenth < 0.0001 else f"{self.last_tenth:.2%}"

    @property
    def sentence(self) -> str:
        """What to make of it."""
        if self.complete and self.targets:
            return "every size of groups was searched for; better groups may exist"
        if self.complete:
            return "everything there is was evaluated: nothing more can be found"
        gain = self.last_tenth
        words = f"the last tenth of the evaluations gained {self.gained} of hypervolume"
        if gain <= _LITTLE:
            return f"{words}: as good as converged"
        if gain < _MUCH:
            return f"{words}: a longer search finds a little more"
        return f"{words}: not converged, more search.generations or search.evaluations find more"
