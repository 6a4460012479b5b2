"""Which groups are suppressed: the suppression rules of the four problems (D §5), and constraints.

A rule looks at the sizes of a genome's groups (and at their diversity) and decides which rows are
left out of the release. Everything measured "after suppression" follows from it. Here a rule is
declared; `moanon.kernels.selection` applies it.

Constraints on measures that every group has a value of (`Measure.group`) come first: groups that
fail any of them are suppressed, whatever the rule. If they hold more rows than may be suppressed
(none under ``none``, a share η under ``limit`` and ``kl-safety``, any number under ``weighted-k``),
or nothing is left, the genome is *infeasible* and no candidate. Otherwise the rule goes on with the
other groups and what is left of η.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite
from typing import Any, Literal, get_args

from moanon.errors import ConfigError, got
from moanon.measures.measure import MEASURES, GroupScale, find_measure, is_number

Kind = Literal["none", "limit", "weighted-k", "kl-safety"]

_WORDS = {
    "kind": get_args(Kind),
    "safety": ("ordered", "strict"),
    "prefer": ("k", "l"),
    "diversity": ("distinct", "frequency"),
}
#: The constant of recursive (c,ℓ)-diversity, unless another is asked for.
RECURSIVE_C = 3.0
#: A larger one asks nothing of any group.
MOST_RECURSIVE_C = 1000


def check_recursive_c(c: float) -> None:
    """Refuse what cannot be the constant of recursive diversity."""
    if not (is_number(c, MOST_RECURSIVE_C) and c > 0):
        raise ConfigError(
            f"recursive_c must be a number > 0 and <= {MOST_RECURSIVE_C}. Got {got(c)}"
        )


def row_limit(eta: float, rows: int) -> int:
    """Largest number of rows that is at most ``eta * rows``, and smaller than all.

    The product is taken exactly on the digits of `eta` as written: 0.1 of 30 rows is 3, although
    ``0.1 * 30`` as floats may fall short of it. A billionth is allowed for shares such as 1/3 that
    have no such digits.

    >>> row_limit(0.1, 30), row_limit(0.1, 29), row_limit(1 / 3, 30)
    (3, 2, 10)
    """
    if not (is_number(eta) and 0 <= eta < 1):
        raise ConfigError(f"eta must be in [0, 1). Got {got(eta)}")
    limit = int(Fraction(repr(float(eta))) * rows + Fraction(1, 10**9))
    return min(limit, rows - 1)


@dataclass(frozen=True)
class Suppression:
    """A suppression rule.

    Kinds: ``none`` keeps every row (P1). ``limit`` suppresses whole classes of the worst groups
    while they hold at most a share `eta` of the rows (P2, D eq. 7). ``weighted-k`` suppresses every
    group smaller than weighted-k (P3), or, where it goes `by` ``l``, every group less diverse than
    the mean over rows of their groups' diversity (D §5.3). ``kl-safety`` suppresses groups that are
    small or little diverse within `eta` (P4).

    Safeties: ``ordered`` is D eq. 8-9: classes of (size, diversity) are sorted by the less wanted
    property, then by the other, and suppressed in that order. It leaves groups in that have the one
    property and lack the other, so (d1, d2) is not attained in general; ``strict`` suppresses every
    group with size < d1 *or* diversity < d2, with the best (d1, d2) that fits.
    """

    kind: Kind = "limit"
    eta: float = 0.0  # largest share of rows that may be suppressed, in [0, 1)
    safety: Literal["ordered", "strict"] = "strict"  # P4 only, as …
    prefer: Literal["k", "l"] = "k"  # … the more wanted property
    #: How the diversity of a group is counted; with several sensitive columns, the least.
    diversity: Literal["distinct", "frequency"] = "distinct"
    #: Which groups are the worst. Of P2, by a measure that every group has a value of: ``k`` (the
    #: smallest, as D has it), or another. Of P3, ``k`` or ``l``.
    by: str = "k"
    #: Bounds on such measures, in their better direction: ``("k", 5)`` is at least 5,
    #: ``("t_closeness", 0.2)`` at most 0.2.
    constraints: tuple[tuple[str, float], ...] = ()
    recursive_c: float = RECURSIVE_C  # the constant of recursive (c,ℓ)-diversity

    def __post_init__(self) -> None:
        """Refuse words that mean nothing, before they are taken for something else."""
        for name, known in _WORDS.items():
            value = getattr(self, name)
            if value not in known:
                raise ConfigError(f"{name} must be one of {', '.join(known)}. Got {value!r}")
        row_limit(self.eta, 1)
        check_recursive_c(self.recursive_c)
        self.scale_of(self.by, "by")
        if self.by != "k" and self.kind != "limit" and (self.kind, self.by) != ("weighted-k", "l"):
            raise ConfigError(
                "by is for the rule limit, and may be l for weighted-k. "
                f"Got {self.by} for {self.kind}"
            )
        # From a file they come as lists.
        bounds = tuple((str(name), float(bound)) for name, bound in self.constraints)
        object.__setattr__(self, "constraints", bounds)
        for name, bound in bounds:
            self.scale_of(name, "a constraint of groups")
            if not isfinite(bound):
                raise ConfigError(f"the constraint {name} must be a number. Got {bound}")
            if name == "l_entropy" and bound <= 0:
                raise ConfigError(f"the constraint l_entropy must be above 0. Got {bound}")

    def own_name(self, name: str) -> str:
        """The name that a measure has on any front: ``l`` is one of two."""
        return f"l_{self.diversity}" if name == "l" else name

    def scale_of(self, name: str, what: str = "a measure of groups") -> GroupScale | None:
        """How kernels see a measure of groups; None for ``k``, which is the size."""
        if name not in MEASURES or (scale := MEASURES[self.own_name(name)].group) is None:
            known = ", ".join(each.name for each in MEASURES.values() if each.group)
            raise ConfigError(f"{what} must be one of {known}. Got {name!r}")
        return scale if scale.model else None

    @property
    def is_ordered(self) -> bool:
        """Whether the rule is D's ordered safety, which keeps other groups than thresholds say."""
        return self.kind == "kl-safety" and self.safety == "ordered"

    @property
    def needs_sensitive(self) -> bool:
        """Whether the rule looks at more than sizes."""
        names = (self.by, *(name for name, _ in self.constraints))
        return self.kind == "kl-safety" or any(name != "k" for name in names)

    def most_rows(self, rows: int) -> int:
        """Rows of a table of `rows` that may be suppressed."""
        if self.kind == "none":
            return 0
        return rows if self.kind == "weighted-k" else row_limit(self.eta, rows)

    @property
    def goes_by(self) -> GroupScale | None:
        """What the rule's classes are made of; None where that is the size alone."""
        if self.kind == "kl-safety":
            return self.scale_of("l")
        return self.scale_of(self.by)


# -- the four problems -----------------------------------------------------------------------------

# The objectives are a choice, not a law: any registered measures can take their place. D states P2
# and P4 with GL, which counts kept rows only and so rewards suppressing; D's own plots show GL +
# SL. The presets therefore minimize ``loss``; D's literal objectives are ``[k, gl]`` and
# ``[d1, d2, gl]``.


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
    """By what groups are suppressed where nobody says it.

    The first objective that every group has a value of: whoever optimizes t-closeness wants the
    groups gone that are farthest from the table. Where there is none, their size.
    """
    return next((name for name in objectives if find_measure(name).group), "k")


def find_preset(name: str) -> Preset:
    """Return a preset by name."""
    if name not in PRESETS:
        raise ConfigError(f"there is no problem called {name!r}. Known: {', '.join(PRESETS)}")
    return PRESETS[name]
