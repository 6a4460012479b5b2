"""The same run with several seeds: their union, and how far they differ."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from moanon.errors import ConfigError
from moanon.experiment import Experiment, load_front, plan
from moanon.experiment.repeated import check_random, repeat, spread_of, unite, write_union
from moanon.front import Front
from moanon.front.asking import why_worse
from moanon.recoding import GlobalRecodings
from tests.search.people import found_front


def pairs(front: Front) -> set[tuple[float, float]]:
    return {
        (-int(k), loss) for k, loss in zip(*map(front.measures.get, ("k", "loss")), strict=True)
    }


def best_of_all(fronts: list[Front]) -> set[tuple[float, float]]:
    """What nobody beats, one by one."""
    every = set().union(*map(pairs, fronts))
    return {
        one
        for one in every
        if not any(other != one and other[0] <= one[0] and other[1] <= one[1] for other in every)
    }


def part_of(front: Front, rows: list[int]) -> Front:
    chosen = np.array(rows)
    return replace(
        front,
        recodings=front.recodings.take(chosen),
        measures={name: column[chosen] for name, column in front.measures.items()},
        labels=tuple(front.labels[row] for row in rows),
    )


def test_a_union_holds_what_nobody_beats_each_once(front: Front) -> None:
    parts = [part_of(front, [0, 2, 4]), part_of(front, [1, 2, 5])]
    union = unite([*parts, found_front(eta=0.0)])
    assert pairs(union) == best_of_all([*parts, found_front(eta=0.0)])
    assert len(union) == len(pairs(union))
    assert (np.diff(union.measures["k"]) >= 0).all()
    assert isinstance(union.recodings, GlobalRecodings)
    for number in union.ids.tolist():
        assert union.grouping(number).k == union.measures["k"][number - 1]


def test_seeds_have_folders_and_their_union_stands_above(config: Path) -> None:
    (only,) = plan(["people.yaml"], out="all")
    seeds = repeat(only, 2)
    assert [(one.search.seed, one.output.dir) for one in seeds] == [
        (only.search.seed, f"all/seed-{only.search.seed}"),
        (only.search.seed + 1, f"all/seed-{only.search.seed + 1}"),
    ]
    runs = {one.search.seed: Experiment.prepare(one).run().runs for one in seeds}
    (union,) = write_union(only, runs, force=False).values()
    assert pairs(load_front("all")) == pairs(union)
    record = json.loads(Path("all/run.json").read_text())
    assert record["seeds"] == sorted(runs)
    spread = spread_of(
        {seed: next(iter(found.values())).front for seed, found in runs.items()}, union
    )
    for best, middle, worst, together in spread.values():
        assert best is not None
        assert middle is not None
        assert together == best <= middle
        assert worst is None or middle <= worst


def test_several_limits_are_united_one_by_one(config: Path) -> None:
    (only,) = plan(["people.yaml"], etas=(0.0, 0.2), out="all")
    runs = {one.search.seed: Experiment.prepare(one).run().runs for one in repeat(only, 2)}
    unions = write_union(only, runs, force=False)
    assert {path.name for path in Path("all").iterdir()} >= {"eta-0.0", "eta-0.2", "comparison.csv"}
    for eta, union in unions.items():
        assert pairs(load_front(f"all/eta-{eta}")) == pairs(union)


@pytest.mark.parametrize("algorithm", ["exhaustive", "local"])
def test_what_draws_no_numbers_is_not_repeated(algorithm: str) -> None:
    with pytest.raises(ConfigError, match=f"the search {algorithm} draws no random numbers"):
        check_random(algorithm)


# -- why a wider limit may look worse --------------------------------------------------------------


def with_losses(front: Front, add: float) -> Front:
    return replace(front, measures={**front.measures, "loss": front.measures["loss"] + add})


def test_a_wider_limit_that_looks_worse_says_why(front: Front) -> None:
    fronts = {0.05: front, 0.1: with_losses(front, 0.01)}
    said = why_worse(fronts, {0.05: 100, 0.1: 25})
    assert said.startswith("η 0.1 shows a larger loss than η 0.05 at k 2, ")
    assert "it was searched with 25 evaluations instead of 100; what was found for η 0.05" in said
    assert "each limit is searched by itself" in why_worse(fronts, {})


@pytest.mark.parametrize("objectives", [("k", "gl"), ("d1", "d2", "gl")])
def test_where_suppressing_pays_that_is_the_reason(
    front: Front, objectives: tuple[str, ...]
) -> None:
    rewarded = replace(front, objectives=objectives)
    said = why_worse({0.05: rewarded, 0.1: with_losses(rewarded, 0.01)}, {0.05: 100, 0.1: 25})
    assert "the objective gl counts kept rows alone, so a search that may suppress more" in said
    assert "evaluations" not in said


def test_where_suppressed_rows_are_an_objective_suppressing_does_not_pay(front: Front) -> None:
    both = replace(front, objectives=("weighted_k", "gl", "sl"))
    said = why_worse({0.05: both, 0.1: with_losses(both, 0.01)}, {})
    assert "each limit is searched by itself" in said


def test_nothing_is_said_where_wider_is_better(front: Front) -> None:
    assert why_worse({0.05: with_losses(front, 0.01), 0.1: front}, {}) == ""
    assert why_worse({0.1: front}, {}) == ""
