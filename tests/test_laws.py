"""The laws of the package: any table, any recoding, any rule, from the measures to the certificate.

A random table is recoded, globally, by sets, by boxes or by buckets, and rows are suppressed by any
of the rules, with or without constraints. All measures are those of the slow oracle; so is each
cell of the file that is written, and each number of its certificate and of its record.
``experiments/hostile_inputs.py`` looks at many more releases.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moanon.front import Front
from moanon.grouping import Grouping
from moanon.release import Certificate, Release
from moanon.release.bucketized import BucketizedRelease
from moanon.release.certificate import front_measures
from tests import naive, naive_measures
from tests.fuzz.releases import Case, cases, mismatches
from tests.release.tables import one_database
from tests.release.test_bucketized import lines
from tests.release.test_certified_models import check_certificate, fronts
from tests.strategies import boxes, few, rich_instances


@given(cases())
def test_a_release_is_what_the_oracle_says(case: Case) -> None:
    assert mismatches(case) == []


@settings(max_examples=5)
@given(st.data())
def test_a_release_that_shows_something_else_is_found(data: st.DataObject) -> None:
    case = data.draw(cases().filter(lambda case: case.shown.count(None) < len(case.shown) - 1))
    first = next(row for row, blocks in enumerate(case.shown) if blocks is not None)
    shown = [None if row == first else blocks for row, blocks in enumerate(case.shown)]
    groups = [[row for row in rows if row != first] for rows in case.groups]
    wrong = replace(case, shown=shown, groups=[rows for rows in groups if rows])
    assert any("rows" in found for found in mismatches(wrong))


@few
@given(fronts())
def test_every_number_about_a_front_over_any_measures_is_the_oracles(front: Front) -> None:
    instance = front.instance
    assert instance is not None
    with TemporaryDirectory() as folder, one_database():
        for solution in front.ids.tolist():
            path = Path(folder) / f"{solution}.csv"
            release = front.release(solution)
            certificate = release.write(path)
            check_certificate(release, certificate, instance, path)
            assert Certificate.load(f"{path}.certificate.json") == certificate
            found = front_measures(release.promised)
            assert {*certificate.checked} == {*found} & {*front.measures}
            for name, value in found.items():
                stated = front.measures[name][solution - 1].item()
                assert value == pytest.approx(stated, rel=1e-9, abs=1e-10), name


@few
@given(st.data())
def test_every_model_of_buckets_is_the_oracles(data: st.DataObject) -> None:
    instance = data.draw(rich_instances(20))
    grouping = Grouping.of_boxes(instance, *data.draw(boxes(instance)))
    plain = Release(grouping)
    with TemporaryDirectory() as folder, one_database():
        path = Path(folder) / "r.csv"
        certificate = BucketizedRelease(plain).write(path)
        shown = lines(path)[1:]
        told = lines(path.with_name("r.sensitive.csv"))[1:]
    groups = naive.members(grouping)
    assert sorted(Counter(row[-1] for row in shown).values()) == sorted(map(len, groups))
    values = {name: naive.sensitive_rows(instance, name) for name in instance.table.sensitive}
    for name, column in values.items():
        buckets: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for bucket, of, value, rows in told:
            if of == name:
                buckets[bucket][value] = int(rows)
        slow = [Counter(column[i] or "(missing)" for i in members) for members in groups]
        keyed = [sorted(each.items()) for each in buckets.values()]
        assert sorted(keyed) == sorted(sorted(each.items()) for each in slow)
        here = [[column[i] for i in members] for members in groups]
        found = certificate.models[name]
        assert found["l_distinct"] == min(map(naive.distinct_l, here))
        assert found["alpha"] == float(max(map(naive_measures.alpha, here)))
        released = [value for each in here for value in each]
        js = max(naive_measures.js_divergence(each, released) for each in here)
        assert found["t_js"] == pytest.approx(js, rel=1e-9, abs=1e-12)
        js = max(naive_measures.js_divergence(each, column) for each in here)
        hidden = plain.record(certificate)["columns"][name]
        assert hidden["t_js"] == pytest.approx(js, rel=1e-9, abs=1e-12)
