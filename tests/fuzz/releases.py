"""Random releases, read again by a few lines that share nothing with the package but its labels.

A case is a random table, a front of random genomes or boxes, and one of its solutions, written in
one of the formats. What the file shows is compared cell by cell with what the oracle says it must,
and every measure of the front and of the certificate with the oracle's.
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from moanon.front import Front
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.measures import MEASURES
from moanon.measures.evaluate import Evaluator
from moanon.measures.suppression import Suppression
from moanon.recoding import BOXES, LocalRecodings
from moanon.release import Certificate
from moanon.release.certificate import front_measures
from tests import naive, naive_measures
from tests.release import tables
from tests.release.tables import one_database
from tests.strategies import boxes, populations, rich_instances
from tests.strategies import instances as plain_instances

#: The rules of the four problems, which the oracle has, too.
RULES = [
    Suppression("none"),
    Suppression("limit", 0.3),
    Suppression("limit", 0.6),
    Suppression("weighted-k"),
    Suppression("weighted-k", by="l"),
    Suppression("kl-safety", 0.3, "strict", "k"),
    Suppression("kl-safety", 0.5, "strict", "l", "frequency"),
    Suppression("kl-safety", 0.3, "ordered", "l"),
    Suppression("kl-safety", 0.5, "ordered", "k", "frequency"),
]
#: For each row its blocks, or None where it is suppressed.
Shown = list[tuple[tuple[int, int], ...] | None]


@dataclass(frozen=True, repr=False)
class Case:
    """A solution of a front, what its rows show by the oracle, and how it is to be written."""

    front: Front
    solution: int
    shown: Shown
    groups: list[list[int]]
    name: str
    options: dict[str, Any]

    def __repr__(self) -> str:
        return (
            f"Case({self.front.recoding(self.solution)}, {self.shown}, {self.name}, {self.options})"
        )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Tables of all kinds, with genomes in two cases of three and boxes in the third."""
    instance = draw(
        st.one_of(rich_instances(20), plain_instances(20), tables.instances().filter(_has_rows))
    )
    if draw(st.integers(0, 2)):
        front, solution, shown, groups = draw(_of_genomes(instance))
    else:
        front, solution, shown, groups = draw(_of_boxes(instance))
    options = {
        "suppressed": draw(st.sampled_from(["absent", "absent", "star"])),
        "spreadsheet_safe": draw(st.booleans()),
        **draw(st.sampled_from([{"keep_order": True}, {"keep_order": True}, {"shuffle": 7}, {}])),
    }
    if options["suppressed"] == "star" and not _can_be_starred(instance, shown):
        options["suppressed"] = "absent"
    name = draw(st.sampled_from(["r.csv", "r.csv", "r.parquet"]))
    return Case(front, solution, shown, groups, name, options)


def _has_rows(instance: Instance) -> bool:
    return instance.table.rows > 0


def _can_be_starred(instance: Instance, shown: Shown) -> bool:
    """Whether no row that is released looks like one of stars."""
    # Identifying columns are not released, so they tell nothing apart.
    only_quasi = {*instance.table.roles.values()} <= {"quasi", "identifying"}
    domains = instance.layout.domains.values()
    return not only_quasi or not any(
        row is not None
        and all(d.label(*block) == "*" for d, block in zip(domains, row, strict=True))
        for row in shown
    )


@st.composite
def _of_genomes(draw: st.DrawFn, instance: Instance) -> tuple[Front, int, Shown, list[list[int]]]:
    rules = RULES if instance.table.sensitive else RULES[:4]
    rule, genomes = draw(st.sampled_from(rules)), draw(populations(instance, most=3))
    scores = Evaluator(instance).evaluate(genomes, rule)
    feasible = scores.excess == 0
    assume(feasible.any())
    thresholds = np.stack([scores.field("d1"), scores.field("d2")], axis=1)
    front = Front.of(
        Evaluator(instance), rule, ("k", "loss"), genomes[feasible], thresholds[feasible]
    )
    solution = draw(st.integers(1, len(front)))
    genome = front.recoding(solution)["genome"]
    rows = naive.generalized_rows(instance, genome)
    groups = [list(each) for each in naive.groups_of(rows).values()]
    lost = {row for rows in _given_up(instance, genome, rule, groups) for row in rows}
    shown: Shown = [None if number in lost else row for number, row in enumerate(rows)]
    return front, solution, shown, groups


def _given_up(
    instance: Instance, genome: str, rule: Suppression, groups: list[list[int]]
) -> list[list[int]]:
    """Groups that a rule suppresses, by the oracle; both lists of it are in the same order."""
    described = naive.groups_with_loss(instance, genome, rule.diversity)
    kept = {
        "none": lambda: described,
        "limit": lambda: naive.within_limit(described, rule.eta)[1],
        "weighted-k": lambda: (
            naive.above_weighted_k(described)
            if rule.by == "k"
            else naive.above_weighted_l(described)[1]
        ),
        "kl-safety": lambda: (
            naive.strict_safety(described, rule.eta, rule.prefer)[2]
            if rule.safety == "strict"
            else naive.ordered_safety(described, rule.eta, rule.prefer)[2]
        ),
    }[rule.kind]()
    # A rule looks at size and diversity alone, so groups that are alike in these fare alike.
    stays = {(size, ell) for size, _, ell in kept}
    return [
        rows
        for rows, (size, _, ell) in zip(groups, described, strict=True)
        if (size, ell) not in stays
    ]


@st.composite
def _of_boxes(draw: st.DrawFn, instance: Instance) -> tuple[Front, int, Shown, list[list[int]]]:
    """A front of one solution, which went through the file that holds boxes."""
    cell_box, starts, stops = draw(boxes(instance))
    found = LocalRecodings.of_groupings([Grouping.of_boxes(instance, cell_box, starts, stops)])
    recodings = LocalRecodings.of_file(found.files()[BOXES])
    front = Front.of_recodings(instance, Suppression("none"), ("k", "loss"), recodings)
    shown: Shown = []
    for cell in instance.row_cell.tolist():
        box = cell_box[cell]
        blocks = zip(starts[:, box].tolist(), stops[:, box].tolist(), strict=True)
        shown.append(None if box < 0 else tuple(blocks))
    groups = [rows for row, rows in naive.groups_of(shown).items() if row is not None]
    return front, 1, shown, groups


# -- checking --------------------------------------------------------------------------------------


def mismatches(case: Case) -> list[str]:
    """Write a release, read it again, and list what is not as the oracle says."""
    with TemporaryDirectory() as folder, one_database():
        path = Path(folder) / case.name
        release = case.front.release(case.solution)
        certificate = release.write(path, **case.options)
        loaded = Certificate.load(f"{path}.certificate.json")
        header, rows = _read(path, defused=case.options["spreadsheet_safe"])
    instance = case.front.instance
    assert instance is not None
    found = [] if loaded == certificate else ["the certificate is not what its file says"]
    if header != [name for name, role in instance.table.roles.items() if role != "identifying"]:
        found.append(f"columns {header}")
    expected = _expected_rows(instance, case.shown, stars=case.options["suppressed"] == "star")
    if "keep_order" not in case.options:
        rows, expected = sorted(rows, key=str), sorted(expected, key=str)
    if rows != expected:
        found.append(f"rows {rows[:3]} instead of {expected[:3]} ({case.name})")
    kept = [group for group in case.groups if case.shown[group[0]] is not None]
    found += _counted(rows, header, certificate, stars=case.options["suppressed"] == "star")
    c = Fraction(str(case.front.suppression.recursive_c))
    shown = [row or () for row in case.shown]
    oracle = naive_measures.release_measures(
        instance, shown, case.groups, kept, diversity=case.front.suppression.diversity, c=c
    )
    if case.front.recodings.generalization(case.solution - 1, instance) is not None:
        for name in ("absdist", "reldist"):  # of all blocks of a genome, released or not
            oracle.pop(name, None)
    said = {name: column[case.solution - 1].item() for name, column in case.front.measures.items()}
    found += _differences("the front", said, oracle)
    promised = front_measures(release.promised)
    found += _differences("the release", promised, oracle)
    if not {"k", "loss", "suppressed"} <= promised.keys() & said.keys():
        found.append("k, loss and suppressed rows are not stated")
    if bool(certificate.sensitive) != any(MEASURES[name].models for name in promised):
        found.append("models are stated without a sensitive column, or the other way round")
    record = release.record(certificate)["measures"]
    found += _differences("the record", {name: float(record[name]) for name in record}, oracle)
    stated = {name: float(v) for (name, column), v in certificate.values.items() if not column}
    public = {name: v for name, v in oracle.items() if not _is_beside_table(name)}
    found += _differences("the certificate", stated, public)
    declared = all(domain.is_declared for domain in instance.layout.domains.values())
    if ("gl" in stated, certificate.loss is not None) != (declared, declared):
        found.append("losses are certified though they follow from the table, or left out")
    for name in instance.table.sensitive:
        public = _beside_released(naive.sensitive_rows(instance, name), kept, c)
        found += _differences("the certificate", certificate.privacy_of(name), public)
        if missing := public.keys() - certificate.privacy_of(name).keys():
            found.append(f"{', '.join(missing)} of {name} are not certified")
    return found


def _is_beside_table(name: str) -> bool:
    """Whether a measure compares with all rows of the table, which a certificate does not know."""
    return name in MEASURES and MEASURES[name].beside_table


def _beside_released(values: Sequence[Any], kept: list[list[int]], c: Fraction) -> dict[str, float]:
    """Every model of a sensitive column where groups are compared with the released rows."""
    groups = [[values[row] for row in rows] for rows in kept]
    return naive_measures.column_models(groups, [v for group in groups for v in group], c)


def _read(path: Path, *, defused: bool) -> tuple[list[str], list[tuple[str, ...]]]:
    """Cells of a file as texts, without apostrophes before formulas; a gap is an empty text."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as stream:
            header, *cells = list(csv.reader(stream))
    else:
        table = duckdb.connect().sql(f"SELECT CAST(COLUMNS(*) AS VARCHAR) FROM '{path}'")
        header, cells = table.columns, table.fetchall()
    if defused:
        header, *cells = ([_armed(cell) for cell in row] for row in [header, *cells])
    return list(header), [tuple(cell or "" for cell in row) for row in cells]


def _armed(cell: str | None) -> str | None:
    """Take off the apostrophe before what a spreadsheet would run."""
    if cell and cell[0] == "'" and cell.lstrip("'")[:1] in tuple("=+-@\t\r\n"):
        return cell[1:]
    return cell


def _expected_rows(instance: Instance, shown: Shown, *, stars: bool) -> list[tuple[str, ...]]:
    """What a file must hold by the oracle."""
    table, rows = instance.table, []
    for number, blocks in enumerate(shown):
        if blocks is None:
            if stars:
                rows.append(tuple("*" for role in table.roles.values() if role != "identifying"))
            continue
        of_column = dict(zip(instance.layout.domains, blocks, strict=True))
        row = []
        for name, role in table.roles.items():
            if role == "quasi":
                row.append(instance.layout.domains[name].label(*of_column[name]))
            elif role != "identifying":
                gap = "(missing)" if role == "sensitive" else ""
                code = table.column(name).codes[number]
                row.append(gap if code < 0 else table.columns[name].values[code])
        rows.append(tuple(row))
    return rows


def _counted(
    rows: list[tuple[str, ...]], header: list[str], certificate: Certificate, *, stars: bool
) -> list[str]:
    """Compare the certificate with a count of the file's rows."""
    if stars:
        rows = [row for row in rows if set(row) != {"*"}]
    places = [header.index(name) for name in certificate.quasi]
    tuples = [tuple(row[place] for place in places) for row in rows]
    found = {"k": min(Counter(tuples).values()), "groups": len(set(tuples)), "rows": len(rows)}
    for name in certificate.sensitive:
        values = naive.groups_of(tuples)
        column = [row[header.index(name)] for row in rows]
        found[f"l of {name}"] = min(
            len({column[i] for i in members}) for members in values.values()
        )
    stated = {"k": certificate.k, "groups": certificate.groups, "rows": certificate.rows}
    for name in certificate.sensitive:
        stated[f"l of {name}"] = int(certificate.privacy_of(name)["l_distinct"])
    return [] if found == stated else [f"counted {found}, certified {stated}"]


def _differences(who: str, said: dict[str, float], oracle: dict[str, float]) -> list[str]:
    return [
        f"{name} is {said[name]} for {who} and {value} for the oracle"
        for name, value in oracle.items()
        if name in said and not _agree(said[name], value)
    ]


def _agree(one: float, other: float) -> bool:
    return one == other or math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
