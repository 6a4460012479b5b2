"""Recodings: fronts of genomes by either way, and fronts whose solutions are no genomes at all."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from moanon.compare import compare
from moanon.data.domain import IntervalSpec, TreeSpec
from moanon.data.hierarchy import Hierarchy
from moanon.engines import read_table
from moanon.errors import CertificateError, ConfigError, DataError, GenomeError, OutputError
from moanon.front import Front
from moanon.genome import Generalization, Instance
from moanon.grouping import NO_GROUP, Grouping
from moanon.measures import MEASURES, applicable
from moanon.measures.evaluate import Evaluator, measure_grouping
from moanon.measures.suppression import Suppression
from moanon.recoding import (
    BOXES,
    Blocks,
    GlobalRecodings,
    LocalRecodings,
    Recodings,
    joined,
    spelled,
)
from moanon.release import Certificate, Release, read_released
from moanon.release.certificate import front_measures
from tests import naive, naive_measures
from tests.strategies import populations, rich_instances

# -- genomes ---------------------------------------------------------------------------------------

RULES = [
    Suppression("none"),
    Suppression("limit", 0.3),
    Suppression("limit", 0.3, by="t_closeness", recursive_c=1.5),
    Suppression("limit", 0.5, constraints=(("l_distinct", 2),)),
    Suppression("limit", 0.5, constraints=(("k", 3),)),
    Suppression("weighted-k"),
    Suppression("kl-safety", 0.3, "strict", "k", "frequency"),
    Suppression("kl-safety", 0.3, "ordered", "l"),
]


@st.composite
def solutions(draw: st.DrawFn) -> tuple[Instance, GlobalRecodings]:
    """Genomes with the thresholds that a rule arrives at; only those that meet its constraints."""
    instance = draw(rich_instances(20))
    genomes = draw(populations(instance, most=4))
    rule = draw(st.sampled_from(RULES))
    scores = Evaluator(instance).evaluate(genomes, rule)
    thresholds = np.stack([scores.field("d1"), scores.field("d2")], axis=1)
    feasible = scores.excess == 0
    assume(feasible.any())
    return instance, GlobalRecodings(genomes[feasible], thresholds[feasible], rule)


@given(solutions())
def test_one_by_one_genomes_measure_as_all_at_once(made: tuple[Instance, GlobalRecodings]) -> None:
    instance, recodings = made
    rule, objectives = recodings.suppression, ("k", "loss")
    at_once = Front.of(
        Evaluator(instance), rule, objectives, recodings.genomes, recodings.thresholds
    )
    one_by_one = Front.of_recodings(instance, rule, objectives, recodings)
    # thresholds of a rule are known to whoever applied it
    expected = {n: v.tolist() for n, v in at_once.measures.items() if not MEASURES[n].of_rule}
    found = {name: values.tolist() for name, values in one_by_one.measures.items()}
    assert found == expected  # to the last bit
    assert list(found) == list(expected)
    assert (one_by_one.objectives, one_by_one.suppression) == (objectives, rule)
    assert one_by_one.labels == at_once.labels
    for number in at_once.ids.tolist():
        assert one_by_one.recoding(number) == at_once.recoding(number)


@given(solutions())
def test_genomes_come_back_from_what_is_written(made: tuple[Instance, GlobalRecodings]) -> None:
    _, recodings = made
    entries = json.loads(json.dumps([recodings.entry(row) for row in range(len(recodings))]))
    again = GlobalRecodings.of_entries(entries, recodings.suppression)
    assert again.genomes.tolist() == recodings.genomes.tolist()
    assert again.genomes.dtype == np.uint8
    assert again.thresholds.tolist() == recodings.thresholds.tolist()
    assert len(again) == len(recodings)


@given(solutions())
def test_each_genome_shows_its_own_groups(made: tuple[Instance, GlobalRecodings]) -> None:
    instance, recodings = made
    blocks, sizes = recodings.blocks(instance), recodings.kept_sizes(instance)
    assert len(blocks) == len(sizes) == len(recodings)
    for row, genome in enumerate(recodings.genomes):
        groups, grouping = recodings.all_groups(row, instance), recodings.grouping(row, instance)
        shown = naive.generalized_rows(instance, instance.layout.text(genome))
        assert sorted(groups.sizes.tolist()) == sorted(map(len, naive.groups_of(shown).values()))
        assert groups.kept.all()
        assert groups.row_group.tolist() == grouping.row_group.tolist()
        assert sorted(sizes[row].tolist()) == sorted(grouping.sizes[grouping.kept].tolist())
        assert spelled([blocks[row]], instance) == (instance.layout.labels(genome),)
        assert recodings.generalization(row, instance) == instance.layout.decode(genome)


@given(solutions())
def test_groupings_of_all_are_those_of_each(made: tuple[Instance, GlobalRecodings]) -> None:
    instance, recodings = made
    together = list(recodings.groupings(instance))
    assert len(together) == len(recodings)
    for row, grouping in enumerate(together):
        alone = recodings.grouping(row, instance)
        assert grouping.row_group.tolist() == alone.row_group.tolist()
        assert grouping.kept.tolist() == alone.kept.tolist()


def test_some_are_taken_in_an_order() -> None:
    genomes = np.array([[0, 0], [0, 1], [1, 1]], dtype=np.uint8)
    recodings = GlobalRecodings(genomes, np.array([[3, 0], [2, 0], [1, 0]]), Suppression())
    taken = recodings.take(np.array([2, 0]))
    assert (taken.genomes.tolist(), taken.thresholds.tolist()) == (
        [[1, 1], [0, 0]],
        [[1, 0], [3, 0]],
    )
    assert taken.entry(0) == {"genome": "11", "thresholds": {"size": 1, "diversity": 0}}


# -- boxes -----------------------------------------------------------------------------------------

#: Per column the blocks of a box: base values ``start .. stop - 1``.
Box = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class BoxRecodings:
    """Solutions that are lists of boxes: a cell is in the first that holds it, or suppressed."""

    boxes: tuple[tuple[Box, ...], ...]

    def __len__(self) -> int:
        return len(self.boxes)

    def take(self, rows: np.ndarray) -> BoxRecodings:
        return BoxRecodings(tuple(self.boxes[row] for row in rows.tolist()))

    def all_groups(self, row: int, instance: Instance) -> Grouping:
        starts, stops = np.moveaxis(np.array(self.boxes[row]), 2, 0).transpose(0, 2, 1)
        codes = instance.cells.codes[:, :, None]  # columns, cells, boxes
        inside = ((codes >= starts[:, None]) & (codes < stops[:, None])).all(axis=0)
        box = np.where(inside.any(axis=1), inside.argmax(axis=1), NO_GROUP)
        used = np.unique(box[box >= 0])
        cell_box = np.where(box >= 0, np.searchsorted(used, box), NO_GROUP)
        return Grouping.of_boxes(instance, cell_box, starts[:, used], stops[:, used])

    groups_of_new = grouping = all_groups

    def groupings(self, instance: Instance) -> Iterator[Grouping]:
        return (self.grouping(row, instance) for row in range(len(self)))

    def kept_sizes(self, instance: Instance) -> list[np.ndarray]:
        return [grouping.sizes for grouping in self.groupings(instance)]

    def blocks(self, instance: Instance) -> tuple[Blocks, ...]:
        found = []
        for each in (self.all_groups(row, instance) for row in range(len(self))):
            ends = zip(instance.layout.columns, each.starts, each.stops, strict=True)
            found.append({n: tuple(map(tuple, np.unique([a, b], axis=1).T)) for n, a, b in ends})
        return tuple(found)

    def generalization(self, row: int, instance: Instance) -> Generalization | None:
        return None

    def entry(self, row: int) -> dict[str, Any]:
        return {"boxes": self.boxes[row]}

    def files(self) -> dict[str, bytes]:
        return {}


PLACES = Hierarchy.from_nested("Anywhere", {"North": ["Oslo", "Bergen"], "South": ["Rome", "Bari"]})
ROLES = {"age": "quasi", "place": "quasi", "ill": "sensitive"}
EVERYWHERE, NORTH, SOUTH = (0, 4), (0, 2), (2, 4)
#: Base values are the tens from 20 to 59.
ALL_AGES = (0, 4)
ONE_BOX = ((ALL_AGES, EVERYWHERE),)
#: The young of the north, and everybody else.
NESTED = (((0, 2), NORTH), (ALL_AGES, EVERYWHERE))
#: Twenty to 29 in Oslo, 30 to 39 in Bergen, else young, else old in the south; the old of the north
#: are nowhere.
OVERLAPPING = (
    ((0, 1), (0, 1)),
    ((1, 2), (1, 2)),
    ((0, 2), EVERYWHERE),
    ((2, 4), SOUTH),
)
SOLUTIONS = BoxRecodings((NESTED, ONE_BOX, OVERLAPPING))


def ten_people(**changes: list[object]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": [21, 25, 33, 38, 44, 52, 22, 31, 47, 58],
            "place": [
                "Oslo",
                "Oslo",
                "Bergen",
                "Bergen",
                "Oslo",
                "Bergen",
                "Rome",
                "Bari",
                "Rome",
                "Bari",
            ],
            "ill": ["flu", "gout", "flu", "cold", "gout", "flu", "flu", "gout", "cold", "flu"],
            **changes,
        }
    )


def table() -> Instance:
    specs = {"age": IntervalSpec(10, (20, 59)), "place": TreeSpec(PLACES)}
    return Instance.build(read_table(ten_people(), ROLES), specs)


@pytest.fixture(scope="module")
def box_front() -> Front:
    recodings: Recodings = SOLUTIONS
    return Front.of_recodings(table(), Suppression("limit", 0.2), ("k", "loss"), recodings)


def test_a_front_of_boxes_has_every_measure_that_the_oracle_finds(box_front: Front) -> None:
    assert box_front.measures["k"].tolist() == [2, 4, 10]
    assert [box_front.recoding(number)["boxes"] for number in (1, 2, 3)] == [
        OVERLAPPING,
        NESTED,
        ONE_BOX,
    ]
    assert [sorted(naive.members(box_front.grouping(number))) for number in (1, 2, 3)] == [
        [[0, 1], [2, 3], [6, 7], [8, 9]],
        [[0, 1, 2, 3], [4, 5, 6, 7, 8, 9]],
        [list(range(10))],
    ]
    # ages 1/3 and everywhere in 2 rows, 1/3 and half of the places in 2, two rows gone; of 20 cells
    lost = 2 * (1 / 3 + 1) + 2 * (1 / 3 + 1 / 3) + 2 * 2
    assert box_front.measures["loss"][0] == pytest.approx(lost / 20)
    # 1/3 and 1/3 in four rows, all in six
    assert box_front.measures["loss"][1] == pytest.approx((4 * 2 / 3 + 6 * 2) / 20)
    assert box_front.measures["loss"][2] == 1
    instance = box_front.instance
    assert instance is not None
    # a row that is in no box of the first: how it would be grouped is not known
    known = {m.name for m in applicable(instance) if not m.of_rule} - {"weighted_k"}
    assert set(box_front.measures) == known
    for number in box_front.ids.tolist():
        grouping = box_front.grouping(number)
        assert grouping.starts is not None
        assert grouping.stops is not None
        blocks = np.stack([grouping.starts, grouping.stops], axis=2).tolist()
        shown = [
            tuple(tuple(column[group]) for column in blocks)
            for group in grouping.row_group.tolist()
        ]
        kept = sorted(naive.members(grouping))
        expected = naive_measures.release_measures(instance, shown, kept, kept)
        for name in known:
            found = box_front.measures[name][number - 1]
            assert found == pytest.approx(expected[name], rel=1e-9, abs=1e-9), name


def test_a_front_of_boxes_says_what_cells_show(box_front: Front) -> None:
    assert box_front.labels[0] == {
        "age": ("[20-29]", "[20-39]", "[30-39]", "[40-59]"),
        "place": ("Oslo", "*", "Bergen", "South"),
    }
    assert box_front.labels[2] == {"age": ("*",), "place": ("*",)}
    assert [sorted(sizes.tolist()) for sizes in box_front.kept_sizes()] == [
        [2] * 4,
        [4, 6],
        [10],
    ]


def test_a_front_of_boxes_answers_questions(box_front: Front) -> None:
    answer = box_front.ask(max_loss=0.75)
    assert answer.choice is not None
    assert answer.choice.id == 2
    assert str(answer).startswith("Solution 2: k 4, loss 73.3%")
    least = box_front.ask(min_k=5)
    assert least.choice is not None
    assert least.choice.id == 3
    assert box_front.ask(min_k=11).choice is None
    assert repr(box_front) == "Front(3 solutions: k 2 to 10, loss 40.0% to 100.0%)"


@pytest.mark.parametrize("suppressed", ["absent", "star"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_every_solution_of_boxes_is_certified(
    box_front: Front, ending: str, suppressed: Any, tmp_path: Path
) -> None:
    for number in box_front.ids.tolist():
        path = tmp_path / f"{number}.{ending}"
        release = box_front.release(number)
        certificate = release.write(path, suppressed=suppressed)
        assert Certificate.load(f"{path}.certificate.json") == certificate
        record = release.record(certificate)
        assert record["genome"] is None
        stated = {name: values[number - 1] for name, values in box_front.measures.items()}
        for name, value in front_measures(release.promised).items():
            assert value == pytest.approx(stated[name], rel=1e-9, abs=1e-9), name
        if number == 1:  # two of ten rows are in no box
            assert (certificate.rows, certificate.suppressed) == (8, 2)
            assert "weighted_k" not in record["measures"]
        else:  # (16 + 36) / 10, and 100 / 10
            assert record["measures"]["weighted_k"] == {2: 5.2, 3: 10}[number]


def test_a_file_of_overlapping_labels_is_read_by_the_places_of_its_rows(
    box_front: Front, tmp_path: Path
) -> None:
    assert box_front.instance is not None
    release = box_front.release(1)
    release.write(tmp_path / "boxes.csv", suppressed="star", keep_order=True)
    found = read_released(tmp_path / "boxes.csv", box_front.instance)
    assert found.matched_by == "position"
    assert sorted(naive.members(found)) == sorted(naive.members(box_front.grouping(1)))
    assert measure_grouping(found) == measure_grouping(box_front.grouping(1))
    shown = ["Oslo", "Oslo", "Bergen", "Bergen", "*", "*", "South", "South"]
    assert release.to_frame()["place"].tolist() == shown


def test_a_file_that_shows_other_boxes_than_the_front_is_not_left(
    box_front: Front, tmp_path: Path
) -> None:
    measures = {**box_front.measures, "loss": box_front.measures["loss"] + 0.01}
    wrong = Front(
        box_front.objectives,
        box_front.suppression,
        box_front.recodings,
        measures,
        box_front.labels,
        3,
        box_front.instance,
    )
    with pytest.raises(CertificateError, match="as the front says: loss is"):
        wrong.release(1).write(tmp_path / "r.csv")
    assert list(tmp_path.iterdir()) == []


def test_boxes_are_released_with_another_k(box_front: Front, tmp_path: Path) -> None:
    release = box_front.release(2, k=5, max_suppression=0.5)
    certificate = release.write(tmp_path / "six.csv")
    assert (certificate.k, certificate.suppressed) == (6, 4)
    # where every row has a box, weighted-k is of them all
    assert release.record(certificate)["measures"]["weighted_k"] == 5.2
    release = box_front.release(1, k=2)
    certificate = release.write(tmp_path / "two.csv")
    assert (certificate.k, certificate.suppressed) == (2, 2)
    assert "weighted_k" not in release.record(certificate)["measures"]
    message = (
        r"^k = 3 would suppress 10 of 10 rows \(100\.0%\) of solution 1, and at most 2 \(20\.0%\) "
        r"may be; its largest k within that is 2 "
    )
    with pytest.raises(ConfigError, match=message):
        box_front.release(1, k=3)


def test_boxes_are_put_on_new_rows(box_front: Front, tmp_path: Path) -> None:
    new = read_table(ten_people(age=[21, 25, 27, 38, 44, 52, 22, 99, 47, 58]), ROLES)
    certificate = box_front.apply(2, new, outside="suppress").write(tmp_path / "new.csv")
    # {0, 1, 2, 3} | {4, 5, 6, 8, 9}, and one row outside
    assert (certificate.k, certificate.rows, certificate.suppressed) == (4, 9, 1)
    with pytest.raises(OutputError, match=r"none of its 2 groups has k = 6; choose a smaller k"):
        box_front.apply(2, new, outside="suppress", k=6)


def test_what_rows_show_decides_their_boxes_and_no_name_does() -> None:
    # People of 40 to 49 are in both boxes, and the front has them in the one that loses more.
    instance = table()
    found = BoxRecodings(((((0, 3), EVERYWHERE), ((2, 4), EVERYWHERE)),)).grouping(0, instance)
    boxes = LocalRecodings.of_groupings([found])
    front = Front.of_recodings(instance, Suppression("none"), ("k", "loss"), boxes)
    assert front.grouping(1).sizes.tolist() == [8, 2]
    twin = replace(instance.table, digest="of a file with other names")
    for rows in (instance.table, twin):
        assert front.apply(1, rows, small="keep").grouping.sizes.tolist() == [6, 4]


def test_boxes_are_compared_with_each_other_and_with_genomes(box_front: Front) -> None:
    instance = box_front.instance
    assert instance is not None
    genome = instance.layout.encode({"age": ((0, 2), (2, 4)), "place": (EVERYWHERE,)})
    found = compare(
        [
            box_front.grouping(1).named("overlapping"),
            box_front.grouping(2).named("nested"),
            Release.of(instance, genome).grouping.named("halves"),
        ]
    )
    assert found.properties == ("size", "sensitive_share", "utility")
    told = found.to_dict()["anonymized"]
    assert [each["matched_by"] for each in told.values()] == ["boxes", "boxes", "genome"]
    assert [(each["k"], each["suppressed"]) for each in told.values()] == [(2, 2), (4, 0), (4, 0)]
    sizes = [vectors["size"].values.tolist() for vectors in found.vectors.values()]
    assert sizes == [
        [2] * 10,  # the two suppressed rows are a group, too
        [4, 4, 4, 4, 6, 6, 6, 6, 6, 6],
        [6, 6, 6, 6, 4, 4, 6, 6, 4, 4],
    ]
    utilities = [2, 2, 2, 2, 0, 0, 2 / 3, 2 / 3, 4 / 3, 4 / 3]
    assert found.vectors["A"]["utility"].values.tolist() == pytest.approx(utilities)


@pytest.mark.parametrize(
    ("objectives", "message"),
    [
        (("d1", "loss"), r"^d1 is not known of every solution$"),
        (("weighted_k", "gl"), r"^weighted_k is not known of every solution$"),
        (("cm", "loss"), r"^cm needs a class column, and the table has none$"),
    ],
)
def test_an_objective_must_be_known(objectives: tuple[str, ...], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Front.of_recodings(table(), Suppression("none"), objectives, SOLUTIONS)


def test_a_front_of_nothing_is_empty() -> None:
    empty = Front.of_recodings(table(), Suppression("none"), ("k", "loss"), BoxRecodings(()))
    assert len(empty) == 0
    assert repr(empty) == "Front(no solutions)"


# -- files of boxes --------------------------------------------------------------------------------


def stored_boxes() -> LocalRecodings:
    """The solutions, as a results folder holds them."""
    return LocalRecodings.of_groupings(SOLUTIONS.grouping(row, table()) for row in range(3))


def test_a_file_of_boxes_that_cannot_be_unpacked_is_damaged() -> None:
    content = bytearray(stored_boxes().files()[BOXES])
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        member = archive.getinfo("boxes0.npy")
    packed = content.index(b"boxes0.npy", member.header_offset) + len("boxes0.npy")
    extra = int.from_bytes(content[member.header_offset + 28 : member.header_offset + 30], "little")
    content[packed + extra : packed + extra + 4] = b"\xff" * 4
    with pytest.raises(ValueError, match=r"boxes\.npz is damaged: Error -3"):
        LocalRecodings.of_file(bytes(content))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("boxes1", -1, "blocks are counted from 0"),
        ("boxes1", 99, "a block without values"),
    ],
)
def test_a_file_of_boxes_with_impossible_numbers_is_refused(
    name: str, change: int, message: str
) -> None:
    with np.load(io.BytesIO(stored_boxes().files()[BOXES])) as arrays:
        changed = dict(arrays)
    changed[name] = changed[name].astype(np.int64)
    changed[name].reshape(-1)[0] = change
    buffer = io.BytesIO()
    np.savez(buffer, **changed)
    with pytest.raises(ValueError, match=message):
        LocalRecodings.of_file(buffer.getvalue())


def test_a_box_that_is_no_node_of_a_tree_has_no_label() -> None:
    boxes = stored_boxes()
    stops = boxes.stops[0].copy()
    stops[1, stops[1] == 2] = 3  # Oslo to Rome
    with pytest.raises(GenomeError, match="a box of column 'place' is no node of its tree"):
        LocalRecodings(boxes.sealed, boxes.starts, (stops, *boxes.stops[1:])).blocks(table())


def test_a_file_of_boxes_that_tells_the_box_of_each_cell_is_refused() -> None:
    buffer = io.BytesIO()
    np.savez(buffer, digest=np.zeros(0, dtype=np.uint8), solutions=1, group0=[1], boxes0=[[[0]]])
    with pytest.raises(ValueError, match="an earlier version, and gives rows of the table away"):
        LocalRecodings.of_file(buffer.getvalue())


def test_boxes_are_not_put_on_other_rows_that_pass_for_the_table() -> None:
    instance = table()
    fewer = instance.over(instance.table.only(np.arange(10) > 0))
    with pytest.raises(DataError, match=r"found on other cells than .* has as it is read now"):
        stored_boxes().grouping(0, fewer)


def test_a_file_of_boxes_comes_back_after_any_choice_of_solutions() -> None:
    boxes, order = stored_boxes(), np.array([2, 0, 2])
    again = LocalRecodings.of_file(joined([boxes, boxes]).take(order + 3).files()[BOXES])
    for row, chosen in enumerate(order.tolist()):
        assert np.array_equal(again.cell_group(row, table()), boxes.cell_group(chosen, table()))


def test_boxes_stand_in_their_own_order_whatever_they_come_from() -> None:
    instance = table()
    genome = instance.layout.encode({"age": ((0, 2), (2, 4)), "place": (EVERYWHERE,)})
    whole = Grouping.of_genome(instance, genome)
    found = LocalRecodings.of_groupings([whole])
    assert found.starts[0][0].tolist() == [0, 2]
    assert sorted(naive.members(found.grouping(0, instance))) == sorted(naive.members(whole))
