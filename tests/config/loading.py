"""Writing a configuration where a test runs, and loading one that must be refused."""

from __future__ import annotations

import os
from pathlib import Path

from moanon.config import Config
from moanon.errors import ConfigError
from tests.refusals import refusal_of


def write(folder: Path, text: str, name: str = "a.yaml") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def refusal(folder: Path, text: str, *sets: str) -> str:
    """Return the sentence with which a configuration is refused, its folder left out."""
    said = refusal_of(ConfigError, Config.load, write(folder, text), sets)
    return said.replace(f"{folder}{os.sep}", "")
