"""What compiling the kernels costs the first run after installing, function by function.

    python experiments/compile_times.py
    python experiments/compile_times.py configs/adult/problem3.yaml --top 40

runs each configuration in a process of its own, one after the other, with a compile cache that is
empty before the first one. For each it shows the CPU seconds spent compiling beside those of the
whole run, and how they are shared out among functions: how often each was compiled (once for every
combination of types) and the seconds without those of the functions that it calls. Seconds of a
kernel contain the machine code of all its parts.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

#: The first run in the manual, and what often comes next.
CONFIGS = ("configs/quickstart.yaml", "configs/adult/local.yaml")


def compile_and_run(config: str, top: int) -> None:
    """Run a configuration and show what was compiled for it."""
    from numba.core import event

    from moanon.cli import main

    seconds: defaultdict[str, float] = defaultdict(float)
    times: defaultdict[str, int] = defaultdict(int)
    begun: list[float] = []  # of what is being compiled, moved on by what was compiled meanwhile

    class Listener(event.Listener):  # type: ignore[misc]
        def on_start(self, event: Any) -> None:
            begun.append(time.thread_time())

        def on_end(self, event: Any) -> None:
            now = time.thread_time()
            spent = now - begun.pop()
            begun[:] = [start + spent for start in begun]
            function = event.data["dispatcher"].py_func
            name = f"{function.__module__}.{function.__qualname__}"
            seconds[name] += spent
            times[name] += 1

    event.register("numba:compile", Listener())
    started = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        code = main(["run", config, "--out", str(Path(folder) / "results"), "--quiet"])
    if code:
        raise SystemExit(code)
    print(
        f"{config}: {sum(seconds.values()):.1f} CPU s of {time.process_time() - started:.1f} "
        f"compiling, {sum(times.values())} times"
    )
    for name in sorted(seconds, key=lambda name: -seconds[name])[:top]:
        print(f"{seconds[name]:8.2f} {times[name]:4d}  {name}")


def main() -> None:
    """Run every configuration in a new process; all share one cache."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("configs", nargs="*", default=list(CONFIGS))
    parser.add_argument("--top", type=int, default=20, help="functions to show")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        compile_and_run(options.configs[0], options.top)
        return
    with tempfile.TemporaryDirectory() as cache:
        for config in options.configs:
            command = [sys.executable, __file__, config, "--alone", "--top", str(options.top)]
            subprocess.run(command, check=True, env={**os.environ, "NUMBA_CACHE_DIR": cache})


if __name__ == "__main__":
    main()
