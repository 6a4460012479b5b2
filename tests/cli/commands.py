"""Running a command that must succeed, or one that must be refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from moanon.cli import main

Captured = pytest.CaptureFixture[str]


def contents() -> dict[str, bytes | None]:
    """Every file of the working folder with its bytes, and every folder in it."""
    return {str(p): p.read_bytes() if p.is_file() else None for p in Path().rglob("*")}


def done(capsys: Captured, *words: object) -> list[str]:
    """Run a command that has nothing to say on stderr; the lines of its answer."""
    capsys.readouterr()
    assert main([str(word) for word in words]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out.splitlines()


def refused(capsys: Captured, *words: object) -> str:
    """Refuse a command in one sentence, and leave all as it was."""
    capsys.readouterr()
    before = contents()
    assert main([str(word) for word in words]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("moanon: ")
    assert contents() == before
    return err
