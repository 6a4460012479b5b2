"""The command ``moanon``: parse, call, print. Nothing else in the package prints or exits.

Each command is a small function that calls the library and shows the answer on stdout; its module
is named in ``application`` and imported when it is called. Errors go to stderr as one sentence.
Whatever is slow to import is imported inside the command that needs it.

- ``application``: the application, its commands and exit codes, how options are declared, and the
  one printer, which lays out what the library answers (`moanon.wording`);
- ``options``: options that commands share, and how their values are read;
- one file for each group of commands.
"""

from moanon.cli.application import app, load_commands, main

__all__ = ["app", "load_commands", "main"]
