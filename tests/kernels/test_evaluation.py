"""Groups of any origin are measured as those of a genome, and the kept ones are told."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from moanon.grouping import Grouping
from moanon.kernels.costs import COSTS
from moanon.kernels.histograms import make_lists
from moanon.kernels.population import PopulationKernel, evaluate_groups
from moanon.kernels.selection import FIELDS, GroupRule
from moanon.kernels.thresholds import GIVEN
from moanon.measures import MEASURES
from moanon.measures.evaluate import _evaluate, group_rule, suppress_groups
from moanon.measures.suppression import Suppression
from tests.strategies import few, instances, populations, rich_instances

ETAS = st.sampled_from([0.0, 0.2, 0.5])


@few
@given(st.data())
def test_groups_by_sizes_alone(data):
    instance = data.draw(instances())
    genomes = data.draw(populations(instance, most=4))
    kind = data.draw(st.sampled_from(["none", "limit", "weighted-k"]))
    bounds = data.draw(st.sampled_from([(), (("k", 2),)]))
    suppression = Suppression(kind, data.draw(ETAS), constraints=bounds)
    rule = group_rule(suppression, instance.cells.rows, [MEASURES["utility_rank"]])
    plain = rule._replace(wanted_tallies=rule.wanted_tallies[:0])
    kernel = instance.kernel
    full_loss = kernel.losses.scale * len(instance.layout.columns)
    for each in (rule, plain):
        scores = kernel.evaluate(genomes, each)
        for genome, fields in zip(genomes, scores.fields, strict=True):
            groups = Grouping.of_genome(instance, genome)
            sizes, losses = groups.sizes, groups.integer_losses
            kept, results = evaluate_groups(
                each,
                sizes.astype(np.uint32),
                losses,
                np.zeros((len(COSTS), len(sizes)), dtype=np.int64),
                make_lists(kernel.plan, len(sizes), 0),
                kernel.plan,
                full_loss,
            )
            assert results.fields.tolist() == fields.tolist()
            assert kept.sum() == fields[FIELDS.index("kept_groups")]
            assert sizes[kept].min(initial=2**31) >= fields[FIELDS.index("d1")]
            assert sizes[kept].sum() + fields[FIELDS.index("suppressed")] == sizes.sum()


@given(st.data())
def test_groups_by_their_models(data):
    instance = data.draw(rich_instances())
    genomes = data.draw(populations(instance, most=4))
    kind, by = data.draw(
        st.sampled_from([("none", "k"), ("limit", "k"), ("limit", "t_js"), ("kl-safety", "k")])
    )
    bounds = data.draw(st.sampled_from([(), (("t_closeness", 0.4), ("l_entropy", 1.5))]))
    suppression = Suppression(kind, data.draw(ETAS), by=by, constraints=bounds)
    measures = [MEASURES["l_entropy"], MEASURES["t_closeness"]]
    rule = group_rule(suppression, instance.cells.rows, measures)
    scores = instance.kernel.evaluate(genomes, rule)
    for genome, fields, goodness in zip(genomes, scores.fields, scores.goodness, strict=True):
        groups = Grouping.of_genome(instance, genome)
        kept, results = _evaluate(groups, instance, rule, (1, 0))
        assert results.fields.tolist() == fields.tolist()
        assert results.goodness.tolist() == goodness.tolist()
        rows = instance.cells.rows - fields[FIELDS.index("suppressed")]
        assert groups.sizes[kept].sum() == rows


@given(st.data())
def test_kept_sizes_of_many_solutions_are_those_of_each(data):
    instance = data.draw(st.one_of(instances(), rich_instances()))
    genomes = data.draw(populations(instance, most=12))
    kind = data.draw(
        st.sampled_from(["none", "limit", "weighted-k"])
        if not instance.cells.sensitive
        else st.sampled_from(["none", "limit", "weighted-k", "kl-safety"])
    )
    bounds = data.draw(st.sampled_from([(), (("k", 2),)]))
    suppression = Suppression(kind, data.draw(ETAS), constraints=bounds)
    rule = group_rule(suppression, instance.cells.rows, steps=True)
    kernel = instance.kernel
    found = kernel.evaluate(genomes, rule)
    thresholds = np.stack([found.field("d1"), found.field("d2")], axis=1)
    starts, sizes = kernel.kept_sizes(genomes, rule)
    assert starts[0] == 0
    assert np.diff(starts).tolist() == found.field("kept_groups").tolist()
    for i, genome in enumerate(genomes):
        groups = Grouping.of_genome(instance, genome)
        kept = suppress_groups(groups, suppression, thresholds[i]).kept
        own = sizes[starts[i] : starts[i + 1]]
        assert sorted(own.tolist()) == sorted(groups.sizes[kept].tolist())


def test_kept_sizes_by_given_thresholds():
    # cells of 1 .. 6 rows; all apart, or in pairs of neighbours: 1+2, 3+4, 5+6
    codes = np.arange(6, dtype=np.uint16).reshape(1, 6)
    kernel = PopulationKernel(codes, np.arange(1, 7), np.array([6]))
    genomes = np.array([[1, 1, 1, 1, 1], [0, 1, 0, 1, 0], [1, 1, 1, 1, 1]], dtype=np.uint8)
    given = np.array([[4, 0], [7, 0], [9, 0]])
    starts, sizes = kernel.kept_sizes(genomes, GroupRule(GIVEN, 0), given)
    assert starts.tolist() == [0, 3, 5, 5]
    assert sizes.tolist() == [4, 5, 6, 7, 11]
