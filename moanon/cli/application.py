"""The command line itself: exit codes, refusals, how options are declared, the one printer.

Exit codes: 0 done, 1 the answer is no, 2 bad input, 70 a defect of moanon (as in sysexits.h), 129,
130 and 143 interrupted (by SIGHUP, Ctrl-C, SIGTERM).

The traceback of a defect goes to a file that only the user can read; with ``MOANON_DEBUG=1`` it
goes to stderr instead. The sentence about it says nothing of the exception, whose text may quote
the table.

Options that belong together are a dataclass, a field each; a command that is `grouped` takes the
dataclass as one parameter. `show` lays out what the library answers (`moanon.wording`).
"""

from __future__ import annotations

import errno
import os
import re
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, wraps
from importlib import import_module
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO, get_type_hints

import typer
from typer.core import TyperGroup

from moanon import __version__
from moanon.atomic import clear_abandoned
from moanon.errors import ImpossibleError, InfeasibleError, MoanonError
from moanon.progress import Ending, on_notice
from moanon.wording import Grid, Part, Worded

if TYPE_CHECKING:
    from rich.console import Console

DONE, NO = 0, 1
_BAD_INPUT, _DEFECT, _INTERRUPTED, _PIPE_CLOSED = 2, 70, 130, 141
#: How the system and libraries say that there is no memory left: for data, for code, for threads.
_NO_MEMORY = (
    os.strerror(errno.ENOMEM),
    "failed to map segment",
    "out of memory",
    "can't start new thread",
)

#: Commands in the order of the help, under its headings, each with its module.
_COMMANDS = {
    "Daily work": {
        "init": "configure_command",
        "check": "configure_command",
        "run": "run_command",
        "ask": "ask_command",
        "export": "export_command",
        "report": "pictures",
    },
    "Prepare a table": {"diagnose": "diagnose_command", "hierarchy": "configure_command"},
    "More from a results folder": {
        "plot": "pictures",
        "apply": "export_command",
        "prove": "run_command",
    },
    "Judge releases": {
        "measure": "judge_command",
        "compare": "judge_command",
        "baseline": "run_command",
        "frontier": "study_command",
        "learn": "study_command",
    },
    "Reference": {"guide": "guide_command", "schema": "configure_command"},
}
_MODULES = {name: module for group in _COMMANDS.values() for name, module in group.items()}


class _GroupedHelp(TyperGroup):
    """The list of commands under headings; typer groups commands only where rich draws the help."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each command with the first sentence of its help."""
        width = max(map(len, self.commands))
        room = formatter.width - width - 6  # beside the margins
        for heading, group in _COMMANDS.items():
            with formatter.section(heading):
                shown = {name: self.commands[name].get_short_help_str(room) for name in group}
                formatter.write_dl([(f"{name:<{width}}", about) for name, about in shown.items()])


app = typer.Typer(
    name="moanon",
    cls=_GroupedHelp,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: fast, and the same in a pipe
    context_settings={"help_option_names": ["-h", "--help"]},
)

#: What typer raises for a wrong command line. Older versions of typer have it from click, newer
#: ones bring their own; it is an ancestor of this one in both.
_UsageError: Any = next(
    base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    # A stream that the shell closed is None, and a file opened later would take its place.
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that cannot show a sign still gets the rest
            stream.reconfigure(errors="replace")
    arguments = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    with nullcontext() if "--quiet" in arguments else on_notice(_say):
        code = _answer(arguments)
    try:  # here, because at the end of the interpreter nobody could put it in a sentence
        sys.stdout.flush()
    except BrokenPipeError:
        _silence(sys.stdout)
        return _PIPE_CLOSED
    except OSError as error:
        return _refuse_output(error)
    return code


def load_commands(name: str = "") -> None:
    """Let a command join the application; all of them where none has this name."""
    for module in [_MODULES[name]] if name in _MODULES else dict.fromkeys(_MODULES.values()):
        import_module(f"moanon.cli.{module}")


@cache
def _command(registered: int) -> Any:
    """Build the application of so many commands; once, as that takes longer than most answers."""
    return typer.main.get_command(app)


def _answer(arguments: list[str]) -> int:
    ending = Ending()
    try:
        with ending:
            clear_abandoned()
            load_commands(arguments[0])
            command = _command(len(app.registered_commands))
            code = command(arguments, prog_name="moanon", standalone_mode=False)
    except ImpossibleError as error:
        return _refuse(str(error))
    except InfeasibleError as error:
        _refuse(str(error))
        return NO
    except MoanonError as error:
        return _refuse(str(error))
    except _UsageError as error:
        command = error.ctx.command_path if getattr(error, "ctx", None) else "moanon"
        return _refuse(f"{error.format_message().rstrip('.')} (see {command} --help)")
    except (KeyboardInterrupt, typer.Abort):
        return 128 + ending.signal if ending.signal else _INTERRUPTED
    except (BrokenPipeError, SystemExit):  # rich and typer turn a closed pipe into an exit
        _silence(sys.stdout)
        return _PIPE_CLOSED
    except Exception as error:
        if _ran_out_of_memory(error):
            return _refuse("memory ran out; give moanon more of it, or a smaller task")
        if isinstance(error, OSError) and error.errno is not None and error.filename is None:
            return _refuse_output(error)
        return _own_up(error)  # also to an error about a file, which somebody should have seen to
    if code == _INTERRUPTED and ending.signal:  # typer has answered it, as if it were Ctrl-C
        return 128 + ending.signal
    return code if isinstance(code, int) else DONE


def _say(notice: str) -> None:
    """Say why somebody has to wait; above the bar where there is one, which borrows stderr."""
    with suppress(OSError):
        typer.echo(notice, err=True)


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def _refuse(sentence: str) -> int:
    try:
        typer.echo(f"moanon: {as_options(on_one_line(sentence))}", err=True)
    except OSError:  # the exit code is all that is left to answer with
        _silence(sys.stderr)
    return _BAD_INPUT


def _refuse_output(error: OSError) -> int:
    """Say that what was to be shown cannot be: a full disk, a terminal that is gone."""
    _silence(sys.stdout)
    return _refuse(f"the output cannot be written: {error.strerror or error}")


def _ran_out_of_memory(error: BaseException | None) -> bool:
    """Whether an error goes back to a lack of memory, in whatever words a library puts it."""
    while error is not None:
        if isinstance(error, MemoryError) or any(sign in str(error) for sign in _NO_MEMORY):
            return True
        error = error.__cause__ or error.__context__
    return False


def _own_up(error: Exception) -> int:
    """Say that something is a defect of moanon, and where its traceback is."""
    trace = "".join(traceback.format_exception(error))
    place = None if os.environ.get("MOANON_DEBUG") == "1" else _put_aside(trace)
    if place is None:
        with suppress(OSError):
            typer.echo(trace, err=True, nl=False)
    where = "above" if place is None else f"in {place}"
    _refuse(
        f"this is a defect of moanon, and no fault of yours; its traceback is {where} (read it "
        "before you pass it on, as it may quote values)"
    )
    return _DEFECT


def _put_aside(trace: str) -> Path | None:
    """Write a traceback where only the user can read it; None where nothing can be written."""
    from platformdirs import user_cache_path  # here, because it is hardly ever needed

    cache = user_cache_path("moanon", appauthor=False)
    for folder in (cache, None) if cache.is_absolute() else (None,):  # None: a temporary folder
        with suppress(OSError):
            if folder is not None:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(".txt", "moanon-defect-", folder)
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as stream:
                stream.write(trace)
            return Path(name)
    return None


def _silence(stream: Any) -> None:
    """Point a closed stream to nowhere, so that flushing it at exit says nothing."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"moanon {__version__}")
        raise typer.Exit


@app.callback(epilog="Start with: moanon init FILE. The manual: moanon guide")
def _about(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Anonymize a table about people: the whole trade-off between privacy and loss."""


# -- how commands declare what they take -----------------------------------------------------------


def argument(metavar: str, about: str) -> Any:
    """Declare an argument, which has no default."""
    return typer.Argument(metavar=metavar, help=about, show_default=False)


def given(metavar: str | None, about: str, *names: str, **more: Any) -> Any:
    """Declare an option whose absence means something, and which therefore has no default."""
    return typer.Option(*names, metavar=metavar, help=about, show_default=False, **more)


def flag(name: str, about: str) -> Any:
    """Declare an option that is there or not."""
    return typer.Option(name, help=about)


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take dataclasses: typer sees each of their fields as an option."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    seen = list(_flattened(signature(command), hints))

    @wraps(command)
    def flat(**values: Any) -> None:
        for name, group in groups.items():
            own = {field.name: values.pop(field.name) for field in fields(group)}
            values[name] = group(**own)
        command(**values)

    flat.__signature__ = Signature(seen)  # type: ignore[attr-defined]
    flat.__annotations__ = {each.name: each.annotation for each in seen}
    return flat


def _flattened(taken: Signature, hints: dict[str, Any]) -> Iterator[Parameter]:
    """The parameters of a command, with the fields of its groups in their places."""
    for name, parameter in taken.parameters.items():
        hint = hints[name]
        if not is_dataclass(hint):
            default = parameter.default
            yield Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)
            continue
        of_fields = get_type_hints(hint, include_extras=True)
        for field in fields(hint):
            default = Parameter.empty if field.default is MISSING else field.default
            yield Parameter(
                field.name,
                Parameter.KEYWORD_ONLY,
                default=default,
                annotation=of_fields[field.name],
            )


# -- the one printer -------------------------------------------------------------------------------

#: Parameters that sentences of the library write as in a call, and their options. A value in
#: quotes is one that somebody gave, and stays.
_OPTIONS = dict.fromkeys(("columns", "config", "data", "delimiter", "eta", "force", "key"))
_OPTIONS |= dict.fromkeys(("original", "out", "outside", "protocol", "quasi", "resume"))
_OPTIONS |= dict.fromkeys(("seed", "sensitive", "solutions", "stars"))
_OPTIONS |= {"everything": "all", "hierarchies": "hierarchy"}
_OPTIONS |= {"largest": "max-size", "sets": "set"}
_IN_A_CALL = re.compile(rf"(?<![\w.'\"])({'|'.join(_OPTIONS)})=(True|…|'\w+'|[\d.]*\d)")
#: How a note begins, in answers of the library, too.
_NOTE = "note: "
#: Longer lines of text are hard to follow.
_READABLE = 100


def show(
    answer: Worded | Iterable[Part], *, everything: bool = False, notes_aside: bool = False
) -> None:
    """Print an answer: a line for each sentence, a table for each grid; notes aside on stderr."""
    parts = answer.parts(everything=everything) if isinstance(answer, Worded) else answer
    for part in parts:
        if isinstance(part, Grid):
            _show_grid(part)
        elif notes_aside and part.startswith(_NOTE):
            note(part.removeprefix(_NOTE))
        else:
            typer.echo(f" {as_options(on_one_line(part))}".rstrip())


def _show_grid(grid: Grid) -> None:
    from rich import box
    from rich.table import Column, Table

    columns = (
        Column(
            on_one_line(header),
            justify="right" if place in grid.right else "left",
            overflow="fold",  # what is cut off could not be read
        )
        for place, header in enumerate(grid.headers)
    )
    table = Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False)
    for row in grid.rows:
        table.add_row(*map(on_one_line, row))
    _console().print(table)


def _console() -> Console:
    """Console for stdout; in a pipe it is plain and as wide as need be, so that nothing is cut."""
    from rich.console import Console

    return Console(
        color_system=None if os.environ.get("NO_COLOR") else "auto",
        width=None if sys.stdout.isatty() else 10_000,
        markup=False,  # a column may be called [red]
        emoji=False,
        highlight=False,
    )


def show_markdown(text: str) -> None:
    """Lay out Markdown in a terminal; in a pipe, print it as it is."""
    if not sys.stdout.isatty():
        typer.echo(text, nl=False)
        return
    from rich.markdown import Markdown

    console = _console()
    console.print(Markdown(text), width=min(console.width, _READABLE))


def print_json(answer: object) -> None:
    """Print what programs read."""
    import json

    typer.echo(json.dumps(answer, indent=2, ensure_ascii=False, allow_nan=False))


def note(text: str) -> None:
    """Say on stderr what the user should know besides the answer."""
    typer.echo(f"{_NOTE}{as_options(on_one_line(text))}", err=True)


def on_one_line(text: str) -> str:
    """Escape what would break the line or steer the terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def as_options(text: str) -> str:
    """Write the parameters that a sentence of the library names as options of a command.

    >>> as_options("replace it with force=True, or name another (out=…); a run with eta=0.1")
    'replace it with --force, or name another (--out); a run with --eta 0.1'
    """

    def option(match: re.Match[str]) -> str:
        name, value = match.groups()
        shown = "" if value in ("True", "…") else f" {value.strip(chr(39))}"
        return f"--{_OPTIONS[name] or name}{shown}"

    return _IN_A_CALL.sub(option, text)
