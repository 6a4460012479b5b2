"""A run that is killed twenty times ends with the same bytes as one that is not."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.checkout import REPOSITORY, environment

#: Configuration, settings for a few seconds of work beside some two for starting up, and kills.
_BARE = ["output.plots=false", "output.report=false"]
RUNS = [
    ("configs/quickstart.yaml", ["search.generations=150", *_BARE], 20),
    ("configs/adult/problem1.yaml", ["search.generations=100", *_BARE], 4),
    ("configs/quickstart.yaml", ["search.generations=60", "problem.eta=[0.02,0.1]", *_BARE], 3),
]


def start(config: str, sets: list[str], out: Path, *options: str) -> subprocess.Popen[bytes]:
    overrides = [part for setting in sets for part in ("--set", setting)]
    return subprocess.Popen(
        [sys.executable, "-m", "moanon", "run", config, *overrides, "--out", str(out), *options],
        cwd=REPOSITORY,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def ended(process: subprocess.Popen[bytes]) -> int:
    _, error = process.communicate(timeout=600)
    assert process.returncode in (0, -9), error.decode()
    return process.returncode


def same(one: Path, other: Path) -> bool:
    """Whether two folders hold the same results, and nothing else."""
    names = [
        sorted(path.relative_to(folder) for path in folder.rglob("*")) for folder in (one, other)
    ]
    return names[0] == names[1] and all(
        (one / name).read_bytes() == (other / name).read_bytes()
        for name in names[0]
        if name.name in ("front.csv", "solutions.json", "comparison.csv", ".evaluated.npz")
    )


@pytest.mark.slow
@pytest.mark.parametrize(("config", "sets", "kills"), RUNS, ids=lambda value: str(value))
def test_kills_leave_no_trace(config: str, sets: list[str], kills: int, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    began = time.monotonic()
    assert ended(start(config, sets, whole, "--quiet")) == 0
    usual = time.monotonic() - began
    moments, runs = random.Random(4), 1
    while kills:
        killed = tmp_path / f"killed-{runs}"
        process = start(config, sets, killed, "--resume", "--quiet")
        try:
            # Anywhere in the life of the process: reading, searching, saving, writing.
            process.wait(moments.uniform(0.3, 1.0) * usual)
        except subprocess.TimeoutExpired:
            process.kill()
        if ended(process) == 0:  # it came to its end: the next kill is of another run
            assert same(whole, killed)
            runs += 1
        else:
            kills -= 1
    last = tmp_path / f"killed-{runs}"
    assert ended(start(config, sets, last, "--resume", "--quiet")) == 0
    assert same(whole, last)
