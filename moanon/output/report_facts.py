"""How a run was made, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from moanon.front import Front
from moanon.measures.suppression import Suppression, row_limit

__all__ = ["facts_of", "rule_in_words"]

_DIVERSITY = {
    "distinct": "distinct sensitive values",
    "frequency": "in diversity (its size over its most frequent sensitive value)",
}


def rule_in_words(rule: Suppression, rows: int | None) -> str:
    """Say which rows a solution leaves out, for a table of `rows` rows (None: unknown)."""
    share = f"{rule.eta * 100:g} % of the rows"
    if rows is not None:
        share += f" ({row_limit(rule.eta, rows):,} of {rows:,})"
    if rule.kind == "none":
        return "No row is suppressed."
    if rule.kind == "weighted-k":
        return "Every group smaller than weighted k is suppressed, however many rows that costs."
    if rule.kind == "limit" and rule.eta == 0:
        return "No row may be suppressed (η = 0): plain k-anonymity."
    if rule.kind == "limit":
        return (
            f"Each solution suppresses the groups smaller than its k; together they hold at most "
            f"{share} (η = {rule.eta:g})."
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


def _preferred(rule: Suppression) -> str:
    return "k" if rule.prefer == "k" else "diversity"


def facts_of(front: Front, record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List what a run's record tells, as labels and texts; what it does not tell is left out."""
    return [(label, text) for label, text in _facts(front, record) if text]


def _facts(front: Front, record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    data, search = record.get("data", {}), record.get("search", {})
    times = record.get("times", {})
    yield "Data", _told(data, "source")
    yield "Rows", _rows(data)
    yield "Distinct combinations of quasi-identifiers", _told(data, "cells")
    yield "Digest of the data", _told(data, "digest")
    yield "Objectives", ", ".join(front.objectives)
    yield "Search", _told(search, "algorithm")
    yield "Seed", _told(record, "seed", grouped=False)
    yield "Evaluations", _evaluations(search)
    yield "Ended because", _told(search, "why")
    yield "Solutions", _solutions(front)
    yield "Search time", _seconds(times)
    yield "Finished", _told(times, "finished").replace("T", " ").replace("+00:00", " UTC")
    yield "Versions", _versions(record)
    yield "Notes", "; ".join(str(note) for note in record.get("notes", ()))


def _told(section: Mapping[str, Any], key: str, *, grouped: bool = True) -> str:
    value = section.get(key, "")
    return f"{value:,}" if isinstance(value, int) and grouped else str(value)


def _rows(data: Mapping[str, Any]) -> str:
    used, dropped = _told(data, "rows"), data.get("rows_dropped", 0)
    return f"{used}; {dropped:,} more had missing values and were dropped" if dropped else used


def _evaluations(search: Mapping[str, Any]) -> str:
    number, generations = _told(search, "evaluations"), _told(search, "generations")
    return f"{number} in {generations} generations" if number and generations else number


def _solutions(front: Front) -> str:
    thinned = f", thinned evenly from {front.found:,}" if front.found > len(front) else ""
    return f"{len(front):,}{thinned}"


def _seconds(times: Mapping[str, Any]) -> str:
    if "search" not in times:
        return ""
    threads = f" on {times['threads']} threads" if times.get("threads") else ""
    return f"{times['search']:.1f} s{threads}"


def _versions(record: Mapping[str, Any]) -> str:
    versions = {"moanon": record.get("moanon", ""), **record.get("versions", {})}
    return ", ".join(f"{name} {number}" for name, number in versions.items() if number)
