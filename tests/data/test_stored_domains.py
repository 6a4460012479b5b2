"""Domains are read back as they were built, and damaged ones are refused."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest
from hypothesis import given

from moanon import Instance
from moanon.data.cell_reading import Notation
from moanon.data.domain import Domain, IntervalSpec, TreeSpec, domain_from
from moanon.data.rules import rule_of
from moanon.errors import DataError
from tests.data.columns import column_of
from tests.release.tables import instances

Blocks = list[tuple[int, int]]


def again(domain: Domain, blocks: Blocks) -> Domain:
    return domain_from(json.loads(json.dumps(domain.record(blocks, "salt"))))


def allowed(domain: Domain) -> Blocks:
    places = range(domain.size + 1)
    return [(a, b) for a in places for b in places if a < b and domain.allows(a, b)]


@given(instances())
def test_what_is_stored_is_read_back(instance: Instance) -> None:
    for name, domain in instance.layout.domains.items():
        read = again(domain, allowed(domain))
        column = instance.table.column(name)
        assert read.codes(column).tolist() == domain.codes(column).tolist()
        assert read.spans.tolist() == domain.spans.tolist()
        for block in allowed(domain):
            assert read.label(*block) == domain.label(*block)


@pytest.mark.parametrize(
    "rule",
    [
        {"mask": "right"},
        {"frequency": 3},
        {"intervals": [5, 10]},
        {"group": {"N": ["5 kg"]}, "rest": "O"},
    ],
)
def test_trees_of_rules_are_read_back(rule: dict[str, object]) -> None:
    interval = IntervalSpec(range=(0, 30), outside="clamp", notation=Notation(unit="kg"))
    domain = TreeSpec(rule_of(rule, interval)).build(column_of(["5 kg", "17 kg", "99 kg", None]))
    for blocks in ([], allowed(domain)):
        read = again(domain, blocks)
        assert read.find(["5 kg", "99 kg"]).tolist() == domain.find(["5 kg", "99 kg"]).tolist()
        assert read.values == domain.values


def test_values_that_no_label_shows_are_not_named() -> None:
    codes = ["13053", "13068", "14850", "14853", None]
    domain = TreeSpec(rule_of({"mask": "right"}, IntervalSpec())).build(column_of(codes))
    shown = [block for block in allowed(domain) if domain.label(*block) in ("130**", "14850", "*")]
    record = json.dumps(domain.record(shown, "salt"))
    named = ["130**", "14850", "(missing)"]
    inner = domain.hierarchy.names[1:]  # the root is a star, and so ends many a code
    assert [name for name in inner if name in record] == named
    read = again(domain, shown)
    present = [code for code in codes if code]
    assert read.find(present).tolist() == domain.find(present).tolist()
    assert [read.label(*block) for block in shown] == [domain.label(*block) for block in shown]
    unknown = [
        "13054",
        "(missing)",
        "(not shown: 3)",
        sha256(b"salt\x0013053").hexdigest()[:32],
        "*",
    ]
    assert read.find(unknown).tolist() == [-1] * 5


@pytest.mark.parametrize("side", ["right", "left"])
def test_rows_at_hand_name_what_was_hidden(side: str) -> None:
    codes = ["13053", "13068", "148", "14*53", None]
    domain = TreeSpec(rule_of({"mask": side}, IntervalSpec())).build(column_of(codes))
    read = again(domain, [])
    named = read.meeting(["13068", "14*53", "7"])
    for leaf in range(domain.size - 1):
        known = domain.label(leaf, leaf + 1) in ("13068", "14*53")
        for block in allowed(domain):
            if known and block[0] <= leaf < block[1]:
                assert named.label(*block) == domain.label(*block)
    assert named.find(["13053", "13068"]).tolist() == domain.find(["13053", "13068"]).tolist()
    alone = next(block for block in allowed(domain) if domain.label(*block) == "13053")
    assert named.label(*alone).startswith("(not shown")


@pytest.mark.parametrize(
    "record", [{}, {"kind": "tree", "missing": False, "steps": 3}, {"kind": 1}]
)
def test_damaged_records_are_refused(record: dict[str, object]) -> None:
    with pytest.raises(DataError, match="a stored domain is damaged"):
        domain_from(record)
