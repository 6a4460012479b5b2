"""Sentences of the library at the command line: parameters there, options here."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import moanon
from moanon.cli.application import as_options

_PACKAGE = Path(moanon.__file__).parent
_LIBRARY = sorted({*_PACKAGE.rglob("*.py")} - {*(_PACKAGE / "cli").rglob("*.py")})


def _texts(path: Path) -> Iterator[str]:
    """Every text of a module, docstrings and parts of formatted ones included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _flags(text: str) -> list[str]:
    words = (word.strip("()[]`'\".,;:") for word in text.split())
    return [word for word in words if word.startswith("--") and word[2:3].isalpha()]


def test_no_text_of_the_library_names_an_option_of_the_command_line() -> None:
    found = [
        f"{path.relative_to(_PACKAGE)}: {flag}"
        for path in _LIBRARY
        for text in _texts(path)
        for flag in _flags(text)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("replace it with force=True", "replace it with --force"),
        ("name another folder (out=…)", "name another folder (--out)"),
        ("suppress such rows (outside='suppress')", "suppress such rows (--outside suppress)"),
        ("a run with eta=0.05 finds more.", "a run with --eta 0.05 finds more."),
        ("hierarchies=… states it", "--hierarchy states it"),
        ("e.g. problem.eta=0.1. Got 'eta=2'", "e.g. problem.eta=0.1. Got 'eta=2'"),
        ("without force nothing is replaced", "without force nothing is replaced"),
    ],
)
def test_parameters_become_options(said: str, shown: str) -> None:
    assert as_options(said) == shown
