from __future__ import annotations

import pytest

from moanon.baselines import BASELINES, find_baseline
from moanon.errors import ConfigError
from tests.baselines.worked_example import customers


@pytest.mark.parametrize("name", BASELINES)
def test_every_baseline_gives_a_release_of_at_least_k(name: str) -> None:
    instance = customers()
    assert find_baseline(name).run(instance, 2).grouping(instance).k >= 2


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_takes_what_it_says(name: str) -> None:
    usual = {"eta": 0.0, "demands": (), "recursive_c": 2.0, "ties": ()}
    baseline = find_baseline(name)
    baseline.run(customers(), 2, **{setting: usual[setting] for setting in baseline.takes})
    for setting in set(usual) - set(baseline.takes):
        with pytest.raises(TypeError, match=setting):
            baseline.run(customers(), 2, **{setting: usual[setting]})


def test_an_unknown_name_is_refused_with_the_one_meant() -> None:
    with pytest.raises(ConfigError, match="there is no baseline called 'mondrain'; did you mean"):
        find_baseline("mondrain")
