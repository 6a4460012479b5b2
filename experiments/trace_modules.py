"""Count the modules of the package that a reader enters who follows a command.

Runs ``moanon run configs/quickstart.yaml`` and ``moanon export`` of one of its solutions in this
process and writes down every function of the package when it is first entered. A module counts
once a function of it is entered by the command itself. What runs only because a module is imported
does not count: the module's own code, class bodies, and functions that these call. Compiled
functions are not seen, only the Python functions that call them.

*Changes of room* follow the functions in the order they are first entered and count how often the
next one stands in another package than the one before.

The files of the results folder that each command opens are counted, too.

    python experiments/trace_modules.py             the counts
    python experiments/trace_modules.py --list      also every module, with its functions
"""

from __future__ import annotations

import argparse
import inspect
import os
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import Any

import moanon
from moanon.cli import main as moanon_command

PACKAGE = Path(moanon.__file__).parent
CONFIG = Path(__file__).parents[1] / "configs" / "quickstart.yaml"


@dataclass
class Trace:
    """What a command enters.

    Attributes
    ----------
    entered : dict of str to list of str
        Functions by module, in the order they are first entered.
    changes : int
        Changes of room.
    opened : Counter of str
        How often each file of the results folder is opened for reading.
    """

    entered: dict[str, list[str]] = field(default_factory=dict)
    changes: int = 0
    opened: Counter[str] = field(default_factory=Counter)
    _room: str = ""
    _seen: set[CodeType] = field(default_factory=set)

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """Look at a call; as `sys.setprofile` wants it."""
        code = frame.f_code
        if event != "call" or code in self._seen:
            return
        module = _module_of(code)
        if module is None:
            self._seen.add(code)
        elif code.co_flags & inspect.CO_OPTIMIZED and not _is_importing(frame):
            self._seen.add(code)
            self.entered.setdefault(module, []).append(code.co_name)
            room = module.rpartition(".")[0] or module
            self.changes += room != self._room
            self._room = room


def _module_of(code: CodeType) -> str | None:
    """Name the module of the package that some code stands in; None for other code."""
    path = Path(code.co_filename)
    if PACKAGE not in path.parents:
        return None
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__") or "moanon"


def _is_importing(frame: FrameType) -> bool:
    """Whether some code of the package runs because a module is being imported."""
    above: FrameType | None = frame
    while above is not None:
        if above.f_code.co_name == "<module>" and _module_of(above.f_code) is not None:
            return True
        above = above.f_back
    return False


def trace(command: Sequence[str], folder: Path) -> Trace:
    """Follow a command, and count what it opens in a results folder."""
    found = Trace()

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and found.opened is not None and isinstance(arguments[0], str):
            path, mode = Path(arguments[0]), arguments[1]
            if mode in (None, "r", "rb") and folder in path.parents and not path.is_dir():
                found.opened[path.relative_to(folder).as_posix()] += 1

    sys.addaudithook(watch)
    threading.setprofile(found)
    sys.setprofile(found)
    try:
        with redirect_stdout(StringIO()):
            moanon_command(list(command))
    except SystemExit as error:
        if error.code not in (None, 0):
            raise
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return found


def show(name: str, found: Trace, *, everything: bool) -> None:
    """Print the counts of a command."""
    functions = sum(map(len, found.entered.values()))
    print(
        f"{name}: {len(found.entered)} modules, {functions} functions, "
        f"{found.changes} changes of room"
    )
    read = ", ".join(f"{path} {times}" for path, times in sorted(found.opened.items()))
    print(f"  files of the results folder that are read: {read or 'none'}")
    if everything:
        for module, names in sorted(found.entered.items()):
            print(f"  {module:<34}{len(names):>3}  {', '.join(names)}")


def main() -> None:
    """Trace both commands."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--list", action="store_true", help="also list modules and functions")
    parser.add_argument("--solution", default="5", help="which solution is exported")
    given = parser.parse_args()
    with TemporaryDirectory() as place:
        folder, released = Path(place, "results"), Path(place, "release.csv")
        for command in (
            ["run", str(CONFIG), "--out", str(folder), "--quiet"],
            ["export", str(folder), given.solution, "--out", str(released)],
        ):
            show(command[0], trace(command, folder), everything=given.list)


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    main()
