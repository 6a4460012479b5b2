"""The configuration that the tests of this folder run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.search.people import config_text


@pytest.fixture
def config(people: Path) -> Path:
    """A configuration in the working folder."""
    path = Path("people.yaml")
    path.write_text(config_text(problem="{preset: k-suppression, eta: 0.1}"))
    return path
