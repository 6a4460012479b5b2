"""What all tests share: how hypothesis searches, and where reference material lies."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import settings

# Derandomized, so that a red run can be repeated by anyone; `thorough` explores afresh instead.
settings.register_profile("default", derandomize=True, deadline=None, max_examples=50)
settings.register_profile("thorough", derandomize=False, deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def without_notices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether kernels must be compiled depends on earlier runs; what is said of it must not."""
    monkeypatch.setattr("moanon.cli.application.on_notice", lambda listener: nullcontext())


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of reference material beside the checkout; the test is skipped where it is absent."""
    folder = REPOSITORY.parent / "shared"
    if not folder.is_dir():
        pytest.skip(f"reference material not found: {folder}")
    return folder
