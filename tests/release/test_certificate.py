"""Certificates: what they say is what the slow oracle finds in the table."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
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
from moanon.data.domain import OrderedDomain
from moanon.data.hierarchy import Hierarchy
from moanon.errors import CertificateError, DataError, OutputError
from moanon.grouping import Grouping
from moanon.measures.loss import optimality
from moanon.release.certificate import front_measures
from moanon.release.labels import label_rules
from moanon.release.readback import Reading, measure_file
from moanon.release.reader_privacy import SensitiveFacts
from tests import naive_measures
from tests.release.tables import certify, instances, releases
from tests.strategies import few


@few
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


@few
@given(instances(), st.integers(0, 2**32 - 1), st.data())
def test_any_set_of_groups_can_be_suppressed(
    instance: Instance, seed: int, data: st.DataObject
) -> None:
    genome = instance.layout.sample(1, np.random.default_rng(seed))[0]
    sizes = Grouping.of_genome(instance, genome).sizes
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


def diversity(certificate: Certificate) -> tuple[float, ...]:
    """Distinct, by frequency, by entropy and recursive."""
    found = certificate.privacy_of("status")
    return tuple(found[f"l_{rule}"] for rule in ("distinct", "frequency", "entropy", "recursive"))


def test_table_t1_of_the_paper() -> None:
    release = Release.of(illustrative_example(), [1, 0, *(0, 0, 0, 1, 0, 0)])
    assert release.to_frame()["age"].tolist() == ["[10-19]"] * 2 + ["[20-39]"] * 5
    assert release.to_frame()["marital status"].tolist() == ["Not married"] * 2 + ["Married"] * 5
    certificate = certify(release)
    # sizes 2, 5: (4 + 25) / 7
    assert certificate.values["weighted_k_kept", ""] == Fraction(29, 7)
    assert certificate.k == 2
    # Age: 5 rows of 1/2. Status: 2 rows of 3/6, 5 rows of 2/6. 31/6 of 7 * 2 cells.
    assert certificate.values["gl", ""] == pytest.approx(31 / 84)
    # The group {1, 2} holds one status, whatever D says about T1.
    assert diversity(certificate) == (1, 1, 1.0, 1)


def test_table_t2_of_the_paper() -> None:
    release = Release.of(illustrative_example(), [1, 1, *(0, 0, 0, 1, 0, 0)])
    ages = ["[10-19]"] * 2 + ["[20-29]"] * 3 + ["[30-39]"] * 2
    assert release.to_frame()["age"].tolist() == ages
    certificate = certify(release)
    # sizes 2, 3, 2: (4 + 9 + 4) / 7
    assert certificate.values["weighted_k_kept", ""] == Fraction(17, 7)
    assert certificate.k == 2


def test_weighted_k_of_the_table_is_in_the_record_alone() -> None:
    release = Release.of(illustrative_example(), [1, 0, *(0, 0, 0, 1, 0, 0)], k=3)
    certificate = certify(release)
    assert (certificate.rows, certificate.suppressed) == (5, 2)
    assert release.record(certificate)["measures"]["weighted_k"] == 29 / 7
    assert certificate.values["weighted_k_kept", ""] == 5
    assert "29/7" not in certificate.to_json()
    assert certificate.sl == pytest.approx(2 / 7)
    # Civ, AF, AF, Civ, AF: 2 values, floor(5/3) = 1; 3 < 3 * (3 + 2) and 3 < 3 * 2.
    entropy = -(0.4 * math.log(0.4) + 0.6 * math.log(0.6))
    assert diversity(certificate) == (2, 1, pytest.approx(math.exp(entropy)), 2)


def test_recursive_diversity_depends_on_its_constant() -> None:
    # Counts 3 and 2. ℓ = 2 asks for 3 < c * 2, ℓ = 1 for 3 < c * 5.
    found = {
        c: certify(Release.of(illustrative_example(), [1, 0, 0, 0, 0, 1, 0, 0], k=3, recursive_c=c))
        for c in (0.6, 1.5, 1.6)
    }
    assert [found[c].privacy_of("status")["l_recursive"] for c in (0.6, 1.5, 1.6)] == [0, 1, 2]
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
    assert (certificate.rows, certificate.k, certificate.sensitive) == (1, 1, ())
    assert (certificate.values["gl", ""], certificate.loss) == (0, 0)
    assert certificate.to_dict()["l"] == {}
    assert release.record(certificate)["genome"] == ""


def test_the_record_states_where_the_release_comes_from_and_the_certificate_does_not(
    tmp_path: Path,
) -> None:
    release = Release.of(illustrative_example(), [0] * 8)
    path = tmp_path / "t1.csv"
    certificate = release.write(path)
    output = hashlib.sha256(path.read_bytes()).hexdigest()
    assert certificate.to_dict()["digests"] == {"output": output}
    assert (certificate.file, certificate.moanon) == ("t1.csv", moanon.__version__)
    record = release.record(certificate, "ab12")
    digest = release.instance.table.digest
    assert record["digests"] == {"input": digest, "config": "ab12", "output": output}
    assert (record["file"], record["genome"]) == ("t1.csv", "00000000")
    assert digest not in certificate.to_json()


def test_certificate_names_its_entries() -> None:
    entries = json.loads(certify(Release.of(illustrative_example(), [1] * 8)).to_json())
    assert list(entries) == [
        "moanon", "certificate", "file", "rows_in", "rows_dropped_missing", "rows", "suppressed",
        "suppressed_rows", "row_order", "formula_cells", "spreadsheet_safe", "k", "groups",
        "weighted_k_released", "weighted_k_released_exact", "privacy", "l", "p_sensitive", "alpha",
        "closeness", "recursive_c", "compared_with", "gl", "sl", "loss", "promises", "checked",
        "quasi", "sensitive", "notes", "digests",
    ]  # fmt: skip
    assert list(entries["privacy"]) == [
        "k", "l_distinct", "l_frequency", "l_entropy", "l_recursive", "p_sensitive", "alpha",
        "t_closeness", "t_equal", "t_js", "delta", "delta_present", "beta", "beta_enhanced",
    ]  # fmt: skip
    assert list(entries["closeness"]["status"]) == [
        "distance", "scale", "t_closeness", "t_equal", "t_js", "delta", "delta_present", "beta",
        "beta_enhanced",
    ]  # fmt: skip
    assert list(entries["digests"]) == ["output"]
    assert list(entries["l"]["status"]) == ["distinct", "frequency", "entropy", "recursive"]
    assert entries["weighted_k_released_exact"] == "11/7"  # {1, 2}, {3}, {4, 5}, {6}, {7}
    assert entries["weighted_k_released"] == pytest.approx(11 / 7)


def test_certificate_of_table_t1_to_the_letter() -> None:
    release = Release.of(illustrative_example(), [1, 0, *(0, 0, 0, 1, 0, 0)], k=3)
    release = dataclasses.replace(release, promises=(("k", 3), ("t_closeness", 0.5)))
    certificate = certify(release, "t1.csv", suppressed="star", shuffle=1)
    # Civ, AF, AF, Civ, AF of 7 rows; NM, NM are suppressed
    entropy = math.exp(-(0.4 * math.log(0.4) + 0.6 * math.log(0.6)))
    assert certificate.to_dict() == {
        "moanon": moanon.__version__,
        "certificate": 2,
        "file": "t1.csv",
        "rows_in": 7,
        "rows_dropped_missing": 0,
        "rows": 5,
        "suppressed": 2,
        "suppressed_rows": "star",
        "row_order": "shuffled",
        "formula_cells": 0,
        "spreadsheet_safe": False,
        "k": 5,
        "groups": 1,
        "weighted_k_released": 5.0,
        "weighted_k_released_exact": "5/1",
        "privacy": {
            "k": 5,
            "l_distinct": 2,
            "l_frequency": 1,
            "l_entropy": pytest.approx(entropy),
            "l_recursive": 2,
            "p_sensitive": 2,
            "alpha": 0.6,
            # one group, which is all that is released
            "t_closeness": 0.0,
            "t_equal": 0.0,
            "t_js": 0.0,
            "delta": 0.0,
            "delta_present": 0.0,
            "beta": 0.0,
            "beta_enhanced": 0.0,
        },
        "l": {
            "status": {
                "distinct": 2,
                "frequency": 1,
                "entropy": pytest.approx(entropy),
                "recursive": 2,
            }
        },
        "p_sensitive": {"status": 2},
        "alpha": {"status": 0.6},
        "closeness": {
            "status": {
                "distance": "equal",
                "scale": "declared",
                "t_closeness": 0.0,
                "t_equal": 0.0,
                "t_js": 0.0,
                "delta": 0.0,
                "delta_present": 0.0,
                "beta": 0.0,
                "beta_enhanced": 0.0,
            }
        },
        "recursive_c": 3.0,
        "compared_with": "the released rows",
        # Age: 1/2, status: 2/6; 5/6 in five rows, of 7 * 2 cells
        "gl": pytest.approx(25 / 84),
        "sl": 2 / 7,
        "loss": pytest.approx(25 / 84 + 2 / 7),
        "promises": [
            {"measure": "k", "at_least": 3},
            {
                "measure": "t_closeness",
                "at_most": 0.5,
                "compared_with": "the whole table, suppressed rows included",
            },
        ],
        "checked": [],
        "quasi": ["age", "marital status"],
        "sensitive": ["status"],
        "notes": [],
        "digests": {"output": certificate.output_digest},
    }


def test_record_of_table_t1_to_the_letter() -> None:
    release = Release.of(illustrative_example(), [1, 0, *(0, 0, 0, 1, 0, 0)], k=3)
    release = dataclasses.replace(release, least=25 / 84)
    certificate = certify(release, "t1.csv")
    record = release.record(certificate, "ab12")
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    entropy = math.exp(-(0.4 * math.log(0.4) + 0.6 * math.log(0.6)))
    # p = 2/5, 3/5, 0 and q = 2/7, 3/7, 2/7; p / m = 7/6 for both, q / m = 5/6, and 2 for NM
    js = (math.log(7 / 6) + 5 / 7 * math.log(5 / 6) + 2 / 7 * math.log(2)) / 2
    models = {
        "l_distinct": 2,
        "l_frequency": 1,
        "l_entropy": pytest.approx(entropy),
        "l_recursive": 2,
        "p_sensitive": 2,
        "alpha": 0.6,
        "t_closeness": 2 / 7,
        "t_equal": 2 / 7,
        "t_js": pytest.approx(js),
        "delta": "inf",
        "delta_present": pytest.approx(math.log(7 / 5)),  # of Civ and AF
        "beta": 2 / 5,  # 7/5 - 1
        "beta_enhanced": 2 / 5,  # -ln(2/7) and -ln(3/7) are more
    }
    assert record == {
        "moanon": moanon.__version__,
        "secret": "These numbers depend on rows that were not released. Do not publish them.",
        "file": "t1.csv",
        "rows_in": 7,
        "measures": {
            "suppressed": 2,
            "groups": 1,
            "k": 5,
            "weighted_k_kept": 5.0,
            "gl": pytest.approx(25 / 84),
            "sl": 2 / 7,
            "loss": pytest.approx(25 / 84 + 2 / 7),
            **models,
            "average_class_size": 5.0,
            "c_avg": 1.0,
            "dm": 25 + 7 * 2,
            "weighted_k": 29 / 7,
        },
        "columns": {"status": models},
        "least_loss": 25 / 84,
        "optimality": record["optimality"],
        "genome": "10000100",
        "digests": {
            "input": release.instance.table.digest,
            "config": "ab12",
            "output": certificate.output_digest,
        },
    }
    assert record["optimality"] == optimality(25 / 84 + 2 / 7, 25 / 84)


def test_promises_are_stated_and_read_back() -> None:
    release = Release.of(illustrative_example(), [1] * 8)
    promises = (("k", 1), ("alpha", 1.0))
    certificate = certify(dataclasses.replace(release, promises=promises))  # which loads it
    assert certificate.promises == promises
    assert certificate.to_dict()["promises"] == [
        {"measure": "k", "at_least": 1},
        {"measure": "alpha", "at_most": 1.0},
    ]


def test_what_of_the_front_was_checked_is_named() -> None:
    release = Release.of(illustrative_example(), [1, 0, *(0, 0, 0, 1, 0, 0)], k=3)
    stated = tuple(front_measures(release.promised).items())
    certificate = certify(dataclasses.replace(release, stated=(*stated, ("weighted_k", 29 / 7))))
    assert certificate.checked == tuple(front_measures(release.promised))
    assert "weighted_k" not in certificate.checked  # the writer has it, the file does not show it


def test_losses_by_values_of_the_table_are_not_stated() -> None:
    frame = pd.DataFrame({"age": [20, 25, 39], "size": ["S", "S", "M"]})
    table = read_table(frame, {"age": "quasi", "size": "quasi"})
    sizes = OrderedSpec(("S", "M"))
    for spec, stated in ((IntervalSpec(5), False), (IntervalSpec(5, (20, 39)), True)):
        instance = Instance.build(table, {"age": spec, "size": sizes})
        release = Release.of(instance, [0] * instance.layout.bits)
        entries = certify(release).to_dict()
        assert (entries["gl"] is None, entries["loss"] is None) == (not stated, not stated)
        assert entries["sl"] == 0
        assert release.record(certify(release))["measures"]["gl"] == 1


def test_a_release_promises_what_its_reader_looks_for() -> None:
    """What is promised and never looked for would go unnoticed."""
    release = Release.of(illustrative_example(), [1, 0, *(0, 0, 0, 1, 0, 0)], k=3)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t1.csv"
        release.write(path)
        reading = release._reading("csv", tuple(release.to_frame()), stars=False, defused=False)
        values, public, _ = measure_file(path, reading)
    assert values.keys() == release.promised.keys() == public.keys()


def test_models_of_table_t1_of_the_paper() -> None:
    # Never Married 2, Civ-Spouse 2, AF-Spouse 3 of 7. Groups {NM, NM} and {Civ, AF, AF, Civ, AF}.
    certificate = certify(Release.of(illustrative_example(), [1, 0, *(0, 0, 0, 1, 0, 0)]))
    found = certificate.privacy_of("status")
    assert found["alpha"] == 1.0
    # {NM, NM}: 1 - 2/7 must move
    assert certificate.distances == {"status": "equal"}
    assert (found["t_closeness"], found["t_equal"]) == (5 / 7, 5 / 7)
    assert found["delta"] == math.inf
    assert certificate.privacy == {
        "k": 2, "l_distinct": 1, "l_frequency": 1, "l_entropy": 1.0, "l_recursive": 1,
        "p_sensitive": 1, "alpha": 1.0, "t_closeness": 5 / 7, "t_equal": 5 / 7,
        "t_js": found["t_js"], "delta": math.inf,
        "delta_present": pytest.approx(math.log(7 / 2)),  # all of {NM, NM} are 2 of 7
        "beta": 5 / 2, "beta_enhanced": math.inf,  # 7/2 - 1, more than -ln(2/7) = 1.25…
    }  # fmt: skip


def test_suppressed_rows_are_part_of_the_whole_table_and_not_of_the_certificate() -> None:
    release = Release.of(illustrative_example(), [1, 0, *(0, 0, 0, 1, 0, 0)], k=3)
    certificate = certify(release)
    # {Civ 2, AF 3} beside Civ 2/7, AF 3/7 and NM 2/7, which are suppressed: 2/7 must move
    assert release.promised["t_closeness", "status"] == 2 / 7
    assert certificate.privacy["t_closeness"] == 0
    assert certificate.to_dict()["compared_with"] == "the released rows"


def test_an_infinite_delta_is_a_text_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t1.csv"
    certificate = Release.of(illustrative_example(), [1, 0, *(0, 0, 0, 1, 0, 0)]).write(path)
    notice = tmp_path / "t1.csv.certificate.json"
    entries = json.loads(notice.read_text())
    assert entries["closeness"]["status"]["delta"] == entries["privacy"]["delta"] == "inf"
    assert Certificate.load(notice) == certificate


def test_a_table_without_a_sensitive_column_has_k_alone() -> None:
    table = read_table(pd.DataFrame({"q": ["5", "5"]}), {"q": "quasi"})
    certificate = certify(Release.of(Instance.build(table, {"q": OrderedSpec(("5",))}), []))
    assert certificate.privacy == {"k": 2}
    entries = certificate.to_dict()
    assert (entries["alpha"], entries["closeness"], entries["compared_with"]) == ({}, {}, None)


@pytest.mark.parametrize(
    ("name", "change", "agrees"),
    [
        ("t_closeness", 2**-53, False),  # the last bit: a quotient of whole numbers has no rounding
        ("t_equal", 2**-53, False),
        ("beta", 2**-51, False),
        ("alpha", -(2**-53), False),
        ("weighted_k", 2**-51, False),
        ("t_js", 1e-12, True),  # logarithms have
        ("l_entropy", 1e-12, True),
        ("t_js", 1e-6, False),
        ("l_entropy", 1e-6, False),
        ("delta", -1.0, True),  # infinite all the same
        ("l_recursive", 1, False),
        ("dm", 1, False),
        ("c_avg", 1e-6, False),
    ],
)
def test_a_file_shows_what_was_stated_as_exactly_as_can_be(
    tmp_path: Path, name: str, change: float, agrees: bool
) -> None:
    release = Release.of(illustrative_example(), [1, 0, *(0, 0, 0, 1, 0, 0)])
    value = dict(front_measures(release.promised), weighted_k=29 / 7)[name]
    stated = dataclasses.replace(release, stated=((name, value + change),))
    if agrees:
        stated.write(tmp_path / "r.csv")
        return
    with pytest.raises(
        CertificateError, match=rf"as the front says: {name} is {value} in the file"
    ):
        stated.write(tmp_path / "r.csv")
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_farther_from_the_table_than_promised_is_not_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = Release.of(illustrative_example(), [1, 0, *(0, 0, 0, 1, 0, 0)])
    wrong = {**release.promised, ("t_closeness", "status"): 0.7}
    monkeypatch.setattr(Release, "promised", wrong)
    again = Release.of(illustrative_example(), [1, 0, *(0, 0, 0, 1, 0, 0)])
    message = f"t_closeness of column 'status' is {5 / 7} in the file, 0.7 was promised"
    with pytest.raises(CertificateError, match=message):
        again.write(tmp_path / "r.csv")
    assert not list(tmp_path.iterdir())


def test_a_very_large_table_is_compared_up_to_rounding() -> None:
    # 10^8 rows: N n = 10^16 is beyond what floats hold exactly.
    facts = SensitiveFacts({"a": 5 * 10**7, "b": 5 * 10**7})
    told = Reading("csv", ("s",), {}, {"s": facts}, table_rows=10**8)
    assert not told.has_exact_quotients
    small = dataclasses.replace(told, table_rows=9 * 10**7)
    assert small.has_exact_quotients
    # nor are ten million rows over a hundred places
    order = label_rules(OrderedDomain(tuple(map(str, range(101)))))
    ordered = {"s": SensitiveFacts({"0": 10**7}, order)}
    assert not dataclasses.replace(told, sensitive=ordered, table_rows=10**7).has_exact_quotients


TYPED = {
    "int": [3, -3, 3, 12, -3],
    "float": [1.5, 1e20, 1.5, -3e-7, 1e20],
    "whole": [39.0, 40.0, 39.0, 41.0, 40.0],
    "bool": [True, False, True, True, False],
    "date": list(pd.to_datetime(["2020-01-01", "2020-02-01"])) * 2 + [pd.Timestamp("2020-03-01")],
    "time": list(pd.to_datetime(["2020-01-01 10:00", "2020-01-01 10:01"])) * 2
    + [pd.Timestamp("2020-01-01")],
    "zoned": list(pd.to_datetime(["2020-01-01 10:00+02:00", "2020-01-01 10:01+02:00"])) * 2
    + [pd.Timestamp("2020-01-01", tz="UTC")],
    "text": ["=1", "'=1", "-3", "", "=1"],
}


@pytest.mark.parametrize("kind", TYPED)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_values_of_every_type_are_known_again(kind: str, ending: str) -> None:
    frame = pd.DataFrame({"q": ["x", "x", "y", "y", "y"], "s": TYPED[kind]})
    table = read_table(frame, {"q": "quasi", "s": "sensitive"}, missing_tokens=())
    instance = Instance.build(table, {"q": OrderedSpec(("x", "y"))})
    certificate = certify(Release.of(instance, [1]), f"r.{ending}")
    x, y = (frame["s"][frame["q"] == q].tolist() for q in "xy")
    t = max(naive_measures.emd_equal(group, frame["s"].tolist()) for group in (x, y))
    assert certificate.privacy["t_closeness"] == float(t)


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


def test_certificates_of_earlier_versions_are_refused(tmp_path: Path) -> None:
    """They may tie a release to suppressed rows, so whoever holds one should hear of it."""
    path = tmp_path / "old.certificate.json"
    path.write_text(json.dumps({"moanon": "0.9", "k": 5, "weighted_k_exact": "29/7"}))
    message = (
        r"old\.certificate\.json was written by moanon 0\.9, whose .* export the release again$"
    )
    with pytest.raises(DataError, match=message):
        Certificate.load(path)
