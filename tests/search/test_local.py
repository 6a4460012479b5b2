"""Local fronts: what every solution must be, whatever the table; and that runs can be repeated."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import moanon
from moanon.config import Config
from moanon.data.domain import IntervalSpec, OrderedSpec, TreeDomain, TreeSpec
from moanon.data.hierarchy import Hierarchy
from moanon.engines import read_table
from moanon.errors import ConfigError, DataError, InfeasibleError, SearchError
from moanon.experiment import Experiment, load_front, plan
from moanon.front import Front
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.measures.suppression import Suppression
from moanon.recoding import LocalRecodings
from moanon.release import Certificate
from moanon.search import box_solving
from moanon.search.archive_search import ExhaustiveSearch
from moanon.search.box_solving import Effort, split_greedily
from moanon.search.local import LocalSearch
from moanon.search.problem import AnonymizationProblem
from tests import naive
from tests.checkout import REPOSITORY
from tests.search.people import SIZES, config_text, people, people_frame
from tests.strategies import rich_instances

#: Checks of groups are compiled for minutes; as plain Python they are quick on small tables.
UNCOMPILED = bool(os.environ.get("NUMBA_DISABLE_JIT"))


@pytest.fixture(scope="module", autouse=True)
def _few_genomes() -> Iterator[None]:
    """Without the compiler, thousands of genomes would take minutes."""
    with pytest.MonkeyPatch.context() as patch:
        if UNCOMPILED:
            patch.setattr("moanon.search.local._GENOMES", 20)
        yield


def searched(instance: Instance, rule: Suppression, **more: object) -> LocalSearch:
    objectives = more.pop("objectives", ("k", "loss"))
    search = LocalSearch(AnonymizationProblem(instance, objectives, rule, **more))
    while not search.exhausted:
        search.step()
    return search


def shown_rows(grouping: Grouping) -> list[tuple[tuple[int, int], ...] | None]:
    """The blocks that each row is released with; None where it is suppressed."""
    assert grouping.starts is not None
    assert grouping.stops is not None
    blocks = np.stack([grouping.starts, grouping.stops], axis=2)
    return [
        tuple((int(a), int(b)) for a, b in blocks[:, group]) if group >= 0 else None
        for group in grouping.row_group
    ]


def check_solution(instance: Instance, grouping: Grouping) -> tuple[int, Fraction]:
    """Boxes are the smallest around their rows; return k and the loss, as the oracle has them."""
    base, shown = naive.base_rows(instance), shown_rows(grouping)
    members = naive.groups_of([row for row in shown if row is not None])
    of_box: dict[object, list[tuple[int, ...]]] = {}
    for values, row in zip(base, shown, strict=True):
        if row is not None:
            assert all(a <= value < b for value, (a, b) in zip(values, row, strict=True))
            of_box.setdefault(row, []).append(values)
    for box, inside in of_box.items():
        for column, (name, domain) in enumerate(instance.layout.domains.items()):
            low, high = min(v[column] for v in inside), max(v[column] for v in inside)
            expected = (low, high + 1)
            if isinstance(domain, TreeDomain) and not domain.sets:
                tree = instance.layout.trees[name]
                node = tree.lowest(low, high + 1)
                expected = (tree.starts[node], tree.stops[node])
            assert box[column] == expected, (name, domain.size)  # type: ignore[index]
    spans = naive.spans_of(instance)
    lost = sum(
        naive.row_loss(row, spans) if row is not None else Fraction(len(spans)) for row in shown
    )
    return min(map(len, members.values())), lost / (len(base) * len(spans))


@given(rich_instances(24), st.sampled_from([0.0, 0.1, 0.4]))
@settings(max_examples=20)
def test_every_solution_is_what_the_front_says(instance: Instance, eta: float) -> None:
    # sets of neighbouring nodes among its trees, too
    search = searched(instance, Suppression("limit", eta))
    front = search.front(1000)
    assert front.found == len(front) == len(search.archive)
    for number in front.ids.tolist():
        grouping = front.grouping(number)
        k, loss = check_solution(instance, grouping)
        assert front.measures["k"][number - 1] == k
        assert front.measures["loss"][number - 1] == pytest.approx(float(loss), abs=1e-9)
        assert grouping.suppressed <= int(Fraction(str(eta)) * grouping.rows)
    k, loss = front.measures["k"], front.measures["loss"]
    assert (np.diff(k) > 0).all()  # in the order of k, nothing dominated
    assert (np.diff(loss) > 0).all()


HALF_AT_MOST = Suppression("limit", 0.2, constraints=(("alpha", 0.5),))


def ill_by_age(ages: list[int], illnesses: str) -> Instance:
    frame = pd.DataFrame({"age": list(map(str, ages)), "ill": illnesses.split()})
    return Instance.build(
        read_table(frame, {"age": "quasi", "ill": "sensitive"}), {"age": IntervalSpec(1)}
    )


@given(rich_instances(24), st.sampled_from([0.0, 0.3]), st.integers(1, 3))
@settings(max_examples=20)
@pytest.mark.skipif(not UNCOMPILED, reason="runs without the compiler, in a process of its own")
def test_every_group_meets_the_constraints(instance: Instance, eta: float, least: int) -> None:
    rule = Suppression("limit", eta, constraints=(("l_distinct", least), ("k", 2)))
    assume(instance.cells.sensitive)
    try:
        front = searched(instance, rule).front(1000)
    except InfeasibleError:
        assume(False)  # there is a test of its own
    values = {
        column.name: naive.sensitive_rows(instance, column.name)
        for column in instance.cells.sensitive
    }
    for number in front.ids.tolist():
        grouping = front.grouping(number)
        check_solution(instance, grouping)
        for members in naive.members(grouping):
            assert len(members) >= 2
            for column in values.values():
                assert naive.distinct_l([column[row] for row in members]) >= least


@pytest.mark.skipif(not UNCOMPILED, reason="runs without the compiler, in a process of its own")
def test_a_child_meets_the_constraints_by_itself_and_not_with_another() -> None:
    # Town A has the flu alone; together with C, which is looked at later, it has two illnesses.
    rows = {"town": list("AABBCC"), "ill": ["flu", "flu", *("flu", "gout") * 2]}
    table = read_table(pd.DataFrame(rows), {"town": "quasi", "ill": "sensitive"})
    towns = TreeSpec(Hierarchy.from_yaml("Any: [A, B, C]"))
    rule = Suppression("limit", 0.0, constraints=(("l_distinct", 2),))
    front = searched(Instance.build(table, {"town": towns}), rule).front(1000)
    assert front.measures["l_distinct"].min() == 2


@pytest.mark.skipif(not UNCOMPILED, reason="runs without the compiler, in a process of its own")
@pytest.mark.skipif(not UNCOMPILED, reason="runs without the compiler, in a process of its own")
def test_constraints_that_the_table_meets_without_a_few_rows_can_be_met() -> None:
    # Four strangers have the flu; without them each illness is as frequent as the other.
    ages = [*np.repeat(range(8), 2).tolist(), 90, 91, 92, 93]
    front = searched(ill_by_age(ages, "flu gout " * 8 + "flu " * 4), HALF_AT_MOST).front(1000)
    assert front.measures["alpha"].max() == 0.5
    assert front.measures["k"].tolist() == [2, 4, 8, 16]
    assert front.measures["suppressed"].tolist() == [4, 4, 4, 4]


@pytest.mark.skipif(not UNCOMPILED, reason="runs without the compiler, in a process of its own")
@pytest.mark.parametrize("model", ["beta", "beta_enhanced"])
def test_splits_stop_where_a_value_would_gain_too_much(model: str) -> None:
    # Half have the flu. A single age has one illness, which gains (1 - 1/2) / (1/2) = 1: more than
    # 0.9, and than -ln(1/2) = 0.69…; two neighbours have one of each.
    instance = ill_by_age(list(range(8)), "flu gout " * 4)
    rule = Suppression("limit", 0.0, constraints=((model, 0.9),))
    front = searched(instance, rule).front(1000)
    assert front.measures[model].max() <= 0.9
    assert front.measures["k"].min() == 2
    looser = Suppression("limit", 0.0, constraints=((model, 1.0),))
    alone = searched(instance, looser).front(1000)
    assert alone.measures["k"].min() == (1 if model == "beta" else 2)


@pytest.mark.skipif(not UNCOMPILED, reason="runs without the compiler, in a process of its own")
def test_rows_of_a_constrained_table_come_back_with_smaller_groups() -> None:
    # Within groups of three the last two are suppressed; alone they are a group of two.
    ages = [1, 1, 1, 2, 2, 2, 9, 9]
    rule = Suppression("limit", 0.25, constraints=(("l_distinct", 1),))
    front = searched(ill_by_age(ages, "flu gout " * 4), rule).front(1000)
    assert front.measures["k"].tolist()[:2] == [2, 3]
    assert front.measures["suppressed"].tolist()[:2] == [0, 2]


def test_a_wider_limit_alone_loses_no_more_in_small_tables() -> None:
    narrow, wide = (searched(people(), Suppression("limit", eta)).front(1000) for eta in (0, 0.1))
    for k, loss in zip(narrow.measures["k"], narrow.measures["loss"], strict=True):
        assert wide.measures["loss"][wide.measures["k"] >= k].min() <= loss + 1e-12


def assert_covers(local: LocalSearch) -> None:
    """Whatever a global recoding reaches, a local one does."""
    exact = ExhaustiveSearch(local.problem)
    while not exact.exhausted:
        exact.step()
    for values in exact.archive.values:
        assert (local.archive.values <= values + 1e-12).all(axis=1).any()


@given(rich_instances(24), st.sampled_from([0.0, 0.1, 0.4]))
@settings(max_examples=20)
def test_no_global_recoding_of_a_small_table_is_better(instance: Instance, eta: float) -> None:
    assume(instance.layout.count() <= 1_000)
    assert_covers(searched(instance, Suppression("limit", eta)))


def test_no_global_recoding_is_better_in_three_objectives() -> None:
    roles = {"age": "quasi", "size": "quasi", "ill": "sensitive"}
    table = read_table(people_frame()[[*roles]], roles)
    specs = {"age": IntervalSpec(1), "size": OrderedSpec(SIZES)}
    objectives = ("k", "l_distinct", "loss")
    rule = Suppression("limit", 0.1)
    assert_covers(searched(Instance.build(table, specs), rule, objectives=objectives))


def test_groups_that_the_best_first_cut_runs_through_are_found() -> None:
    # 26 | 21 + 21 | 8 + 8 + 6 rows: three groups of 22 or more, and no first cut leads there.
    frame = pd.DataFrame({"a": np.repeat(list("abcdef"), [26, 21, 21, 8, 8, 6])})
    table = read_table(frame, {"a": "quasi"})
    instance = Instance.build(table, {"a": OrderedSpec(tuple("abcdef"))})
    front = searched(instance, Suppression("limit", 0.0)).front(1000)
    lost = front.measures["loss"][front.measures["k"] >= 22].min()
    assert lost == pytest.approx((42 * 1 + 22 * 2) / 5 / 90)


def test_other_objectives_of_groups_have_levels() -> None:
    front = searched(
        people(), Suppression("limit", 0.1), objectives=("k", "l_distinct", "loss")
    ).front(1000)
    pairs = {*zip(front.measures["k"].tolist(), front.measures["l_distinct"].tolist(), strict=True)}
    assert len(pairs) > 10
    assert len({diversity for _, diversity in pairs}) >= 3


@pytest.mark.slow
def test_constraints_hold_without_the_compiler() -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0"),
            *(__file__, "-k", "meets_the_constraints or have_levels or few_rows or constrained"),
        ],
        cwd=REPOSITORY,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert "5 passed" in done.stdout


# -- by hand ---------------------------------------------------------------------------------------


def test_columns_with_too_many_values_to_list_lose_the_same() -> None:
    tree = Hierarchy.from_nested(
        "Any", {f"{i}": [f"{i}.{j}" for j in range(20)] for i in range(20)}
    )
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.choice(tree.leaves, 50), "b": rng.integers(0, 999, 50)})
    table = read_table(frame, {"a": "quasi", "b": "quasi"})
    instance = Instance.build(table, {"a": TreeSpec(tree), "b": IntervalSpec(1, (0, 999))})
    front = searched(instance, Suppression("limit", 0.1)).front(1000)
    for number in front.ids.tolist():
        k, loss = check_solution(instance, front.grouping(number))
        assert front.measures["k"][number - 1] == k
        assert front.measures["loss"][number - 1] == pytest.approx(float(loss), abs=1e-9)


@pytest.fixture(scope="module")
def villages() -> Front:
    frame = pd.DataFrame({"age": [20, 20, 60, 60], "place": ["Oslo", "Oslo", "Rome", "Rome"]})
    places = Hierarchy.from_nested("Any", {"North": ["Oslo", "Bergen"], "South": ["Rome", "Bari"]})
    table = read_table(frame, {"age": "quasi", "place": "quasi"})
    instance = Instance.build(table, {"age": IntervalSpec(10, (20, 69)), "place": TreeSpec(places)})
    return searched(instance, Suppression("limit", 0.0)).front(10)


def test_two_villages_are_split_where_nothing_is_lost(villages: Front) -> None:
    assert villages.measures["k"].tolist() == [2, 4]
    assert villages.measures["loss"].tolist() == [0.0, 1.0]
    assert villages.labels[0] == {"age": ("[20-29]", "[60-69]"), "place": ("Oslo", "Rome")}


def test_a_stranger_is_trimmed_where_that_loses_less() -> None:
    # Nine alike and one far away: with 2 per group all would share one box that loses everything.
    frame = pd.DataFrame({"age": [20] * 9 + [60]})
    instance = Instance.build(read_table(frame, {"age": "quasi"}), {"age": IntervalSpec(10)})
    front = searched(instance, Suppression("limit", 0.1)).front(10)
    place = front.measures["k"].tolist().index(9)
    assert front.measures["loss"][place] == pytest.approx(0.1)  # one of ten rows
    assert front.measures["suppressed"][place] == 1


def test_a_cell_moves_into_a_box_that_holds_it() -> None:
    # Splits cannot leave two boxes that overlap; moves do, or nothing is gained beyond splits.
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({name: rng.integers(0, 12, 300) for name in ("a", "b", "c")})
    specs = dict.fromkeys(("a", "b", "c"), IntervalSpec(1, (0, 11)))
    instance = Instance.build(read_table(frame, dict.fromkeys(frame, "quasi")), specs)
    front = searched(instance, Suppression("limit", 0.0)).front(1000)
    grouping = front.grouping(front.measures["k"].tolist().index(10) + 1)
    starts, stops = grouping.starts, grouping.stops
    assert starts is not None
    assert stops is not None
    both = (starts[:, :, None] < stops[:, None]) & (starts[:, None] < stops[:, :, None])
    overlapping = both.all(axis=0) & ~np.eye(len(grouping), dtype=bool)
    assert overlapping.any()


# -- effort ----------------------------------------------------------------------------------------


def test_tables_of_some_thousand_cells_get_the_whole_effort() -> None:
    effort = Effort(20_000)
    assert effort.is_whole
    assert effort.growth == pytest.approx(1.025)
    assert (effort.window, effort.sweeps, effort.tries, effort.rounds) == (2048, 6, 16, 2)
    assert (effort.small, effort.span) == (30, 0.75)
    assert (effort.run, effort.short_run, effort.shortest_run) == (10, 5, 1)


def test_effort_falls_as_the_cells_grow() -> None:
    # 50 times as many cells: steps are 50^(3/4) = 18.8 times as long, runs √50 = 7.1 times
    effort = Effort(1_000_000)
    assert not effort.is_whole
    assert effort.growth == pytest.approx(1 + 0.025 * 50**0.75)
    assert (effort.window, effort.sweeps, effort.tries, effort.rounds) == (32, 2, 8, 1)
    assert (effort.small, effort.span) == (2, pytest.approx(0.75**50**0.5))
    assert (effort.run, effort.short_run, effort.shortest_run) == (71, 35, 7)


@given(instance=rich_instances(24), eta=st.sampled_from([0.0, 0.3]))
@settings(max_examples=15)
def test_what_is_found_with_little_effort_is_true_as_well(instance: Instance, eta: float) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(box_solving, "_ALL_CELLS", 0.01)
        patch.setattr(box_solving, "_LEAST_WINDOW", 1)
        front = searched(instance, Suppression("limit", eta)).front(1000)
    for number in front.ids.tolist():
        k, loss = check_solution(instance, front.grouping(number))
        assert front.measures["k"][number - 1] == k
        assert front.measures["loss"][number - 1] == pytest.approx(float(loss), abs=1e-9)


def test_greedy_passes_alone_are_groupings_too() -> None:
    found = list(split_greedily(people(), Suppression("limit", 0.0), [2, 10, 50]))
    for size, grouping in zip([2, 10, 50], found, strict=True):
        k, _ = check_solution(people(), grouping)
        assert k >= size
    assert len(found[0]) > len(found[1]) > len(found[2])


# -- runs ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def local_front() -> Front:
    return searched(people(), Suppression("limit", 0.1)).front(1000)


def same(one: Front, other: Front) -> bool:
    files = one.recodings.files() == other.recodings.files()
    return files and all(np.array_equal(one.measures[m], other.measures[m]) for m in one.measures)


def test_threads_change_nothing(local_front: Front) -> None:
    assert same(searched(people(), Suppression("limit", 0.1), threads=3).front(1000), local_front)


def test_a_search_goes_on_where_it_was_saved(local_front: Front) -> None:
    problem = AnonymizationProblem(people(), ("k", "loss"), Suppression("limit", 0.1))
    half = LocalSearch(problem)
    for _ in range(half.space // 8):
        half.step()
    rest = LocalSearch(problem)
    rest.restore(half.state())
    while not rest.exhausted:
        rest.step()
    assert same(rest.front(1000), local_front)


def test_a_saved_run_does_not_tell_the_groups_of_cells() -> None:
    problem = AnonymizationProblem(people(), ("k", "loss"), Suppression("limit", 0.1))
    search = LocalSearch(problem)
    search.step()
    groups = [*search.archive.packed, *(group for _, group in search._starts)]
    assert len(groups) > len(search._starts) > 0
    for array in search.state().values():
        assert not any(group in array.tobytes() for group in groups)


@pytest.mark.parametrize("part", ["bytes", "starts.bytes"])
def test_a_search_that_was_saved_unsealed_is_refused(part: str) -> None:
    problem = AnonymizationProblem(people(), ("k", "loss"), Suppression("limit", 0.1))
    state = LocalSearch(problem).state()
    state[part] = np.zeros(40, dtype=np.uint8)
    with pytest.raises(SearchError, match="an earlier version, or of other cells; start anew"):
        LocalSearch(problem).restore(state)


def test_a_front_comes_back_from_its_folder_bit_for_bit(local_front: Front, tmp_path: Path) -> None:
    local_front.save(tmp_path)
    again = Front.load(tmp_path, local_front.instance)
    assert isinstance(again.recodings, LocalRecodings)
    assert same(again, local_front)
    assert again.labels == local_front.labels
    for number in again.ids.tolist():
        assert np.array_equal(
            again.grouping(number).row_group, local_front.grouping(number).row_group
        )


def test_boxes_that_are_damaged_are_refused(local_front: Front, tmp_path: Path) -> None:
    local_front.save(tmp_path)
    (tmp_path / "boxes.npz").write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"boxes\.npz is not the file that .* belongs to"):
        Front.load(tmp_path)


def test_boxes_of_another_front_are_refused(local_front: Front, tmp_path: Path) -> None:
    local_front.save(tmp_path)
    fewer = local_front.recodings.take(np.arange(2)).files()["boxes.npz"]
    (tmp_path / "boxes.npz").write_bytes(fewer)
    record = json.loads((tmp_path / "run.json").read_text())
    record["files"]["boxes.npz"] = hashlib.sha256(fewer).hexdigest()
    (tmp_path / "run.json").write_text(json.dumps(record))
    with pytest.raises(DataError, match="does not hold the solutions"):
        Front.load(tmp_path)


def test_every_solution_is_exported_as_the_front_says(local_front: Front, tmp_path: Path) -> None:
    for number in local_front.ids.tolist():
        path = tmp_path / f"{number}.csv"
        certificate = local_front.release(number).write(path)
        assert certificate.k == local_front.measures["k"][number - 1]
        assert Certificate.load(f"{path}.certificate.json").k == certificate.k


def test_new_rows_go_into_the_boxes_that_hold_them(local_front: Front) -> None:
    table = read_table(people_frame().iloc[::-1], local_front.instance.table.roles)
    number = int(np.flatnonzero(local_front.measures["k"] == 10)[0]) + 1
    grouping = local_front.apply(number, table, outside="suppress", k=5).grouping
    assert grouping.k >= 5
    codes, group = grouping.instance.cells.codes.astype(np.int64), grouping.cell_group
    assert (group >= 0).any()
    for cell in np.flatnonzero(group >= 0):
        assert (codes[:, cell] >= grouping.starts[:, group[cell]]).all()
        assert (codes[:, cell] < grouping.stops[:, group[cell]]).all()


@pytest.fixture
def strangers() -> pd.DataFrame:
    """Two villagers and an old man of Oslo, whose values are known, and who is in no box."""
    return pd.DataFrame({"age": [60, 20, 20], "place": ["Oslo", "Oslo", "Oslo"]})


def test_new_rows_in_no_box_are_refused(villages: Front, strangers: pd.DataFrame) -> None:
    table = read_table(strangers, {"age": "quasi", "place": "quasi"})
    with pytest.raises(DataError, match=r": 1 row lies in none of the solution's boxes; choose"):
        villages.apply(1, table)


def test_new_rows_in_no_box_are_suppressed_on_request(
    villages: Front, strangers: pd.DataFrame
) -> None:
    table = read_table(strangers, {"age": "quasi", "place": "quasi"})
    release = villages.apply(1, table, outside="suppress")
    assert release.to_frame().values.tolist() == [["[20-29]", "Oslo"]] * 2


# -- configurations --------------------------------------------------------------------------------


def local_config(**problem: object) -> Config:
    text = {"preset": "k-suppression", "recoding": "local", **problem}
    return Config.from_dict(
        {
            "data": {"source": "people.csv", "missing": "drop"},
            "columns": {"age": {"role": "quasi", "kind": "interval"}},
            "problem": text,
        }
    )


def test_a_run_makes_a_folder_like_any_other(people: Path) -> None:
    problem = "{preset: k-suppression, eta: [0, 0.1], recoding: local}"
    Path("people.yaml").write_text(
        config_text(
            data="{source: people.csv, missing: drop}", problem=problem, search="{algorithm: auto}"
        )
    )
    (config,) = plan(["people.yaml"], out="found")
    result = Experiment.prepare(config).run()
    assert result.outcome.why == "every target was reached for"
    for eta in (0.0, 0.1):
        front = load_front(f"found/eta-{eta}")
        assert same(front, result.fronts[eta])
    less = result.fronts[0.1].measures["loss"].sum() / len(result.fronts[0.1])
    assert 0 < less < 1


def test_suppressed_rows_find_company_with_smaller_groups() -> None:
    # With 1 row per group nothing has to be suppressed, whatever larger groups gave up.
    front = searched(people(), Suppression("limit", 0.2)).front(1000)
    assert front.measures["loss"][0] == 0
    assert front.measures["suppressed"][0] == 0


def test_rows_suppressed_for_a_larger_size_do_not_stand_in_the_way_of_a_smaller_one() -> None:
    # Groups of 10: one of 17, three rows suppressed, (17 / 2 + 3) / 20. Groups of 9: two, of which
    # the second loses column b, 11 / 2 / 20; but 17 rows are no two groups of 9.
    frame = pd.DataFrame({"a": [0] * 9 + [9] * 11, "b": [0] * 17 + [9] * 3}).astype(str)
    table = read_table(frame, dict.fromkeys(frame, "quasi"))
    instance = Instance.build(table, dict.fromkeys(frame, IntervalSpec(1)))
    front = searched(instance, Suppression("limit", 0.15)).front(1000)
    least = {k: front.measures["loss"][front.measures["k"] >= k].min() for k in (9, 10)}
    assert least == pytest.approx({9: 0.275, 10: 0.575})


def test_boxes_go_with_the_run_that_they_belong_to(people: Path) -> None:
    text = config_text(data="{source: people.csv, missing: drop}", search="{algorithm: auto}")
    Path("people.yaml").write_text(text)
    for sets, expected in ((["problem.recoding=local"], True), ([], False)):
        (config,) = plan(["people.yaml"], sets, out="found")
        Experiment.prepare(config, force=True).run()
        assert Path("found/boxes.npz").exists() == expected


def test_optimize_knows_local_recodings() -> None:
    columns = {"age": {"role": "quasi", "kind": "interval", "granularity": 10}}
    frame = people_frame()[["age"]]
    problem = {"recoding": "local", "eta": 0.1}
    front = moanon.optimize(frame, columns, problem=problem, progress=False)
    assert isinstance(front.recodings, LocalRecodings)
    for one, other in pairwise(front.measures["loss"].tolist()):
        assert one < other


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        ({"preset": "any-suppression"}, "local recodings need a limit of suppression"),
        ({"suppress_by": "k"}, "suppress_by is for the recoding global only"),
    ],
)
def test_what_boxes_do_not_have_is_refused(problem: dict[str, object], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        local_config(**problem)


@pytest.mark.parametrize(("algorithm", "recoding"), [("nsga2", "local"), ("local", "global")])
def test_algorithms_are_for_one_kind_of_recoding(algorithm: str, recoding: str) -> None:
    config = local_config().model_dump(exclude_none=True)
    config["problem"]["recoding"], config["search"]["algorithm"] = recoding, algorithm
    with pytest.raises(ConfigError, match=f"{algorithm} is for the other kind of recoding"):
        Config.from_dict(config)


def test_weighted_k_of_suppressed_rows_is_refused() -> None:
    problem = AnonymizationProblem(people(), ("weighted_k", "loss"), Suppression("limit", 0.1))
    with pytest.raises(SearchError, match="weighted_k also counts groups that are suppressed"):
        LocalSearch(problem)


def test_constraints_that_no_group_can_meet_are_refused() -> None:
    rule = Suppression("limit", 0.0, constraints=(("alpha", 0.01),))
    with pytest.raises(InfeasibleError, match=r"all rows together do not have alpha at most 0\.01"):
        LocalSearch(AnonymizationProblem(people(), ("k", "loss"), rule))
