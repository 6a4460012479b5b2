"""Runs that are killed end with the same bytes as others; no command leaves names behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.kills import kill_commands, kill_runs

#: Configuration, settings for a few seconds of work beside some two for starting up, and kills.
_BARE = ["output.plots=false", "output.report=false"]
RUNS = [
    ("configs/quickstart.yaml", ["search.generations=150", *_BARE], 20),
    ("configs/adult/problem1.yaml", ["search.generations=100", *_BARE], 4),
    ("configs/quickstart.yaml", ["search.generations=60", "problem.eta=[0.02,0.1]", *_BARE], 3),
]


@pytest.mark.slow
@pytest.mark.parametrize(("config", "sets", "kills"), RUNS, ids=lambda value: str(value))
def test_kills_leave_no_trace(config: str, sets: list[str], kills: int, tmp_path: Path) -> None:
    assert kill_runs(config, sets, kills, tmp_path) == 0


@pytest.mark.slow
def test_killed_commands_leave_nothing_that_points_to_a_person(tmp_path: Path) -> None:
    seen, wrong = kill_commands(3, tmp_path, commands=["export"], places=["out of core"], rows=3000)
    assert not wrong
    assert seen.total() == 3


@pytest.mark.slow
def test_no_command_leaves_anything_that_points_to_a_person(tmp_path: Path) -> None:
    _, wrong = kill_commands(18, tmp_path)
    assert not wrong
