"""The command ``moanon``: parse, call, print. Nothing else in the package prints or exits.

Each command is a small function that calls the library and shows the answer on stdout; it joins
the application by being imported here. Errors go to stderr as one sentence. Whatever is slow to
import is imported inside the command that needs it, so that ``moanon --help`` answers at once.

- ``application``: the application and its exit codes;
- ``options``: arguments and options that commands share, and how their values are read;
- ``printing``: how numbers, names and tables look;
- one file for each group of commands.
"""

from moanon.cli import (  # noqa: F401 (they join the application)
    ask_command,
    compare_command,
    configure_command,
    diagnose_command,
    export_command,
    measure_command,
    pictures,
    run_command,
)
from moanon.cli.application import app, main

__all__ = ["app", "main"]
