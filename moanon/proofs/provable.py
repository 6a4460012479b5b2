"""Which fronts can be polished and proven: those that depend on the sizes of groups alone.

Shortest paths and bounds go by the sizes of groups and by losses that add up over columns. So they
are for the objectives k and loss, where groups are suppressed by their size and nothing else is
demanded of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from moanon.errors import ConfigError
from moanon.front import Front
from moanon.measures.suppression import Suppression
from moanon.recoding import GlobalRecodings

#: Columns with more base values have more pairs of edges than are listed at every step of a proof.
MOST_VALUES = 1_500

#: Why nothing is proven of boxes.
LOCAL = (
    "only fronts of global recodings can be proven. Got local ones: their boxes are not made of "
    "bits that could be decided one after the other"
)


def why_not(objectives: Sequence[str], rule: Suppression, bounds: Sequence[str]) -> str | None:
    """Why nothing can be proven about a front, as a sentence; None if it can."""
    if sorted(objectives) != ["k", "loss"]:
        others = [name for name in objectives if name not in ("k", "loss")]
        verb = "is" if len(others) == 1 else "are"
        about = f"{', '.join(others)} {verb} none of them" if others else "both are needed"
        return (
            "only fronts with the objectives k and loss can be proven, since bounds go by the "
            f"sizes of groups alone; {about}. Got the objectives {', '.join(objectives)}"
        )
    if rule.kind not in ("limit", "none") or (rule.kind == "limit" and rule.by != "k"):
        way = f"by {rule.by}" if rule.kind == "limit" else f"by the rule {rule.kind}"
        return (
            "only fronts whose groups are suppressed by their size can be proven, since a smaller "
            f"group is then suppressed in every finer generalization, too. Got suppression {way}"
        )
    names = [*(name for name, _ in rule.constraints), *bounds]
    if names:
        return (
            "fronts under constraints cannot be proven, since bounds take all generalizations for "
            f"possible. Got constraints on {', '.join(dict.fromkeys(names))}"
        )
    return None


def why_unprovable(front: Front) -> str | None:
    """Why nothing can be proven about a front, as a sentence; None if it can."""
    if not isinstance(front.recodings, GlobalRecodings):
        return LOCAL
    reason = why_not(front.objectives, front.suppression, [*front.bounds])
    if reason is None and front.instance is not None:
        for name, domain in front.instance.layout.domains.items():
            if domain.size > MOST_VALUES:
                return (
                    f"fronts are proven for columns of at most {MOST_VALUES:,} base values. Got "
                    f"{domain.size:,} in {name!r}; a coarser granularity has fewer"
                )
    return reason


def check_provable(front: Front) -> None:
    """Refuse a front about which nothing can be proven, with the reason.

    Raises
    ------
    ConfigError
    """
    reason = why_unprovable(front)
    if reason is not None:
        raise ConfigError(reason)
