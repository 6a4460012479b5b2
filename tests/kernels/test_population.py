"""Flat, rolled up, on any number of threads: always the same integers."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.kernels import histograms
from moanon.kernels.costs import COSTS
from moanon.kernels.join import JoinTree
from moanon.kernels.models import MODELS
from moanon.kernels.population import PopulationKernel, RawScores
from moanon.kernels.selection import FIELDS, GroupRule
from moanon.kernels.thresholds import KEEP_ALL, WITHIN_LIMIT
from moanon.measures import MEASURES
from moanon.measures.evaluate import group_rule
from moanon.measures.suppression import Suppression
from tests.checkout import REPOSITORY
from tests.strategies import few, instances, populations, rich_instances


def same(one: RawScores, other: RawScores) -> bool:
    """Whether two results are alike to the last bit."""
    return all(
        np.array_equal(array, vars(other)[name], equal_nan=True)
        for name, array in vars(one).items()
    )


def any_rule(draw, instance: Instance) -> GroupRule:
    """A rule with every model, cost and tally, that goes by anything."""
    kind = draw(st.sampled_from(["none", "limit", "weighted-k", "kl-safety"]))
    by = (
        draw(st.sampled_from([m.name for m in MEASURES.values() if m.group and m.name != "l"]))
        if kind == "limit"
        else "k"
    )
    bounds = draw(st.sampled_from([(), (("k", 2),), (("t_closeness", 0.4), ("l_entropy", 1.5))]))
    rule = Suppression(kind, draw(st.sampled_from([0.0, 0.2, 0.5])), by=by, constraints=bounds)
    sensitive = len(instance.cells.sensitive)
    found = group_rule(rule, instance.table.rows, MEASURES.values(), sensitive, steps=True)
    assert len(found.wanted) + len(found.wanted_costs) == len(MODELS + COSTS)
    return found


@given(st.data())
def test_rolling_up_changes_nothing(data):
    instance = data.draw(rich_instances())
    genomes = data.draw(populations(instance, most=80))
    rule = any_rule(data.draw, instance)
    flat = instance.kernel.evaluate(genomes, rule, "flat")
    rolled = instance.kernel.evaluate(genomes, rule, "rollup")
    assert same(flat, rolled)


@given(st.data())
def test_rolling_up_plainly_changes_nothing(data):
    instance = data.draw(instances())
    genomes = data.draw(populations(instance, most=80))
    rule = GroupRule(WITHIN_LIMIT, instance.table.rows // 3, with_steps=True)
    flat = instance.kernel.evaluate(genomes, rule, "flat")
    assert same(flat, instance.kernel.evaluate(genomes, rule, "rollup"))


@given(st.data())
def test_a_wide_root_changes_nothing(data):
    instance = data.draw(rich_instances())
    genomes = data.draw(populations(instance, most=40))
    rule = any_rule(data.draw, instance)
    cells, mode = instance.cells, data.draw(st.sampled_from(["flat", "rollup"]))
    pair, wide = (
        PopulationKernel(
            cells.codes,
            cells.counts,
            instance.layout.sizes,
            instance.listed_values,
            plan=instance.plan,
            prices=instance.prices,
            root=root,
        )
        for root in ("pair", "wide")
    )
    assert same(pair.evaluate(genomes, rule, mode), wide.evaluate(genomes, rule, mode))
    plain = GroupRule(WITHIN_LIMIT, instance.table.rows // 3, with_steps=True)
    assert same(pair.evaluate(genomes, plain, mode), wide.evaluate(genomes, plain, mode))


@pytest.mark.parametrize("density", [0.02, 0.3, 1.0])
def test_a_wide_root_of_many_parts_changes_nothing(density):
    # 40 digits of up to 30 groups: keys that are numbered anew several times
    rng = np.random.default_rng(4)
    codes = np.unique(rng.integers(0, 30, size=(40, 700)).astype(np.uint16) ** 2 % 30, axis=1)
    counts, sizes = rng.integers(1, 5, size=codes.shape[1]), np.full(40, 30)
    genomes = (rng.random((60, 40 * 29)) < density).astype(np.uint8)
    rule = GroupRule(WITHIN_LIMIT, 200, with_steps=True)
    pair, wide = (PopulationKernel(codes, counts, sizes, root=r) for r in ("pair", "wide"))
    for mode in ("flat", "rollup"):
        assert same(pair.evaluate(genomes, rule, mode), wide.evaluate(genomes, rule, mode))


def test_of_wide_and_pair_roots_the_faster_one_is_taken():
    rng = np.random.default_rng(4)
    few, many = (rng.integers(0, 4, size=(columns, 5_000)) for columns in (5, 40))
    assert not len(JoinTree.build(few.astype(np.uint16), [4] * 5).shape.parts)
    assert len(JoinTree.build(many.astype(np.uint16), [4] * 40).shape.parts)


@few
@given(st.data())
def test_threads_change_nothing(data):
    instance = data.draw(rich_instances())
    genomes = data.draw(populations(instance, most=80))
    rule = any_rule(data.draw, instance)
    one = instance.kernel.evaluate(genomes, rule, "rollup")
    three = instance.make_kernel(3).evaluate(genomes, rule, "rollup")
    assert same(one, three)


@few
@given(st.data())
def test_lists_and_histograms_give_the_same(data):
    instance = data.draw(rich_instances())
    genomes = data.draw(populations(instance, most=40))
    rule = any_rule(data.draw, instance)
    dense = instance.make_kernel(1).evaluate(genomes, rule, "rollup")
    with mock.patch.object(histograms, "_DENSE_VALUES", -1):
        sparse = instance.make_kernel(1).evaluate(genomes, rule, "rollup")
    assert same(dense, sparse)


@given(rich_instances(), st.integers(1, 5))
def test_values_laid_out_some_cells_at_a_time_are_the_same(instance, number):
    tree = JoinTree.build(instance.cells.codes, instance.layout.sizes.tolist())
    at_once = histograms.make_value_forms(tree, instance.listed_values, 2)
    with mock.patch.object(histograms, "_AT_ONCE", number):
        in_turn = histograms.make_value_forms(tree, instance.listed_values, 2)
    assert all(map(np.array_equal, at_once, in_turn))


@given(st.data())
def test_sizes_and_losses_are_the_same_with_and_without_models(data):
    instance = data.draw(rich_instances())
    genomes = data.draw(populations(instance))
    limit = Suppression("limit", 0.2)
    rows = instance.table.rows
    plain = instance.kernel.evaluate(genomes, group_rule(limit, rows, steps=True))
    models = [measure for measure in MEASURES.values() if measure.group]
    measured = instance.kernel.evaluate(genomes, group_rule(limit, rows, models, steps=True))
    mistakes = FIELDS.index("mistakes")  # are counted along with models
    assert np.array_equal(plain.fields[:, :mistakes], measured.fields[:, :mistakes])
    assert np.array_equal(plain.step_starts, measured.step_starts)
    for begin, end in pairwise(plain.step_starts):
        # where only sizes and losses count, steps go up; else down
        upwards, downwards = plain.steps[begin:end], measured.steps[begin:end]
        assert np.array_equal(upwards[:, :mistakes], downwards[::-1, :mistakes])


def test_what_a_kernel_has_no_values_for_is_refused():
    genomes = np.ones((1, 5), dtype=np.uint8)
    rule = group_rule(Suppression("none"), 21, [MEASURES["l_entropy"]])
    with pytest.raises(ValueError, match="there are no sensitive values"):
        small_kernel().evaluate(genomes, rule)
    rule = group_rule(Suppression("none"), 21, [MEASURES["conditional_entropy"]])
    with pytest.raises(ValueError, match="there are no prices"):
        small_kernel().evaluate(genomes, rule)
    tallies = [MEASURES["utility_rank"], MEASURES["sensitive_share_mean"]]
    rule = group_rule(Suppression("none"), 21, tallies, 2)
    with pytest.raises(ValueError, match="there are no sensitive values"):
        small_kernel().evaluate(genomes, rule)


@given(st.data())
def test_the_or_of_valid_genomes_is_valid_and_finer_than_each(data):
    instance = data.draw(instances())
    genomes = data.draw(populations(instance))
    union = np.bitwise_or.reduce(genomes)
    assert instance.layout.is_valid(union[None])[0]
    fine = Grouping.of_genome(instance, union).cell_group
    for genome in genomes:
        coarse = Grouping.of_genome(instance, genome).cell_group
        # finer: cells together under the OR are together under the genome
        pairs = {(int(a), int(b)) for a, b in zip(fine, coarse, strict=True)}
        assert len(pairs) == len(set(fine.tolist()))


def test_forty_columns_of_a_hundred_values_do_not_overflow():
    # 100^40 is far beyond 63 bits: keys that wrapped would merge rows that differ
    rng = np.random.default_rng(7)
    rows, columns = 3000, 40
    codes = rng.integers(0, 100, size=(columns, rows)).astype(np.uint16)
    codes[:, rows // 2 :] = codes[:, : rows // 2]  # each tuple twice …
    codes[-1, -1] = (codes[-1, -1] + 1) % 100  # … but one pair differs in its last column
    cells, counts = np.unique(codes, axis=1, return_counts=True)
    kernel = PopulationKernel(cells, counts.astype(np.int64), np.full(columns, 100))
    genomes = np.ones((3, 99 * columns), dtype=np.uint8)
    genomes[1, -99:] = 0  # the last column suppressed: the odd pair is together again
    genomes[2] = 0
    scores = kernel.evaluate(genomes, GroupRule(KEEP_ALL, 0))
    assert scores.field("groups").tolist() == [rows // 2 + 1, rows // 2, 1]
    assert scores.field("k").tolist() == [1, 2, rows]
    # 1499 pairs and 2 single rows → 1499 * 4 + 2
    assert scores.field("squares").tolist() == [1499 * 4 + 2, 1500 * 4, rows**2]


def test_losses_that_no_common_denominator_holds_are_rounded_closely():
    # m - 1 = primes: their product exceeds 62 bits, so losses are rounded to 1/scale
    primes = [97, 101, 103, 107, 109, 113, 127, 131, 137, 139, 149]
    rng = np.random.default_rng(3)
    codes = np.stack([rng.integers(0, p + 1, 50) for p in primes]).astype(np.uint16)
    cells, counts = np.unique(codes, axis=1, return_counts=True)
    sizes = np.array([p + 1 for p in primes])
    kernel = PopulationKernel(cells, counts.astype(np.int64), sizes)
    assert not kernel.losses.exact
    genome = np.ones((1, int(np.sum(sizes - 1))), dtype=np.uint8)
    first = np.concatenate(([0], np.cumsum(sizes - 1)))
    expected = 0.0
    for j, p in enumerate(primes):  # merge the first two base values of every column
        genome[0, first[j]] = 0
        expected += (codes[j] <= 1).sum() / p
    scores = kernel.evaluate(genome, GroupRule(KEEP_ALL, 0))
    loss = scores.field("kept_loss")[0] / kernel.losses.scale
    assert loss / (50 * 11) == pytest.approx(expected / (50 * 11), abs=1e-12)


def test_the_choice_of_the_way_is_measured():
    rng = np.random.default_rng(1)
    codes = np.unique(rng.integers(0, 4, size=(3, 50)), axis=1).astype(np.uint16)
    counts = np.ones(codes.shape[1], dtype=np.int64)
    kernel = PopulationKernel(codes, counts, np.full(3, 4))
    genomes = rng.integers(0, 2, size=(40, 9)).astype(np.uint8)
    rule = GroupRule(KEEP_ALL, 0)
    first = kernel.evaluate(genomes, rule)  # loads compiled code, so it is not counted
    assert kernel.speeds[False].flat is None
    kernel.evaluate(genomes, rule)
    assert kernel.speeds[False].flat is not None
    assert kernel.speeds[False].rollup is None
    third = kernel.evaluate(genomes, rule)
    assert kernel.speeds[False].rollup is not None
    assert np.array_equal(first.fields, third.fields)


def small_kernel(threads: int = 1) -> PopulationKernel:
    codes = np.arange(6, dtype=np.uint16).reshape(1, 6)
    counts = np.arange(1, 7)
    return PopulationKernel(codes, counts, np.array([6]), threads=threads)


def test_a_genome_of_the_wrong_length_is_refused():
    with pytest.raises(ValueError, match=r"genomes must be \(n, 5\).*Got \(2, 3\)"):
        small_kernel().evaluate(np.ones((2, 3), np.uint8), GroupRule(KEEP_ALL, 0))


def test_an_empty_cell_is_refused():
    codes = np.arange(3, dtype=np.uint16).reshape(1, 3)
    with pytest.raises(ValueError, match="cells must hold rows"):
        PopulationKernel(codes, np.array([1, 0, 2]), np.array([3]))


def test_several_callers_of_one_kernel_get_the_right_numbers():
    kernel = small_kernel(2)
    genomes = np.random.default_rng(0).integers(0, 2, size=(300, 5)).astype(np.uint8)
    rule = GroupRule(WITHIN_LIMIT, 4)
    expected = kernel.evaluate(genomes, rule).fields
    with ThreadPoolExecutor(4) as pool:
        for scores in pool.map(lambda _: kernel.evaluate(genomes, rule), range(40)):
            assert np.array_equal(scores.fields, expected)


def test_an_error_in_one_thread_waits_for_the_others():
    kernel = small_kernel(2)
    done = []

    def work(thread: int) -> float:
        if thread == 0:
            raise KeyboardInterrupt
        time.sleep(0.2)
        done.append(True)
        return 0.0

    with pytest.raises(KeyboardInterrupt):
        kernel._share_out(work)
    assert done == [True]


@given(st.lists(st.integers(1, 9_000), min_size=1, max_size=12), st.floats(0, 0.99))
def test_large_groups_are_thresholded_exactly(sizes, share):
    # limits beyond 4,095 rows go through the classes of leading bits
    codes = np.arange(len(sizes), dtype=np.uint16).reshape(1, -1)
    factor = 3_000  # so that sizes span twelve bits and more
    counts = np.array(sizes) * factor
    kernel = PopulationKernel(codes, counts, np.array([len(sizes)]))
    limit = int(share * counts.sum())
    genome = np.ones((1, len(sizes) - 1), dtype=np.uint8)
    scores = kernel.evaluate(genome, GroupRule(WITHIN_LIMIT, limit))
    fits = [s for s in sorted(set(counts.tolist())) if counts[counts <= s].sum() <= limit]
    kept = counts[counts > max(fits, default=0)]
    assert scores.field("k")[0] == kept.min()
    assert scores.field("suppressed")[0] == counts.sum() - kept.sum()
    stepped = kernel.evaluate(genome, GroupRule(WITHIN_LIMIT, limit, with_steps=True))
    for name in FIELDS:  # the way with steps lists its groups, the other one only counts them
        assert scores.field(name)[0] == stepped.field(name)[0]


def test_the_workspace_does_not_grow_with_rows():
    codes = np.arange(6, dtype=np.uint16).reshape(1, 6)
    few = PopulationKernel(codes, np.full(6, 2), np.array([6]))
    many = PopulationKernel(codes, np.full(6, 10**6), np.array([6]))
    assert few.workspace_bytes == many.workspace_bytes


@pytest.mark.slow
@pytest.mark.parametrize("flag", ["NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK"])
def test_the_oracle_tests_hold_without_the_compiler_and_with_bounds_checks(flag):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/measures"],
        cwd=REPOSITORY,
        env={**os.environ, flag: "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:]
