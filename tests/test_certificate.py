from __future__ import annotations

import ast
import dataclasses
import hashlib
import importlib.util
import json
import math
import re
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import moanon
from moanon import Certificate, Instance, IntervalSpec, OrderedSpec, Release, TreeSpec, read_table
from moanon.blocklabels import OrderLabels, label_rules
from moanon.data.domain import DomainSpec
from moanon.data.hierarchy import Hierarchy
from moanon.errors import CertificateError, DataError, OutputError
from moanon.measures.groups import Groups
from moanon.readback import Diversity, Reading, measure_file
from tests import naive

TEXTS = ("plain", "=1+1", "'=q", "-x", "a,b", 'say "hi"', "two\nlines", "é", " ", "'", "[1-2]")
LONG_AGO = date(1999, 12, 25)

# -- random tables --------------------------------------------------------------------------------


@st.composite
def trees(draw: st.DrawFn) -> Hierarchy:
    """Ragged trees with names of every sort."""
    shape = draw(st.recursive(st.none(), lambda below: st.lists(below, min_size=1, max_size=4)))
    number = iter(range(10_000))

    def named(node: object) -> dict[str, object]:
        name = f"{TEXTS[next(number) % len(TEXTS)]}{next(number)}"
        if node is None:
            return {name: None}
        assert isinstance(node, list)
        below: dict[str, object] = {}
        for child in node:
            below |= named(child)
        return {name: below}

    ((root, below),) = named(shape).items()
    return Hierarchy.from_nested(root, below if isinstance(below, dict) else [])


def interval(values: st.SearchStrategy[str], specs: list[IntervalSpec]) -> st.SearchStrategy:
    return st.tuples(st.sampled_from(specs), st.just(values))


INTEGERS = interval(
    st.integers(-20, 20).map(str),
    [
        IntervalSpec(),
        IntervalSpec(granularity=7),
        IntervalSpec(granularity=6, range=(-20, 20)),
        IntervalSpec(granularity=10, range=(-21, 23), origin=4),
    ],
)
DECIMALS = interval(
    st.integers(-250, 250).map(lambda i: str(i / 100)),
    [
        IntervalSpec(granularity=0.5),
        IntervalSpec(granularity="0.3", origin=0.1),
        IntervalSpec(granularity=0.4, range=(-2.5, 2.5)),
    ],
)
DATES = interval(
    st.integers(0, 400).map(lambda i: (LONG_AGO + timedelta(days=i)).isoformat()),
    [
        IntervalSpec(granularity=unit)
        for unit in (30, "week", "month", "quarter", "year", "decade", "day")
    ]
    + [IntervalSpec(granularity="month", range=("1999-12-01", "2001-02-28"))],
)
ORDERED = st.permutations(TEXTS).flatmap(
    lambda order: st.integers(1, len(order)).map(
        lambda size: (OrderedSpec(tuple(order[:size])), st.sampled_from(order[:size]))
    )
)
TREES = trees().map(lambda tree: (TreeSpec(tree), st.sampled_from(tree.leaves)))
DOMAINS = st.one_of(INTEGERS, DECIMALS, DATES, ORDERED, TREES)


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    """Tables with every role and kind of column, and gaps in all but the first row."""
    rows = draw(st.integers(1, 12))
    declared = draw(st.lists(DOMAINS, min_size=1, max_size=3))
    columns = {f"q{i}": (values, "quasi") for i, (_, values) in enumerate(declared)}
    for role, most in (("sensitive", 2), ("insensitive", 2), ("identifying", 1), ("", 1)):
        for i in range(draw(st.integers(0, most))):
            columns[f"={role}{i}"] = (st.sampled_from(TEXTS), role)
    missing = draw(st.sampled_from(["drop", "category", "error"]))
    gaps = st.none() if missing != "error" else st.nothing()
    frame = {}
    for name in draw(st.permutations(sorted(columns))):
        values = columns[name][0]
        others = draw(st.lists(st.one_of(values, gaps), min_size=rows - 1, max_size=rows - 1))
        frame[name] = [draw(values), *others]
    table = read_table(
        pd.DataFrame(frame, dtype=object),
        {name: role for name, (_, role) in columns.items() if role},
        missing=missing,
    )
    return Instance.build(table, {f"q{i}": spec for i, (spec, _) in enumerate(declared)})


@st.composite
def releases(draw: st.DrawFn) -> tuple[Release, int]:
    """Releases of random tables by random genomes, with the k below which groups are suppressed."""
    instance = draw(instances())
    seed = draw(st.integers(0, 2**32 - 1))
    genome = instance.layout.sample(1, np.random.default_rng(seed))[0]
    k = draw(st.integers(1, int(Groups.of(instance, genome).sizes.max())))
    c = draw(st.sampled_from([0.3, 1, 3]))
    return Release.of(instance, genome, k=k, recursive_c=c), k


def certify(release: Release, name: str = "release.csv", **options: object) -> Certificate:
    """Write a release to a folder of its own and return its certificate as found there."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        certificate = release.write(path, **options)
        assert Certificate.load(f"{path}.certificate.json") == certificate
        return certificate


# -- what a certificate says ----------------------------------------------------------------------


@given(releases(), st.sampled_from(["csv", "parquet"]), st.booleans())
def test_certificate_is_what_the_oracle_finds(
    drawn: tuple[Release, int], ending: str, raw_cells: bool
) -> None:
    release, k = drawn
    instance = release.instance
    m = [domain.size for domain in instance.layout.domains.values()]
    rows = naive.generalized_rows(instance, release.genome)
    groups = list(naive.groups_of(rows).values())
    kept = [members for members in groups if len(members) >= k]
    released = sum(map(len, kept))
    n, q = len(rows), len(m)
    gl = sum(naive.row_loss(rows[i], m) for members in kept for i in members) / (n * q)

    certificate = certify(release, f"release.{ending}", raw_cells=raw_cells)

    assert certificate.rows == released
    assert certificate.suppressed == n - released
    assert certificate.groups == len(kept)
    assert certificate.k == min(map(len, kept))
    assert certificate.weighted_k == naive.weighted_k(map(len, groups))
    assert certificate.weighted_k_released == naive.weighted_k(map(len, kept))
    assert certificate.gl == pytest.approx(float(gl), rel=1e-12)
    assert certificate.sl == pytest.approx((n - released) / n, rel=1e-12)
    assert certificate.loss == pytest.approx(float(gl) + (n - released) / n, rel=1e-12)
    assert certificate.rows_in - certificate.rows_dropped_missing == n


@given(releases(), st.sampled_from(["csv", "parquet"]))
def test_certified_diversity_is_what_the_oracle_finds(
    drawn: tuple[Release, int], ending: str
) -> None:
    release, k = drawn
    groups = naive.groups_of(naive.generalized_rows(release.instance, release.genome))
    kept = [members for members in groups.values() if len(members) >= k]

    certificate = certify(release, f"release.{ending}")

    assert set(certificate.l) == set(release.instance.table.sensitive)
    for name, found in certificate.l.items():
        values = naive.sensitive_rows(release.instance, name)
        shown = [[values[i] for i in members] for members in kept]
        c = Fraction(str(release.recursive_c))
        assert found.distinct == min(map(naive.distinct_l, shown))
        assert found.frequency == min(map(naive.frequency_l, shown))
        assert found.entropy == pytest.approx(min(map(naive.entropy_l, shown)), rel=1e-12)
        assert found.recursive == min(naive.recursive_l(each, c) for each in shown)


@given(releases(), st.sampled_from(["csv", "parquet"]))
def test_rows_of_stars_measure_as_absent_ones(drawn: tuple[Release, int], ending: str) -> None:
    release, _ = drawn
    if (release.to_frame() == "*").all(axis=1).any():
        with pytest.raises(OutputError, match="in every cell"):
            certify(release, f"release.{ending}", suppressed="star")
        return
    certificate = certify(release, f"release.{ending}", suppressed="star")
    absent = certify(release, f"release.{ending}")
    assert certificate.suppressed_rows == "star"
    different = {"suppressed_rows", "digests"}
    both = (each.to_dict() for each in (certificate, absent))
    first, second = ({k: v for k, v in each.items() if k not in different} for each in both)
    assert first == second


@given(instances(), st.integers(0, 2**32 - 1), st.data())
def test_any_set_of_groups_can_be_suppressed(
    instance: Instance, seed: int, data: st.DataObject
) -> None:
    genome = instance.layout.sample(1, np.random.default_rng(seed))[0]
    sizes = Groups.of(instance, genome).sizes
    flags = st.lists(st.booleans(), min_size=len(sizes) - 1, max_size=len(sizes) - 1)
    suppressed = np.array([False, *data.draw(flags)])
    certificate = certify(Release.of(instance, genome, suppressed=suppressed))
    assert certificate.rows == sizes[~suppressed].sum()
    assert certificate.k == sizes[~suppressed].min()


TABLE_1 = {
    "age": ["15", "17", "20", "26", "28", "30", "30"],
    "marital status": ["Never Married"] * 2
    + ["Civ-Spouse", "AF-Spouse", "AF-Spouse", "Civ-Spouse", "AF-Spouse"],
}
FIGURE_2 = Hierarchy.from_nested(
    "Marital Status",
    {
        "Not married": {
            "Never Married": None,
            "Once married": ["Divorced", "Widowed", "Separated"],
        },
        "Married": {"Spouse Absent": None, "Spouse Present": ["Civ-Spouse", "AF-Spouse"]},
    },
)


def illustrative_example() -> Instance:
    """D's Table 1; the marital status once as a quasi-identifier and once as what is sensitive."""
    frame = pd.DataFrame({**TABLE_1, "status": TABLE_1["marital status"]})
    roles = {"age": "quasi", "marital status": "quasi", "status": "sensitive"}
    return Instance.build(
        read_table(frame, roles),
        {"age": IntervalSpec(granularity=10, range=(10, 39)), "marital status": TreeSpec(FIGURE_2)},
    )


def test_table_t1_of_the_paper() -> None:
    release = Release.of(illustrative_example(), [1, 0, *(0, 0, 0, 1, 0, 0)])
    assert release.to_frame()["age"].tolist() == ["[10-19]"] * 2 + ["[20-39]"] * 5
    assert release.to_frame()["marital status"].tolist() == ["Not married"] * 2 + ["Married"] * 5
    certificate = certify(release)
    assert certificate.weighted_k == Fraction(29, 7)  # sizes 2, 5: (4 + 25) / 7
    assert certificate.k == 2
    # Age: 5 rows of 1/2. Status: 2 rows of 3/6, 5 rows of 2/6. 31/6 of 7 * 2 cells.
    assert certificate.gl == pytest.approx(31 / 84)
    # The group {1, 2} holds one status, whatever D says about T1.
    assert certificate.l["status"] == Diversity(1, 1, 1.0, 1)


def test_table_t2_of_the_paper() -> None:
    release = Release.of(illustrative_example(), [1, 1, *(0, 0, 0, 1, 0, 0)])
    ages = ["[10-19]"] * 2 + ["[20-29]"] * 3 + ["[30-39]"] * 2
    assert release.to_frame()["age"].tolist() == ages
    certificate = certify(release)
    assert certificate.weighted_k == Fraction(17, 7)  # sizes 2, 3, 2: (4 + 9 + 4) / 7
    assert certificate.weighted_k_released == Fraction(17, 7)
    assert certificate.k == 2


def test_weighted_k_of_the_table_and_of_the_released_rows() -> None:
    release = Release.of(illustrative_example(), [1, 0, *(0, 0, 0, 1, 0, 0)], k=3)
    certificate = certify(release)
    assert (certificate.rows, certificate.suppressed) == (5, 2)
    assert certificate.weighted_k == Fraction(29, 7)
    assert certificate.weighted_k_released == 5
    assert certificate.sl == pytest.approx(2 / 7)
    # Civ, AF, AF, Civ, AF: 2 values, floor(5/3) = 1; 3 < 3 * (3 + 2) and 3 < 3 * 2.
    entropy = -(0.4 * math.log(0.4) + 0.6 * math.log(0.6))
    assert certificate.l["status"] == Diversity(2, 1, pytest.approx(math.exp(entropy)), 2)


def test_recursive_diversity_depends_on_its_constant() -> None:
    # Counts 3 and 2. ℓ = 2 asks for 3 < c * 2, ℓ = 1 for 3 < c * 5.
    found = {
        c: certify(Release.of(illustrative_example(), [1, 0, 0, 0, 0, 1, 0, 0], k=3, recursive_c=c))
        for c in (0.6, 1.5, 1.6)
    }
    assert [found[c].l["status"].recursive for c in (0.6, 1.5, 1.6)] == [0, 1, 2]
    assert found[1.6].recursive_c == 1.6


ONE_VALUE_DOMAINS = {
    "interval": (IntervalSpec(granularity=10, range=(0, 9)), "[0-9]"),
    "value": (IntervalSpec(range=(5, 5)), "5"),
    "decimal": (IntervalSpec(type="decimal", granularity=1, range=(5, 5)), "[5-5]"),
    "ordered": (OrderedSpec(("5",)), "5"),
    "tree": (TreeSpec(Hierarchy.from_nested("Any", ["5"])), "5"),
}


@pytest.mark.parametrize("kind", ONE_VALUE_DOMAINS)
def test_a_domain_of_one_value_loses_nothing(kind: str) -> None:
    spec, label = ONE_VALUE_DOMAINS[kind]
    table = read_table(pd.DataFrame({"q": ["5"]}), {"q": "quasi"})
    release = Release.of(Instance.build(table, {"q": spec}), [])
    assert release.to_frame()["q"].tolist() == [label]
    certificate = certify(release)
    assert (certificate.rows, certificate.k, certificate.gl, certificate.l) == (1, 1, 0, {})
    assert certificate.genome == ""


def test_certificate_states_where_the_release_comes_from(tmp_path: Path) -> None:
    instance = illustrative_example()
    path = tmp_path / "t1.csv"
    certificate = Release.of(instance, [0] * 8).write(path, config_digest="ab12")
    assert certificate.digests == {
        "input": instance.table.digest,
        "config": "ab12",
        "output": hashlib.sha256(path.read_bytes()).hexdigest(),
    }
    assert certificate.file == "t1.csv"
    assert certificate.genome == "00000000"
    assert certificate.moanon == moanon.__version__


def test_certificate_names_its_entries() -> None:
    entries = json.loads(certify(Release.of(illustrative_example(), [1] * 8)).to_json())
    assert list(entries) == [
        "moanon", "file", "rows_in", "rows_dropped_missing", "rows", "suppressed",
        "suppressed_rows", "k", "groups", "weighted_k", "weighted_k_exact", "weighted_k_released",
        "weighted_k_released_exact", "l", "recursive_c", "gl", "sl", "loss", "quasi", "sensitive",
        "genome", "digests",
    ]  # fmt: skip
    assert list(entries["l"]["status"]) == ["distinct", "frequency", "entropy", "recursive"]
    assert entries["weighted_k_exact"] == "11/7"  # {1, 2}, {3}, {4, 5}, {6}, {7}
    assert entries["weighted_k"] == pytest.approx(11 / 7)


def test_certificate_that_lacks_an_entry_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "release.csv"
    Release.of(illustrative_example(), [0] * 8).write(path)
    notice = tmp_path / "release.csv.certificate.json"
    entries = json.loads(notice.read_text())
    del entries["k"]
    notice.write_text(json.dumps(entries))
    with pytest.raises(DataError, match=r"release\.csv\.certificate\.json has no entry 'k'"):
        Certificate.load(notice)


@pytest.mark.parametrize("text", ["", "[]", '{"moanon": 1}', "null"])
def test_other_files_are_no_certificates(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(DataError, match=r"certificate .*other\.json"):
        Certificate.load(path)


def test_absent_certificate_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.json cannot be read: No such file"):
        Certificate.load(tmp_path / "gone.json")


# -- the independent reader -----------------------------------------------------------------------


@given(instances(), st.integers(0, 2**32 - 1))
def test_labels_are_read_back_as_the_blocks_they_came_from(instance: Instance, seed: int) -> None:
    layout = instance.layout
    rng = np.random.default_rng(seed)
    for genome in (*layout.sample(3, rng), [1] * layout.bits, [0] * layout.bits):
        for name, blocks in layout.decode(genome).items():
            rules = label_rules(layout.domains[name])
            assert rules.size == layout.domains[name].size
            for start, stop in blocks:
                assert rules.count(layout.domains[name].label(start, stop)) == stop - start


@pytest.mark.parametrize(
    ("spec", "label"),
    [
        (IntervalSpec(granularity=10, range=(0, 29)), "[0-35]"),
        (IntervalSpec(granularity=10, range=(0, 29)), "[20-10]"),
        (IntervalSpec(granularity=10, range=(0, 29)), "[0-10-20]"),
        (IntervalSpec(granularity=10, range=(0, 29)), "young"),
        (IntervalSpec(granularity=10, range=(0, 29)), ""),
        (IntervalSpec(granularity=0.5, range=(0, 9)), "[0-1.2)"),
        (IntervalSpec(granularity="year", range=("2000-01-01", "2003-12-31")), "[2000-2001]"),
        (OrderedSpec(("1", "2", "3")), "3..1"),
        (OrderedSpec(("1", "2", "3")), "1..4"),
        (TreeSpec(Hierarchy.from_nested("Any", ["1", "2"])), "Any"),
        (TreeSpec(Hierarchy.from_nested("Any", ["1", "2"])), "3"),
    ],
)
def test_labels_of_no_block_have_no_size(spec: DomainSpec, label: str) -> None:
    value = "2001-05-05" if "year" in repr(spec) else "1"
    column = read_table(pd.DataFrame({"q": [value]}), {"q": "quasi"}).columns["q"]
    assert label_rules(spec.build(column)).count(label) is None


def test_a_label_with_two_readings_has_no_size() -> None:
    # "a...b" is both "a" to ".b" and "a." to "b".
    assert OrderLabels({"a": 0, ".b": 1, "a.": 2, "b": 3, "c": 4}, 5).count("a...b") == 2
    assert OrderLabels({"a": 0, "a.": 1, "c": 2, ".b": 3, "b": 4}, 5).count("a...b") == 4
    assert OrderLabels({"a": 0, "a.": 1, ".b": 2, "c": 3, "b": 4}, 5).count("a...b") is None


def reading(**changes: object) -> Reading:
    rules = OrderLabels({"1": 0, "2": 1}, 2)
    told = Reading("csv", ("q", "s"), {"q": rules}, ("s",), table_rows=4)
    return dataclasses.replace(told, **changes)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "its columns are  instead of q, s"),
        ("q,t\n1,a\n", "its columns are q, t instead of q, s"),
        ("q,s\n", "it has no rows"),
        ("q,s\n1\n", "the row that ends in line 2 has 1 cells instead of 2"),
        ("q,s\n1,a\n3,a\n", "column 'q': the label '3' stands for no block"),
        ('q,s\n1,"a\n', "it is not a readable CSV file"),
        ("q,s\n1,\udcff\n", "it is not a readable CSV file"),
    ],
)
def test_files_that_are_no_release_are_refused(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "other.csv"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(CertificateError, match=re.escape(complaint)):
        measure_file(path, reading())


def test_files_that_are_no_parquet_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.parquet"
    path.write_text("q,s\n1,a\n")
    with pytest.raises(CertificateError, match="it is not a readable Parquet file"):
        measure_file(path, reading(format="parquet"))


def test_reader_counts_what_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "release.csv"
    path.write_text("q,s\n1,a\n*,*\n1,b\n2,a\n")
    found = measure_file(path, reading(stars=True))
    assert (found.rows, found.suppressed, found.groups, found.k, found.squares) == (3, 1, 2, 1, 5)
    assert (found.gl, found.sl, found.loss) == (0, 0.25, 0.25)
    assert found.l == {"s": Diversity(1, 1, 1.0, 1)}


def test_reader_shares_no_code_with_the_writer() -> None:
    modules = ("moanon.blocklabels", "moanon.readback", "moanon.certificate")
    for module in modules:
        source = importlib.util.find_spec(module)
        assert source is not None
        assert source.origin is not None
        nodes = ast.walk(ast.parse(Path(source.origin).read_text(encoding="utf-8")))
        imported = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
        assert not imported & {"moanon.release", "moanon.fileformats", "moanon.measures.groups"}
