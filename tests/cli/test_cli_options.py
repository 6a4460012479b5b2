"""Groups of options: a dataclass in a command, options on the command line."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from moanon import cli
from moanon.cli.application import flag, given, grouped

_MOST_PARAMETERS, _MOST_LINES = 12, 100


@dataclass(frozen=True)
class _Group:
    size: Annotated[int, given("N", "How many.")]
    loud: Annotated[bool, flag("--loud", "Say it loudly.")] = False

    def __post_init__(self) -> None:
        if self.size < 0:
            raise typer.BadParameter("size must be at least 0")


def _app() -> typer.Typer:
    app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)

    @app.command()
    @grouped
    def greet(name: str, group: _Group, end: Annotated[str, given("TEXT", "Last.")] = ".") -> None:
        """Greet somebody."""
        typer.echo(f"{name} {group.size} {group.loud}{end}")

    return app


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["Ann", "--size", "3"], "Ann 3 False."),
        (["Ann", "--size", "3", "--loud", "--end", "!"], "Ann 3 True!"),
    ],
)
def test_fields_of_a_group_are_options(words: list[str], said: str) -> None:
    assert CliRunner().invoke(_app(), words).output == f"{said}\n"


def test_a_field_without_a_default_is_required() -> None:
    found = CliRunner().invoke(_app(), ["Ann"])
    assert found.exit_code == 2
    assert "--size" in found.output


def test_what_a_group_refuses_is_a_wrong_command_line() -> None:
    found = CliRunner().invoke(_app(), ["Ann", "--size", "-1"])
    assert found.exit_code == 2
    assert "size must be at least 0" in found.output


def test_commands_are_short_and_take_few_parameters() -> None:
    found = []
    for path in Path(inspect.getfile(cli)).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                taken = len(node.args.args) + len(node.args.kwonlyargs)
                lines = (node.end_lineno or 0) - node.lineno + 1
                if taken > _MOST_PARAMETERS or lines > _MOST_LINES:
                    found.append((path.name, node.name, taken, lines))
    assert found == []
