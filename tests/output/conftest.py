"""The browser and the front of three objectives that the tests of this folder share."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from moanon.front import Front
from tests.output.browser import NAMES, Browser, find_browser
from tests.search.people import found_front


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A real browser; skipped where there is none, which is an error where changes are checked."""
    program = find_browser()
    if program is None:
        reason = f"no browser to look at a report with: install one of {', '.join(NAMES)}"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with Browser(program, tmp_path_factory.mktemp("browser")) as started:
        yield started


@pytest.fixture(scope="session")
def kl_front() -> Front:
    """A front of three objectives, among them k and ℓ; nobody changes it."""
    return found_front("kl-safety")
