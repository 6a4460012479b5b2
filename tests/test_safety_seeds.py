"""Problem 4 over several seeds: how pairs are read off fronts and set beside the published ones."""

from __future__ import annotations

from types import ModuleType

import pandas as pd
import pytest

from tests.checkout import load_experiment
from tests.output.drawn import made_front


@pytest.fixture(scope="module")
def seeds() -> ModuleType:
    return load_experiment("safety_seeds")


def pairs(*rows: tuple[int, float, int, int]) -> pd.DataFrame:
    """Pairs of runs that prefer l and count values: seed, loss, l, k."""
    table = pd.DataFrame(rows, columns=["seed", "loss", "l", "k"])
    return table.assign(reading="distinct", preferred="l")


def test_the_largest_k_for_each_l_within_a_loss(seeds: ModuleType) -> None:
    front = made_front(
        ("d1", "d2", "loss"), d1=[5, 20, 8, 99], d2=[3, 1, 2, 3], loss=[0.1, 0.2, 0.2, 0.3]
    )
    assert list(seeds.largest(front, 0.2)) == [(1, 20), (2, 8), (3, 5)]
    assert list(seeds.largest(front, 0.05)) == []


def test_every_published_pair_has_what_each_seed_reaches(seeds: ModuleType) -> None:
    # Within 21 %: l >= 5 with k 20 and 16; within 30 %: l up to 7 with k 58, up to 9 with k 3.
    table = seeds.beside_published(
        pairs((1, 0.21, 5, 20), (2, 0.21, 5, 16), (1, 0.3, 7, 58), (2, 0.3, 7, 12), (2, 0.3, 9, 3))
    ).set_index(["what", "loss"])[["published", "seed 1", "seed 2"]]
    assert table.loc[("k with l >= 5", 0.21)].tolist() == [20, 20, 16]
    assert table.loc[("k with l >= 7", 0.3)].tolist() == [15, 58, 12]
    assert table.loc[("k with l >= 6", 0.21)].tolist() == [18, 0, 0]  # none
    assert table.loc[("largest l", 0.3)].tolist() == [7, 7, 9]
    assert table.loc[("largest l with k >= 15", 0.3)].tolist() == [7, 7, 0]


def test_runs_that_are_made_again_replace_their_own_rows(seeds: ModuleType) -> None:
    earlier, new = pairs((1, 0.2, 1, 5), (2, 0.2, 1, 6)), pairs((2, 0.2, 1, 7))
    assert seeds.together(earlier, new)["k"].tolist() == [5, 7]


@pytest.mark.slow
def test_a_short_run_writes_everything(seeds: ModuleType, tmp_path: object) -> None:
    seeds.main(["--quick", "--seed", "1", "--out", str(tmp_path)])
    table = pd.read_csv(f"{tmp_path}/published.csv")
    assert len(table) == 2 * 2 * 8  # readings, preferences, what is compared
