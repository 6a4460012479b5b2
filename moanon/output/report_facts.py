"""How a run was made, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from moanon.front import Front
from moanon.measures import find_measure
from moanon.measures.suppression import Suppression, row_limit

__all__ = ["facts_of", "rule_in_words", "section"]

_DIVERSITY = {
    "distinct": "distinct sensitive values",
    "frequency": "in diversity (its size over its most frequent sensitive value)",
}


def rule_in_words(rule: Suppression, rows: int | None) -> str:
    """Say which rows a solution leaves out, for a table of `rows` rows (None: unknown)."""
    share = f"{rule.eta * 100:g} % of the rows"
    if rows is not None:
        share += f" ({row_limit(rule.eta, rows):,} of {rows:,})"
    words, ensured = _kind_in_words(rule, share), tuple(_bounds_in_words(rule.constraints))
    if not ensured:
        return words
    if rule.kind == "none" or (rule.eta == 0 and rule.kind != "weighted-k"):
        return f"{words} Every group has {' and '.join(ensured)}."
    counted = "" if rule.kind == "weighted-k" else ", and count towards that"
    failing = " or ".join(_bounds_in_words(rule.constraints, broken=True))
    return f"{words} Groups with {failing} are suppressed before all others{counted}."


def _bounds_in_words(bounds: Iterable[tuple[str, float]], *, broken: bool = False) -> Iterator[str]:
    """Say what bounds demand, each in its measure's better direction; or what breaks them."""
    for name, bound in bounds:
        least = find_measure(name).direction == "max"
        side = ("below" if least else "above") if broken else ("at least" if least else "at most")
        yield f"{name} {side} {bound:,.10g}"


def _kind_in_words(rule: Suppression, share: str) -> str:
    if rule.kind == "none":
        return "No row is suppressed."
    if rule.kind == "weighted-k":
        return "Every group smaller than weighted k is suppressed, however many rows that costs."
    if rule.kind == "limit" and rule.eta == 0:
        plain = ": plain k-anonymity" if rule.by == "k" and not rule.constraints else ""
        return f"No row may be suppressed (η = 0){plain}."
    if rule.kind == "limit":
        return (
            f"Each solution suppresses the groups {_worse_than_its_own(rule.by)}; together they "
            f"hold at most {share} (η = {rule.eta:g})."
        )
    if rule.safety == "strict":
        return (
            f"Each solution suppresses every group with fewer than d1 rows or fewer than d2 "
            f"{_DIVERSITY[rule.diversity]}; together they hold at most {share} "
            f"(η = {rule.eta:g}). Where both cannot be had, {_preferred(rule)} comes first."
        )
    first, second = ("diversity", "size") if rule.prefer == "k" else ("size", "diversity")
    return (
        f"Groups are ordered by {first}, then by {second}, and suppressed in that order while they "
        f"hold at most {share} (η = {rule.eta:g}); (d1, d2) is where that ends. A kept group can "
        f"still fall short of d1 or d2: k and l are what the kept groups attain."
    )


def _worse_than_its_own(by: str) -> str:
    """Which groups go first."""
    if by == "k":
        return "smaller than its k"
    side = "lower" if find_measure(by).direction == "max" else "higher"
    return f"with a {side} {by} than its own"


def _preferred(rule: Suppression) -> str:
    return "k" if rule.prefer == "k" else "diversity"


def facts_of(front: Front, record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List what a run's record tells, as labels and texts; what it does not tell is left out."""
    return [(label, text) for label, text in _facts(front, record) if text]


def section(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a part of a record; an empty one if it is not there, or is something else."""
    found = record.get(name)
    return found if isinstance(found, Mapping) else {}


def _facts(front: Front, record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    data, search, times = (section(record, name) for name in ("data", "search", "times"))
    dropped = _told(data, "rows_dropped")
    generations, threads = _told(search, "generations"), _told(times, "threads")
    yield "Data", _told(data, "source")
    yield (
        "Rows",
        _joined(
            _told(data, "rows"),
            f"; {dropped} more had missing values and were dropped",
            dropped not in ("", "0"),
        ),
    )
    yield "Distinct rows of quasi-identifiers", _told(data, "cells")
    yield "Digest of the data", _told(data, "digest")
    yield "Objectives", ", ".join(front.objectives)
    # What every group has to meet, and what a release as a whole.
    bounds = (*front.suppression.constraints, *front.bounds.items())
    yield "Constraints", "; ".join(dict.fromkeys(_bounds_in_words(bounds)))
    yield "Search", _told(search, "algorithm")
    yield "Seed", str(record.get("seed", ""))
    yield (
        "Evaluations",
        _joined(_told(search, "evaluations"), f" in {generations} generations", generations),
    )
    yield "Ended because", _told(search, "why")
    yield (
        "Solutions",
        _joined(
            f"{len(front):,}", f", thinned evenly from {front.found:,}", front.found > len(front)
        ),
    )
    yield "Seconds of search", _joined(_told(times, "search"), f" on {threads} threads", threads)
    yield "Seconds of compiling", _joined(_told(times, "compiling"), " before the search", True)
    yield "Finished", _told(times, "finished").replace("T", " ").replace("+00:00", " UTC")
    yield (
        "Versions",
        ", ".join(f"{name} {number}" for name, number in section(record, "versions").items()),
    )
    notes = record.get("notes")
    yield "Notes", "; ".join(map(str, notes)) if isinstance(notes, list | tuple) else ""


def _told(part: Mapping[str, Any], key: str) -> str:
    value = part.get(key, "")
    return f"{value:,}" if isinstance(value, int) else str(value)


def _joined(text: str, more: str, wanted: object) -> str:
    return text + more if text and wanted else text
