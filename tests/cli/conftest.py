"""Where the commands run in tests, and what they find there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.search.people import people_frame


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def people(folder: Path) -> Path:
    """A working folder with a table of 120 people, ``people.csv``."""
    people_frame().to_csv("people.csv", index=False)
    return folder
