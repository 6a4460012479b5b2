"""Running a command that must succeed, or one that must be refused."""

from __future__ import annotations

import os
import pty
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

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


class Terminal:
    """What a terminal has shown, with and without its colours."""

    def __init__(self) -> None:
        self.text = ""

    @property
    def plain(self) -> str:
        return re.sub(r"\x1b\[[0-9;]*m", "", self.text)


@contextmanager
def terminal(
    patch: pytest.MonkeyPatch, stream: str = "stdout", width: int = 80
) -> Iterator[Terminal]:
    """Let a standard stream be a terminal; what it has shown is known when the block ends."""
    patch.setenv("TERM", "xterm")
    patch.setenv("COLUMNS", str(width))
    ours, theirs = pty.openpty()
    shown, parts = Terminal(), []

    def read() -> None:
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other end is closed
                return
            parts.append(part)

    reader = Thread(target=read)
    reader.start()
    before = getattr(sys, stream)
    try:
        with os.fdopen(theirs, "w", encoding="utf-8") as screen:
            setattr(sys, stream, screen)
            yield shown
    finally:
        setattr(sys, stream, before)
        reader.join()
        os.close(ours)
        shown.text = b"".join(parts).decode()
