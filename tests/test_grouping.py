"""Groupings of any origin: against the slow oracle, and by hand."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.data.domain import IntervalSpec, OrderedSpec, TreeSpec
from moanon.data.hierarchy import Hierarchy
from moanon.engines import read_table
from moanon.errors import ConfigError, DataError, GenomeError, OutputError
from moanon.genome import Instance
from moanon.grouping import NO_GROUP, Grouping, _Merged
from moanon.measures import MEASURES
from moanon.measures.evaluate import measure_grouping
from moanon.measures.suppression import Suppression
from moanon.release import Release
from moanon.release.solution import _check_bounds
from tests import naive, naive_measures
from tests.strategies import Boxes, boxes, instances, rich_instances

Shown = list[tuple[tuple[int, int], ...]]


def shown_blocks(grouping: Grouping) -> list[tuple[tuple[int, int], ...]]:
    """What each group shows."""
    assert grouping.starts is not None
    assert grouping.stops is not None
    edges = np.stack([grouping.starts, grouping.stops], axis=2)  # columns, groups, ends
    return [tuple(map(tuple, group)) for group in np.moveaxis(edges, 1, 0).tolist()]


def assert_groups_are_the_oracles(grouping: Grouping, shown: Shown, rows: Sequence[int]) -> None:
    """The same rows together, and each group shows what its rows show."""
    instance = grouping.instance
    alike: dict[tuple[tuple[int, int], ...], list[int]] = {}
    for row in rows:
        alike.setdefault(shown[row], []).append(row)
    assert dict(zip(shown_blocks(grouping), naive.members(grouping), strict=True)) == alike
    assert grouping.sizes.tolist() == [len(each) for each in naive.members(grouping)]
    domains = instance.layout.domains
    spans = naive.spans_of(instance)
    for group, blocks in enumerate(shown_blocks(grouping)):
        assert grouping.row_loss[group] == pytest.approx(float(naive.row_loss(blocks, spans)))
        for (name, domain), block in zip(domains.items(), blocks, strict=True):
            assert grouping.labels[name][group] == domain.label(*block)


# -- of a genome -----------------------------------------------------------------------------------


@given(instances(), st.integers(0, 2**32 - 1))
def test_a_genomes_groups_are_the_oracles(instance: Instance, seed: int) -> None:
    genome = instance.layout.sample(1, np.random.default_rng(seed))[0]
    grouping = Grouping.of_genome(instance, genome)
    shown = naive.generalized_rows(instance, instance.layout.text(genome))
    assert_groups_are_the_oracles(grouping, shown, range(instance.table.rows))
    assert grouping.kept.all()
    assert grouping.is_complete
    assert grouping.genome is not None
    assert grouping.genome.tolist() == genome.tolist()
    assert grouping.matched_by == "genome"
    assert grouping.cell_group is not None
    assert (grouping.cell_group[instance.row_cell] == grouping.row_group).all()
    # numbered by their first cell
    first = [grouping.cell_group.tolist().index(group) for group in range(len(grouping))]
    assert first == sorted(first)


@pytest.mark.parametrize("size", [63, 64, 16_383, 16_384])  # where numbers become wider
def test_blocks_at_the_end_of_a_wide_domain_do_not_wrap_around(size: int) -> None:
    table = read_table(pd.DataFrame({"age": [0, size - 2, size - 1]}), {"age": "quasi"})
    instance = Instance.build(table, {"age": IntervalSpec(1, (0, size - 1))})
    grouping = Grouping.of_genome(instance, [0] * (size - 2) + [1])
    assert shown_blocks(grouping) == [((0, size - 1),), ((size - 1, size),)]
    assert grouping.starts is not None
    assert grouping.stops is not None
    assert (grouping.starts + grouping.stops).tolist() == [[size - 1, 2 * size - 1]]


@given(instances(), st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_groups_of_many_genomes_are_those_of_each(instance: Instance, number: int, seed: int):
    rng = np.random.default_rng(seed)
    # Few that differ, so that their OR is coarse enough to be worth sharing.
    genomes = instance.layout.sample(3, rng)[rng.integers(0, 3, number)]
    together = list(Grouping.of_genomes(instance, genomes))
    assert len(together) == number
    for genome, grouping in zip(genomes, together, strict=True):
        shown = naive.generalized_rows(instance, instance.layout.text(genome))
        assert_groups_are_the_oracles(grouping, shown, range(instance.table.rows))
        alone = Grouping.of_genome(instance, genome)  # also numbers its groups alike
        assert shown_blocks(grouping) == shown_blocks(alone)
        assert grouping.row_group.tolist() == alone.row_group.tolist()
        assert grouping.genome is not None
        assert grouping.genome.tolist() == genome.tolist()


def test_alike_genomes_are_merged_from_what_they_share(monkeypatch) -> None:
    """Nine genomes that keep nothing apart: the cells are merged once, for all of them."""
    instance = shirts_in_towns()
    merged = []
    under = _Merged.under
    monkeypatch.setattr(
        _Merged, "under", lambda self, blocks: merged.append(len(self.sizes)) or under(self, blocks)
    )
    groupings = list(Grouping.of_genomes(instance, np.zeros((9, 5), dtype=np.uint8)))
    assert [grouping.sizes.tolist() for grouping in groupings] == [[instance.table.rows]] * 9
    assert merged == [len(instance.cells)] + [1] * 9


def test_a_grouping_is_of_one_valid_genome() -> None:
    instance = shirts_in_towns()
    with pytest.raises(GenomeError, match=r"^a grouping takes one genome\. Got 2$"):
        Grouping.of_genome(instance, [[1] * 5, [0] * 5])
    with pytest.raises(GenomeError, match=r"the block from 'oslo' to 'rome' is not a node"):
        Grouping.of_genome(instance, [0, 0, 0, 1, 0])


# -- of boxes --------------------------------------------------------------------------------------


@st.composite
def in_boxes(draw: st.DrawFn) -> tuple[Instance, Boxes]:
    """A table on which every measure can be taken, and boxes for its cells."""
    instance = draw(rich_instances(20))
    return instance, draw(boxes(instance))


def shown_in(instance: Instance, placed: Boxes) -> tuple[Shown, list[int]]:
    """What each row shows, and the rows that have a box."""
    cell_box, starts, stops = placed
    row_box = cell_box[instance.row_cell]
    shown = [
        tuple(zip(starts[:, box].tolist(), stops[:, box].tolist(), strict=True))
        for box in row_box.tolist()
    ]
    return shown, np.flatnonzero(row_box >= 0).tolist()


@given(in_boxes())
def test_groups_of_boxes_are_the_oracles(made: tuple[Instance, Boxes]) -> None:
    instance, placed = made
    grouping = Grouping.of_boxes(instance, *placed)
    shown, rows = shown_in(instance, placed)
    assert_groups_are_the_oracles(grouping, shown, rows)
    assert grouping.kept.all()
    assert (grouping.genome, grouping.matched_by) == (None, "boxes")
    assert grouping.suppressed == instance.table.rows - len(rows)
    assert grouping.is_complete == (len(rows) == instance.table.rows)


@given(in_boxes(), st.data())
def test_every_measure_of_boxes_is_the_oracles(
    made: tuple[Instance, Boxes], data: st.DataObject
) -> None:
    instance, placed = made
    grouping = Grouping.of_boxes(instance, *placed)
    others = st.lists(st.booleans(), min_size=len(grouping) - 1, max_size=len(grouping) - 1)
    grouping = grouping.keep(np.array([True, *data.draw(others)]))
    rule = Suppression(
        diversity=data.draw(st.sampled_from(["distinct", "frequency"])),
        recursive_c=data.draw(st.sampled_from([0.5, 1.5, 3.0])),
    )
    shown, _ = shown_in(instance, placed)
    groups = naive.members(grouping)
    expected = naive_measures.release_measures(
        instance,
        shown,
        groups,
        [rows for rows, stays in zip(groups, grouping.kept, strict=True) if stays],
        diversity=rule.diversity,
        c=Fraction(str(rule.recursive_c)),
    )
    found = measure_grouping(grouping, rule)
    thresholds = {name for name, measure in MEASURES.items() if measure.of_rule}
    # Nobody says here which populations count; tests of its own do.
    unknown = thresholds | {"u_loss"}
    unknown |= set() if grouping.is_complete else {"weighted_k"}
    assert found.keys() == expected.keys() == MEASURES.keys() - unknown
    for name, value in expected.items():
        if MEASURES[name].range.whole:
            assert found[name] == value, name
        else:
            assert found[name] == pytest.approx(value, rel=1e-9, abs=1e-6), name


TREE = Hierarchy.from_nested("any", {"north": ["oslo"], "south": ["rome", "bari", "pisa"]})


def shirts_in_towns() -> Instance:
    """Six rows in five cells: S oslo, S oslo, M oslo, M rome, L bari, L pisa."""
    frame = pd.DataFrame(
        {
            "size": ["S", "S", "M", "M", "L", "L"],
            "place": ["oslo", "oslo", "oslo", "rome", "bari", "pisa"],
            "ill": ["flu", "gout", "flu", "flu", "gout", "flu"],
        }
    )
    roles = {"size": "quasi", "place": "quasi", "ill": "sensitive"}
    specs = {"size": OrderedSpec(("S", "M", "L")), "place": TreeSpec(TREE)}
    instance = Instance.build(read_table(frame, roles), specs)
    assert instance.cells.codes.tolist() == [[0, 1, 1, 2, 2], [0, 0, 1, 2, 3]]
    return instance


def test_boxes_may_overlap() -> None:
    # S..M oslo for the first two cells, * south for rome and bari, M..L * for pisa: rome lies in
    # the last two, bari and pisa, too
    grouping = Grouping.of_boxes(
        shirts_in_towns(), [0, 0, 1, 1, 2], [[0, 0, 1], [0, 1, 0]], [[2, 3, 3], [1, 4, 4]]
    )
    assert sorted(naive.members(grouping)) == [[0, 1, 2], [3, 4], [5]]
    shown = {
        tuple(rows): (size, place)
        for rows, size, place in zip(
            naive.members(grouping), grouping.labels["size"], grouping.labels["place"], strict=True
        )
    }
    assert shown == {(0, 1, 2): ("S..M", "oslo"), (3, 4): ("*", "south"), (5,): ("M..L", "*")}
    found = measure_grouping(grouping)
    assert (found["k"], found["groups"], found["suppressed"]) == (1, 3, 0)
    # sizes 3, 2, 1 → (9 + 4 + 1) / 6
    assert found["weighted_k"] == found["weighted_k_kept"] == pytest.approx(14 / 6)
    # size: 3 rows 1/2, 2 rows 1, 1 row 1/2; place: 3 rows 0, 2 rows 2/3, 1 row 1; of 6 * 2 cells
    lost = (3 / 2 + 2 + 1 / 2) + (2 * 2 / 3 + 1)
    assert found["loss"] == found["gl"] == pytest.approx(lost / 12)
    # south is level 1 of 2, any level 2; oslo is a leaf
    assert found["prec"] == pytest.approx(1 - (2 * 1 / 2 + 1) / 6)
    assert found["absdist"] == 2
    # flu gout flu | flu gout | flu beside flu 4/6: 0, 1/6, 1/3
    assert found["t_closeness"] == pytest.approx(1 / 3)
    assert (found["l_distinct"], found["alpha"]) == (1, 1)


def test_boxes_with_the_same_blocks_are_one_group() -> None:
    # two boxes * south: nobody could tell rome from bari and pisa
    starts, stops = [[0, 0, 0], [0, 1, 1]], [[3, 3, 3], [1, 4, 4]]
    grouping = Grouping.of_boxes(shirts_in_towns(), [0, 0, 1, 2, 2], starts, stops)
    assert sorted(naive.members(grouping)) == [[0, 1, 2], [3, 4, 5]]
    assert (len(grouping), grouping.k) == (2, 3)
    assert grouping.cell_group is not None
    assert len(set(grouping.cell_group[2:].tolist())) == 1


def test_suppressed_cells_are_in_no_box() -> None:
    grouping = Grouping.of_boxes(shirts_in_towns(), [0, NO_GROUP, NO_GROUP, 1, 1], [[0, 2], [0, 1]],
                                 [[1, 3], [4, 4]])  # fmt: skip
    assert grouping.row_group.tolist() == [0, 0, -1, -1, 1, 1]
    assert grouping.is_kept.tolist() == [True, True, False, False, True, True]
    assert (grouping.rows, grouping.kept_rows, grouping.suppressed, grouping.k) == (6, 4, 2, 2)
    assert not grouping.is_complete
    found = measure_grouping(grouping)
    # 2 of 6 rows gone; sizes 2, 2: 4 + 4, and 6 for each row that is gone
    assert (found["sl"], found["dm"]) == (2 / 6, 8 + 12)
    assert "weighted_k" not in found
    assert repr(grouping) == "Grouping(2 groups of 6 rows, 2 suppressed)"


@pytest.mark.parametrize(
    ("cell_box", "starts", "stops", "message"),
    [
        (
            [0, 0, 1, 1, 1],
            [[0, 0], [0, 1]],
            [[2, 2], [1, 4]],
            r"^cell 3 does not lie in its box 1 in column 'size'$",
        ),
        (
            # boxes 0 and 1 are alike: the box is still called as it was given
            [0, 1, 2, 2, 2],
            [[0, 0, 0], [0, 0, 2]],
            [[3, 3, 3], [1, 1, 3]],
            r"^cell 2 does not lie in its box 2 in column 'place'$",
        ),
        (
            [0, 0, 1, 1, 1],
            [[0, 0], [0, 1]],
            [[3, 3], [2, 4]],
            r"^in column 'place' the block from 'oslo' to 'rome' is not a node of the hierarchy$",
        ),
        ([0, 0, 0, 0], [[0], [0]], [[3], [4]], r"the 5 cells must have a group, or -1\. Got .*4"),
        ([-1] * 5, [[0], [0]], [[3], [4]], r"^no row is left: all are suppressed$"),
        ([0, 0, 2, 2, 2], [[0] * 3] * 2, [[3] * 3, [4] * 3], "from 0 to 2, each with a row"),
        ([0] * 5, [[0]], [[3]], r"^blocks must be given for 2 columns and 1 groups\. Got"),
        ([0] * 5, [[0], [0]], [[3], [5]], r"^a block must hold base values of its column's domain"),
        ([0] * 5, [[0], [4]], [[3], [4]], r"^a block must hold .*, at least one$"),
    ],
)
def test_boxes_that_do_not_fit_are_refused(
    cell_box: list[int], starts: list[list[int]], stops: list[list[int]], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        Grouping.of_boxes(shirts_in_towns(), cell_box, starts, stops)


# -- of rows ---------------------------------------------------------------------------------------


def test_rows_of_one_cell_may_be_in_different_groups() -> None:
    grouping = Grouping.of_rows(
        shirts_in_towns(),
        [0, 1, 1, 0, NO_GROUP, 1],
        [[0, 0], [0, 0]],
        [[3, 3], [2, 4]],  # oslo and rome are half a node
        name="theirs",
        notes=("a note",),
        absent=("ill",),
    )
    assert grouping.cell_group is None
    assert grouping.sizes.tolist() == [2, 3]
    assert (grouping.k, grouping.suppressed, len(grouping)) == (2, 1, 2)
    assert (grouping.name, grouping.matched_by) == ("theirs", "position")
    assert (grouping.notes, grouping.absent) == (("a note",), ("ill",))
    # size: all; place: 1/3 and all
    assert grouping.row_loss.tolist() == pytest.approx([4 / 3, 2])


def test_rows_whose_labels_mean_nothing_are_grouped_all_the_same() -> None:
    instance = Instance.without_meaning(shirts_in_towns().table)
    grouping = Grouping.of_rows(instance, [0, 0, 1, 1, 1, NO_GROUP], None, None)
    assert (grouping.k, grouping.suppressed, grouping.quasi) == (2, 1, ("size", "place"))
    assert not grouping.has_meaning
    assert grouping.row_loss.tolist() == [0, 0]
    assert not any(MEASURES[name].reads_labels for name in measure_grouping(grouping))


# -- what is kept ----------------------------------------------------------------------------------


def ages(kept: list[bool]) -> Grouping:
    """Groups of 1, 2 and 3 rows."""
    frame = pd.DataFrame({"age": [20, 21, 21, 22, 22, 22]})
    instance = Instance.build(read_table(frame, {"age": "quasi"}), {"age": IntervalSpec(1)})
    return Grouping.of_genome(instance, [1, 1]).keep(np.array(kept))


def test_k_and_suppressed_are_of_what_is_kept() -> None:
    every, some = ages([True, True, True]), ages([False, True, True])
    assert (every.k, every.suppressed, every.kept_rows) == (1, 0, 6)
    assert (some.k, some.suppressed, some.kept_rows) == (2, 1, 5)
    assert some.is_kept.tolist() == [False, True, True, True, True, True]
    assert some.is_complete  # how the suppressed row was grouped is known


def test_released_groups_are_numbered_anew() -> None:
    released = ages([True, False, True]).released()
    assert released.row_group.tolist() == [0, -1, -1, 1, 1, 1]
    assert released.sizes.tolist() == [1, 3]
    assert released.kept.tolist() == [True, True]
    assert released.labels["age"].tolist() == ["20", "22"]
    assert released.cell_group is not None
    assert released.cell_group.tolist() == [0, -1, 1]
    assert (released.k, released.suppressed, released.is_complete) == (1, 2, False)
    assert released.released() is released


def test_a_name_changes_nothing_else() -> None:
    grouping = ages([True, True, False])
    named = grouping.named("solution 3")
    assert (grouping.name, named.name) == ("", "solution 3")
    assert named.kept is grouping.kept


@given(in_boxes(), st.data())
def test_what_is_released_measures_as_what_is_kept(
    made: tuple[Instance, Boxes], data: st.DataObject
) -> None:
    instance, placed = made
    grouping = Grouping.of_boxes(instance, *placed)
    others = st.lists(st.booleans(), min_size=len(grouping) - 1, max_size=len(grouping) - 1)
    grouping = grouping.keep(np.array([True, *data.draw(others)]))
    released = grouping.released()
    assert (released.k, released.suppressed) == (grouping.k, grouping.suppressed)
    assert released.is_kept.tolist() == grouping.is_kept.tolist()
    found, expected = measure_grouping(released), measure_grouping(grouping)
    if not released.is_complete:
        expected.pop("weighted_k", None)
    assert found == expected


@pytest.mark.parametrize("kept", [[0, 1, 1], [True, False], np.array([1.0, 0.0, 1.0])])
def test_what_is_kept_is_said_of_every_group(kept) -> None:
    instance = sizes_instance()
    grouping = Grouping.of_genome(instance, [1, 1])
    with pytest.raises(DataError, match="one truth value for each of the 3 groups"):
        grouping.keep(kept)


def test_numbers_that_are_not_whole_are_no_groups() -> None:
    instance = sizes_instance()
    with pytest.raises(DataError, match=r"groups must be arrays of whole numbers\. Got float64"):
        Grouping.of_boxes(instance, [0.9, 0.2, 1.7], [[0, 2]], [[2, 3]])
    with pytest.raises(DataError, match="blocks must be arrays of whole numbers"):
        Grouping.of_rows(instance, [0, 0, 0, 1, 1], [["a", "b"]], [[2, 3]])
    with pytest.raises(DataError, match="starts and stops, or nobody knows either"):
        Grouping.of_rows(instance, [0, 0, 0, 1, 1], [[0, 2]], None)


def test_a_release_shows_nobody_by_a_label_that_does_not_hold_them() -> None:
    instance = sizes_instance()
    false = Grouping.of_rows(instance, [0, 0, 0, 1, 1], [[2, 0]], [[3, 1]])
    with pytest.raises(ConfigError, match="a label of column 'size' would not hold the value"):
        Release(false)


def sizes_instance() -> Instance:
    table = read_table(pd.DataFrame({"size": list("SSMLL")}), {"size": "quasi"})
    return Instance.build(table, {"size": OrderedSpec(("S", "M", "L"))})


def released_beside_a_row_outside() -> Release:
    grouping = Grouping.of_genome(sizes_instance(), [0, 0])
    return Release(grouping, rows_outside=1)


def test_a_record_counts_rows_outside_the_domains_in_weighted_k(tmp_path) -> None:
    # one group of 5 of the 6 rows: 25 / 6
    release = released_beside_a_row_outside()
    certificate = release.write(tmp_path / "r.csv")
    assert release.record(certificate)["measures"]["weighted_k"] == float(Fraction(25, 6))
    assert (certificate.rows, certificate.suppressed) == (5, 1)


def test_rows_outside_the_domains_leave_bounds_on_kept_rows_alone() -> None:
    release = released_beside_a_row_outside()
    with pytest.raises(OutputError, match="does not meet the constraints of the run: loss is 1 "):
        _check_bounds(release, Suppression(), {"risk_share": 0.0, "loss": 0.5}, name="it")
    with pytest.raises(OutputError, match="the constraint size_rank is not known then"):
        _check_bounds(release, Suppression(), {"size_rank": 1e9}, name="it")
