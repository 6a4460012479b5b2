"""Domains are read back as they were built, and damaged ones are refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from moanon import Instance
from moanon.data.domain import IntervalSpec, TreeSpec
from moanon.data.notation import Notation
from moanon.data.rules import rule_of
from moanon.data.stored_domains import domain_from, domain_record
from moanon.errors import DataError
from tests.data.columns import column_of
from tests.release.tables import instances


@given(instances())
def test_what_is_stored_is_read_back(instance: Instance) -> None:
    for domain in instance.layout.domains.values():
        assert domain_from(json.loads(json.dumps(domain_record(domain)))) == domain


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
    again = domain_from(json.loads(json.dumps(domain_record(domain))))
    assert again == domain
    assert again.find(["5 kg", "99 kg"]).tolist() == domain.find(["5 kg", "99 kg"]).tolist()


@pytest.mark.parametrize(
    "record", [{}, {"kind": "tree", "missing": False, "steps": 3}, {"kind": 1}]
)
def test_damaged_records_are_refused(record: dict[str, object]) -> None:
    with pytest.raises(DataError, match="a stored domain is damaged"):
        domain_from(record)
