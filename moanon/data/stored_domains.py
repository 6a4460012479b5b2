"""Domains as plain values, to be stored with results and read again without the table.

What the values of a column are was settled when its table was read: a range may come from the data,
and so does a tree that a rule has made. New rows must meet the same domains, so these are stored as
they were built: names of base values and where they begin, no counts and no rows.

Of a tree only those nodes keep their names that somebody has seen already, in a label. A leaf that
no label shows by itself is a value of the table that nobody may have released; all that is stored
of it is a digest, by which the same value is known in other rows. They then also name the nodes
above it that show a part of the value (``1305*``), of which only the length of that part is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from moanon.data.domain import (
    MISSING,
    Domain,
    HiddenLeaves,
    IntervalDomain,
    OrderedDomain,
    TreeDomain,
)
from moanon.data.hierarchy import SUPPRESSED, Hierarchy
from moanon.data.notation import Notation
from moanon.data.steps import Scale, Steps
from moanon.errors import DataError

_PLACES = ("origin", "width", "low", "high")


def domain_record(domain: Domain, blocks: Iterable[tuple[int, int]], salt: str) -> dict[str, Any]:
    """A domain as JSON can hold it.

    Parameters
    ----------
    domain : Domain
    blocks : iterable of (start, stop)
        Those that are shown somewhere; other nodes of a tree are not named.
    salt : str
        What digests of names are made with.
    """
    record: dict[str, Any] = {"kind": domain.kind, "missing": domain.has_missing}
    if isinstance(domain, OrderedDomain):
        return record | {"order": list(domain.order)}
    if isinstance(domain, IntervalDomain):
        return record | {"steps": _steps_record(domain.steps)}
    assert isinstance(domain, TreeDomain)
    tree = domain.hierarchy
    named = {node for block in blocks for node in domain.largest_nodes(*block)}
    if domain.has_missing:
        named.add(tree.names.index(MISSING))
    if domain.size > 1:
        named.discard(0)  # the root shows as a star
    unnamed = [node for node in range(len(tree.names)) if node not in named]
    names = list(tree.names)
    for node in unnamed:
        names[node] = f"(not shown: {node})" if node else SUPPRESSED
    return record | {
        "hierarchy": {
            "names": names,
            **{part: getattr(tree, part) for part in ("starts", "stops", "parents", "levels")},
        },
        "steps": None if domain.steps is None else _steps_record(domain.steps),
        "sets": domain.sets,
        "salt": salt,
        "hidden": {
            HiddenLeaves.digest(salt, tree.names[node]): tree.starts[node]
            for node in unnamed
            if tree.stops[node] - tree.starts[node] == 1 and domain.steps is None
        },
        "telling": domain.telling,
        "made": domain.made,
        "forms": [[node, *_form(domain, node)] for node in unnamed if _shows_parts(domain, node)],
    }


def _shows_parts(domain: TreeDomain, node: int) -> bool:
    """Whether the name of a node has in it how all values below begin or end."""
    tree = domain.hierarchy
    wide = tree.stops[node] - tree.starts[node] > 1
    return wide and node > 0 and domain.telling in ("heads", "tails")


def _form(domain: TreeDomain, node: int) -> tuple[int, str]:
    """How many characters of the values below a name shows, and what stands for the others."""
    name = domain.hierarchy.names[node]
    shown = len(name.rstrip(SUPPRESSED) if domain.telling == "heads" else name.lstrip(SUPPRESSED))
    return shown, SUPPRESSED * (len(name) - shown)


def _steps_record(steps: Steps) -> dict[str, Any]:
    places = {name: getattr(steps, name) for name in _PLACES}
    return {
        "type": steps.scale.type,
        "months": steps.scale.months,
        "notation": asdict(steps.scale.notation),
        **{name: None if place is None else str(place) for name, place in places.items()},
        "first": steps.first,
        "count": steps.count,
        "clamped": steps.clamped,
        "below": steps.below,
        "above": steps.above,
    }


def domain_from(record: Mapping[str, Any]) -> Domain:
    """Read what `domain_record` gave.

    Raises
    ------
    DataError
        If it is something else.
    """
    try:
        return _domain_from(record)
    except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise DataError(f"a stored domain is damaged: {error!r}") from None


def _domain_from(record: Mapping[str, Any]) -> Domain:
    missing = bool(record["missing"])
    if record["kind"] == "ordered":
        return OrderedDomain(tuple(record["order"]), missing)
    steps = None if record["steps"] is None else _steps_from(record["steps"])
    if record["kind"] == "interval":
        assert steps is not None
        return IntervalDomain(steps, missing)
    tree = {name: tuple(map(_tuples, part)) for name, part in record["hierarchy"].items()}
    unnamed = ((),) * len(tree["names"])
    hierarchy = Hierarchy(**tree, above=unnamed, level_labels=())
    forms = {node: (shown, rest) for node, shown, rest in record.get("forms", ())}
    hidden = HiddenLeaves(str(record["salt"]), dict(record["hidden"]), forms)
    telling = record.get("telling", "nothing")
    # Earlier versions did not store it: then nothing is known to be declared.
    made = record.get("made", True)
    return TreeDomain(hierarchy, missing, steps, record["sets"], hidden, telling, made)


def _tuples(part: Any) -> Any:
    return tuple(part) if isinstance(part, list) else part


def _steps_from(record: Mapping[str, Any]) -> Steps:
    low, high = (None if record[end] is None else Fraction(record[end]) for end in ("low", "high"))
    return Steps(
        Scale(record["type"], record["months"], Notation(**record["notation"])),
        Fraction(record["origin"]),
        Fraction(record["width"]),
        record["first"],
        record["count"],
        low,
        high,
        clamped=record["clamped"],
        below=record.get("below", 1),
        above=record.get("above", 1),
    )
