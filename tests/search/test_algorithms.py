"""The register of algorithms: which search is made, with which settings, for how long."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from moanon.config import Config, SearchSection, config_schema
from moanon.errors import SearchError
from moanon.search.algorithms import (
    ALGORITHMS,
    AUTO_EXHAUSTIVE,
    DEFAULT_EVALUATIONS,
    MOST_EVALUATIONS,
    PER_BIT,
    STALL_FROM,
    STALLED,
    Stop,
    choose_algorithm,
    default_limit,
    foreign_settings,
    make_search,
)
from moanon.search.archive_search import ArchiveSearch, ExhaustiveSearch
from moanon.search.pymoo_search import PymooSearch
from tests.checkout import REPOSITORY
from tests.search.people import problem_of, settings_of


def search_schema() -> dict[str, Any]:
    found: dict[str, Any] = config_schema()["$defs"]["SearchSection"]["properties"]
    return found


# -- the register --------------------------------------------------------------------------------


def test_the_configuration_knows_every_algorithm():
    algorithm = search_schema()["algorithm"]
    assert algorithm["enum"] == ["auto", *ALGORITHMS]
    for name, each in ALGORITHMS.items():
        assert f"{name}: {each.about}" in algorithm["description"]


def test_every_setting_of_an_algorithm_is_a_key_of_the_configuration():
    for each in ALGORITHMS.values():
        assert set(each.settings) <= set(SearchSection.model_fields)


def test_the_register_loads_nothing_slow():
    code = (
        "import sys, moanon.search.algorithms; "
        "print([name for name in ('numba', 'numpy', 'pandas', 'pymoo') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=REPOSITORY, check=True
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("command", [["--help"], ["ask", "{results}", "--min-k", "2"]])
def test_neither_help_nor_a_question_waits_for_pymoo(command: list[str], finished: Path):
    words = [word.format(results=finished / "people") for word in command]
    code = f"import sys; from moanon.cli import main; main({words}); print('pymoo' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=REPOSITORY, check=True
    )
    assert done.stdout.endswith("False\n")


def test_settings_of_other_algorithms_are_foreign():
    assert foreign_settings("nsga3") == {}
    assert foreign_settings("nsga2") == {"partitions": "nsga3"}
    for name in ("archive", "exhaustive"):
        own = ("crossover", "mutation", "moves", "tree_crossover", "front_of")
        expected = {**dict.fromkeys(own, "nsga2"), "partitions": "nsga3"}
        assert foreign_settings(name) == expected


def test_changed_settings_that_nobody_uses_are_known():
    settings = SearchSection(mutation=0.3, seed=9, population=30)
    assert settings.unused("archive") == ("mutation",)
    assert settings.unused("nsga2") == ()


# -- which search --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("space", "keys", "algorithm"),
    [
        (50_000, {}, "exhaustive"),
        (50_001, {}, "archive"),
        (5_000, {"generations": None, "evaluations": 5_000}, "exhaustive"),
        (5_000, {"generations": None, "evaluations": 4_999}, "archive"),
        (5_000, {"generations": 25}, "exhaustive"),
        (5_000, {"generations": 24}, "archive"),
        (10**30, {"algorithm": "exhaustive"}, "exhaustive"),
        (2, {"algorithm": "nsga2"}, "nsga2"),
    ],
)
def test_auto_enumerates_what_fits_into_its_budget(
    space: int, keys: dict[str, Any], algorithm: str
):
    settings = settings_of(**{"population": 200, "generations": 250} | keys)
    assert choose_algorithm(space, settings, cells=10_000) == algorithm


@pytest.mark.parametrize(
    ("cells", "most"), [(1, 300_000), (10_000, 300_000), (30_000, 100_000), (10**7, 20_000)]
)
def test_auto_enumerates_less_on_tables_of_many_cells(cells: int, most: int):
    assert choose_algorithm(most, SearchSection(), cells=cells) == "exhaustive"
    assert choose_algorithm(most + 1, SearchSection(), cells=cells) == "archive"


@pytest.mark.parametrize(
    ("algorithm", "kind"),
    [
        ("archive", ArchiveSearch),
        ("exhaustive", ExhaustiveSearch),
        ("nsga2", PymooSearch),
        ("moead", PymooSearch),
    ],
)
def test_a_search_is_made_by_name(algorithm: str, kind: type):
    search = make_search(problem_of("k-suppression"), settings_of(algorithm=algorithm))
    assert type(search) is kind
    assert (search.generation, search.evaluations) == (0, 0)


@pytest.mark.parametrize(
    ("keys", "islands"),
    [
        ({"evaluations": 100_000}, 4),
        ({"evaluations": 99_999}, 0),
        ({"generations": 500, "population": 200}, 4),
        ({"generations": 500, "population": 200, "seconds": 99}, 0),  # 1,000 a second at least
        ({}, 0),  # 12 bits: no more than 50,000 evaluations
    ],
)
def test_a_search_with_a_large_budget_has_islands(keys: dict[str, Any], islands: int):
    settings = SearchSection(algorithm="archive", **keys)
    search = make_search(problem_of("k-suppression"), settings)
    assert int(search.state()["islands"]) == islands


def test_an_unknown_algorithm_is_refused():
    settings = settings_of().model_copy(update={"algorithm": "luck"})
    with pytest.raises(SearchError, match=r"must be one of auto, archive, .*nsga2.*\. Got luck"):
        make_search(problem_of("k-suppression"), settings)


def test_the_archive_has_room_for_the_cap():
    search = make_search(problem_of("k-suppression"), settings_of(algorithm="archive", cap=9_000))
    assert search.archive.room == 9_000


# -- how long ------------------------------------------------------------------------------------


@pytest.mark.parametrize("population", [20, 200, 500])
def test_without_limits_the_search_of_the_paper_has_its_budget_whatever_its_population(
    population: int,
):
    settings = SearchSection(algorithm="nsga2", population=population)
    problem = problem_of("k-suppression")
    assert PymooSearch.stop_rule(settings, problem) == Stop(evaluations=DEFAULT_EVALUATIONS)


def test_without_limits_the_default_search_goes_on_until_it_has_stalled():
    stop = ArchiveSearch.stop_rule(SearchSection(), problem_of("k-suppression"))
    assert stop == Stop(evaluations=DEFAULT_EVALUATIONS, stalled=STALL_FROM)


def test_the_limit_of_the_default_search_grows_with_the_bits():
    # 2,000 a bit, from 50,000 to 500,000
    assert [default_limit(bits) for bits in (1, 25, 26, 120, 250, 9_999)] == [
        *(50_000, 50_000, 52_000, 240_000, 500_000, 500_000)
    ]


def test_where_there_is_no_hypervolume_the_default_search_has_the_budget_of_the_paper():
    problem = problem_of("any-suppression")
    problem.measures = [*problem.measures, *problem.measures]  # more than hypervolumes are taken of
    stop = ArchiveSearch.stop_rule(SearchSection(), problem)
    assert stop == Stop(evaluations=DEFAULT_EVALUATIONS)


def test_an_enumeration_without_limits_goes_on_to_its_end():
    problem = problem_of("k-suppression")
    assert ExhaustiveSearch.stop_rule(SearchSection(algorithm="exhaustive"), problem) == Stop()


@pytest.mark.parametrize(
    "limit", [{"generations": 3}, {"evaluations": 70}, {"seconds": 2.5}, {"stall": 4}]
)
def test_any_limit_replaces_the_default(limit: dict[str, Any]):
    problem = problem_of("k-suppression")
    assert ArchiveSearch.stop_rule(SearchSection(**limit), problem) == Stop(**limit)


def test_the_default_budget_is_the_same_wherever_it_is_stated():
    guide = (REPOSITORY / "moanon" / "guide" / "problems.md").read_text(encoding="utf-8")
    said = search_schema()["evaluations"]["description"]
    for number in (STALL_FROM, PER_BIT, DEFAULT_EVALUATIONS, MOST_EVALUATIONS):
        assert f"{number:,}" in guide
        assert f"{number:,}" in said
    assert f"{STALLED:.2%}" in guide
    assert f"at most {AUTO_EXHAUSTIVE:,}" in guide
    config = Config.from_dict(
        {"data": {"source": "adult"}, "columns": {"age": {"role": "quasi", "kind": "interval"}}}
    )
    assert config.search == SearchSection()
    assert "evaluations" not in config.to_yaml()  # what the default is, is said by the version


def test_a_small_population_leaves_a_small_space_enumerated():
    assert choose_algorithm(20_000, SearchSection(population=20), cells=9) == "exhaustive"


def test_an_enumeration_does_not_stall():
    problem = problem_of("k-suppression")
    assert ArchiveSearch.stop_rule(settings_of(stall=3), problem).stall == 3
    assert ExhaustiveSearch.stop_rule(settings_of(stall=3), problem).stall is None
