"""Killing commands at random moments: runs go on, and nothing that points to a person is left."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
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
        if name.name in ("front.csv", "solutions.json", "comparison.csv")
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


# -- what killed commands leave -----------------------------------------------------------------

#: What the identifying column holds, and nothing else does.
MARKER = "Zqx8Person"
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP)
COMMANDS = ("export", "apply", "run")
#: Latin-1, so that rows that stay in their file are written again for DuckDB.
_CONFIG = """\
data: {{source: people.csv, encoding: latin-1{memory}}}
columns:
  name: {{role: identifying}}
  age: {{role: quasi, kind: interval, granularity: 1, range: [0, 99]}}
  zip: {{role: quasi, kind: interval, granularity: 1, range: [0, 999]}}
  ill: {{role: sensitive}}
problem: {{preset: k-suppression, eta: 0.1}}
search: {{population: 20, generations: 10}}
output: {{plots: false, report: false}}
"""
_MEMORY = {"in memory": "", "out of core": ", memory: 500MB"}


def kill_commands(
    kills: int,
    folder: Path,
    *,
    commands: Sequence[str] = COMMANDS,
    places: Sequence[str] = tuple(_MEMORY),
    rows: int = 20_000,
    seed: int = 5,
) -> tuple[Counter[str], list[str]]:
    """Kill commands by each signal, and look at what they leave.

    Parameters
    ----------
    kills : int
        How often to kill; each command by each signal in turn.
    folder : Path
        An empty one.
    commands, places
        Which commands, and where the rows are.
    rows : int
        Of the table.
    seed : int
        Of the moments.

    Returns
    -------
    How often commands left something that the next one had to clear, and how often not, by signal;
    and what should not have been.
    """
    for name in ("tmp", "out"):
        (folder / name).mkdir()
    _write_people(folder / "people.csv", rows)
    for memory in places:
        config = _CONFIG.format(memory=_MEMORY[memory])
        (folder / f"{memory}.yaml").write_text(config, encoding="utf-8")
        _call(folder, "run", memory, "results").communicate(timeout=600)
    moments, seen, wrong = random.Random(seed), Counter[str](), list[str]()
    ways = list(product(places, commands, SIGNALS))
    usual: dict[tuple[str, str], float] = {}
    for number in range(kills):
        memory, command, end = ways[number % len(ways)]
        if (memory, command) not in usual:
            usual[memory, command] = _time(folder, command, memory)
        process = _call(folder, command, memory, "out", "--quiet" if command == "run" else "")
        code = _ended_by(process, end, moments.uniform(0.2, 1.0) * usual[memory, command])
        what = f"kill {number}, {end.name} of {command} {memory}"
        left = list(_left(folder))
        wrong += [f"{what}: {path} holds {MARKER}" for path in _marked(folder)]
        if code not in (0, -end, 128 + end):
            wrong.append(f"{what}: exit code {code}")
        if left and code != -end:  # it had the time to clear up
            wrong.append(f"{what}: exit code {code}, and left {left}")
        seen[f"{end.name} ended by {code}, {'something' if left else 'nothing'} left"] += 1
        _call(folder, command, memory, "out").communicate(timeout=600)
        wrong += [f"{what}: {path} is still there" for path in _left(folder)]
    return seen, wrong


def _write_people(path: Path, rows: int) -> None:
    draw = random.Random(1)
    lines = ["name,age,zip,ill"]
    for i in range(rows):
        ill = f"kränk{draw.randrange(9)}"
        lines.append(f"{MARKER}{i},{draw.randrange(100)},{draw.randrange(1000)},{ill}")
    path.write_text("\n".join(lines) + "\n", encoding="latin-1")


def _call(
    folder: Path, command: str, memory: str, place: str, *options: str
) -> subprocess.Popen[bytes]:
    results, out = f"results/{memory}", f"{place}/{memory}"
    words = {
        "run": ["run", f"{memory}.yaml", "--out", out, "--force"],
        "export": ["export", results, "1", "--out", f"{out}.csv", "--force"],
        "apply": ["apply", results, "1", "people.csv", "--out", f"{out}.csv", "--force"],
    }[command]
    given = [option for option in options if option]
    return subprocess.Popen(
        [sys.executable, "-m", "moanon", *words, *given],
        cwd=folder,
        env=environment(TMPDIR=str(folder / "tmp")),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=_listen,
    )


def _listen() -> None:
    """Have signals end a process, also if the one that starts it ignores them."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def _time(folder: Path, command: str, memory: str) -> float:
    began = time.monotonic()
    process = _call(folder, command, memory, "out")
    process.communicate(timeout=600)
    assert process.returncode == 0
    return time.monotonic() - began


def _ended_by(process: subprocess.Popen[bytes], end: signal.Signals, moment: float) -> int:
    try:
        process.wait(moment)
    except subprocess.TimeoutExpired:
        process.send_signal(end)
    return process.wait(600)


def _left(folder: Path) -> Iterator[Path]:
    """Whatever is in the temporary folder, and half a file elsewhere."""
    yield from (folder / "tmp").iterdir()
    for name in ("out", "results"):
        yield from (folder / name).rglob(".moanon-*")


def _marked(folder: Path) -> Iterator[Path]:
    """Files that hold what points to a person."""
    for name in ("tmp", "out", "results"):
        for path in (folder / name).rglob("*"):
            if path.is_file() and MARKER.encode() in path.read_bytes():
                yield path
