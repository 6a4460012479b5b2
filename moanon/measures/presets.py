"""The four problems of D §5 as objectives under a suppression rule.

The objectives are a choice, not a law: any registered measures can take their place. D states P2
and P4 with GL, which counts kept rows only and so rewards suppressing; D's own plots show GL + SL.
The presets therefore minimize ``loss``; D's literal objectives are ``[k, gl]`` and
``[d1, d2, gl]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from moanon.errors import ConfigError
from moanon.measures.registry import find_measure
from moanon.measures.suppression import Suppression

__all__ = ["PRESETS", "Preset", "find_preset", "suppress_by"]


@dataclass(frozen=True)
class Preset:
    """A named problem."""

    name: str
    objectives: tuple[str, ...]
    suppression: Suppression
    citation: str

    def with_settings(self, **settings: Any) -> Preset:
        """Return the preset with another eta, safety, prefer or diversity."""
        return replace(self, suppression=replace(self.suppression, **settings))


PRESETS = {
    preset.name: preset
    for preset in (
        Preset("zero-suppression", ("weighted_k", "gl"), Suppression("none"), "D §5.3.1, P1"),
        Preset("k-suppression", ("k", "loss"), Suppression("limit"), "D §5.3.2, P2"),
        Preset(
            "any-suppression", ("weighted_k", "gl", "sl"), Suppression("weighted-k"), "D §5.3.3, P3"
        ),
        Preset("kl-safety", ("d1", "d2", "loss"), Suppression("kl-safety"), "D §5.3.4, P4"),
    )
}


def suppress_by(objectives: Sequence[str]) -> str:
    """By what groups are given up where nobody says it.

    The first objective that every group has a value of: whoever optimizes t-closeness wants the
    groups gone that are farthest from the table. Where there is none, their size.
    """
    return next((name for name in objectives if find_measure(name).group_wise), "k")


def find_preset(name: str) -> Preset:
    """Return a preset by name."""
    if name not in PRESETS:
        raise ConfigError(f"there is no problem called {name!r}. Known: {', '.join(PRESETS)}")
    return PRESETS[name]
