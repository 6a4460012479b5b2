"""The command ``moanon``: parse, call, print. Nothing else in the package prints or exits.

Each command is a small function that calls the library and shows the answer on stdout; it joins
the application by being imported here. Errors go to stderr as one sentence. Whatever is slow to
import is imported inside the command that needs it, so that ``moanon --help`` answers at once.

- ``application``: the application, its exit codes, what commands share;
- ``showing``: how numbers, names and tables look;
- one file for each group of commands.
"""

from moanon.cli import (
    ask,
    compare,
    configure,
    diagnose,
    export,
    measure,
    plot,
    report,
    run,
)
from moanon.cli.application import app, main

__all__ = [
    "app",
    "ask",
    "compare",
    "configure",
    "diagnose",
    "export",
    "main",
    "measure",
    "plot",
    "report",
    "run",
]
