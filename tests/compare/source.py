"""Tables 1-3 of C: ten people, and three generalizations of them as genomes."""

from __future__ import annotations

import pandas as pd

from moanon import Hierarchy, Instance, OrderedSpec, Release, TreeSpec, read_table
from moanon.grouping import Grouping

PEOPLE = pd.DataFrame(
    [
        ("13053", "28", "CF-Spouse"),
        ("13268", "41", "Separated"),
        ("13268", "39", "Never Married"),
        ("13053", "26", "CF-Spouse"),
        ("13253", "50", "Divorced"),
        ("13253", "55", "Spouse Absent"),
        ("13250", "49", "Divorced"),
        ("13052", "31", "Spouse Present"),
        ("13269", "42", "Separated"),
        ("13250", "47", "Separated"),
    ],
    columns=["zip", "age", "marital"],
)
# C generalizes the marital status and protects its real values: two roles, hence two columns.
PEOPLE["status"] = PEOPLE["marital"]
ZIP = {"130**": {"1305*": ["13052", "13053"]}, "132**": {"1325*": ["13250", "13253"]}}
ZIP["132**"]["1326*"] = ["13268", "13269"]
MARITAL = {
    "Married": ["CF-Spouse", "Spouse Present"],
    "Not Married": ["Divorced", "Never Married", "Separated", "Spouse Absent"],
}
AGES = tuple(sorted(PEOPLE["age"]))  # 26 28 31 39 41 42 47 49 50 55

#: Zip codes, ages and marital status from left to right: where two neighbours stay apart.
GENOMES = {
    "T3a": "01010" + "001001000" + "01000",  # 26-31 | 39-42 | 47-55
    "T3b": "01000" + "001000000" + "01000",  # 26-31 | 39-55
    "T4": "00000" + "000100000" + "00000",  # 26-39 | 41-55
}


def instance() -> Instance:
    roles = {"zip": "quasi", "age": "quasi", "marital": "quasi", "status": "sensitive"}
    return Instance.build(
        read_table(PEOPLE, roles),
        {
            "zip": TreeSpec(Hierarchy.from_nested("13***", ZIP)),
            "age": OrderedSpec(AGES),
            "marital": TreeSpec(Hierarchy.from_nested("Any", MARITAL)),
        },
    )


def anonymized(name: str) -> Grouping:
    people = instance()
    return Release.of(people, people.layout.parse(GENOMES[name])).grouping.named(name)


def without_meaning(seen: Grouping) -> Grouping:
    """The same groups, of which nobody knows what their labels mean."""
    bare = Instance.without_meaning(seen.table)
    return Grouping.of_rows(bare, seen.released().row_group, None, None, name=seen.name)
