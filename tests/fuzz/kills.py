"""Killing runs at random moments, and going on with them."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

from tests.checkout import REPOSITORY, environment


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


def kill_runs(config: str, sets: list[str], kills: int, folder: Path, seed: int = 4) -> int:
    """Kill runs at random moments and resume them until they end; how many ended otherwise.

    Parameters
    ----------
    config, sets
        What is run.
    kills : int
        How often to kill.
    folder : Path
        An empty one.
    seed : int
        Of the moments.
    """
    whole = folder / "whole"
    began = time.monotonic()
    assert ended(start(config, sets, whole, "--quiet")) == 0
    usual = time.monotonic() - began
    moments, runs, different = random.Random(seed), 1, 0
    while kills:
        killed = folder / f"killed-{runs}"
        process = start(config, sets, killed, "--resume", "--quiet")
        try:
            # Anywhere in the life of the process: reading, searching, saving, writing.
            process.wait(moments.uniform(0.3, 1.0) * usual)
        except subprocess.TimeoutExpired:
            process.kill()
        if ended(process) == 0:  # it came to its end: the next kill is of another run
            different += not same(whole, killed)
            runs += 1
        else:
            kills -= 1
    last = folder / f"killed-{runs}"
    assert ended(start(config, sets, last, "--resume", "--quiet")) == 0
    return different + (not same(whole, last))
