"""What all tests share: how hypothesis searches, where things lie, and a table of people."""

from __future__ import annotations

import gc
import json
import os
import signal
from collections.abc import Generator
from contextlib import nullcontext
from pathlib import Path

# Before anything imports numpy or scikit-learn: their threads wait for one another by spinning, and
# the cores are taken by other tests that run at the same time.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import pytest
from hypothesis import settings

from moanon.experiment import Experiment, plan
from moanon.front import Front
from moanon.genome import Instance
from tests.checkout import REPOSITORY
from tests.golden.make_adult_measures import adult_instance
from tests.search.people import COLUMNS, config_text, found_front, write_people

# A shell ignores SIGINT for what it runs in the background, and nohup SIGHUP: tests send both.
for number, handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)

# Derandomized, so that a red run can be repeated by anyone; `thorough` explores afresh instead.
settings.register_profile("default", derandomize=True, deadline=None, max_examples=25)
settings.register_profile("thorough", derandomize=False, deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


#: Fixtures that start a program of somebody else's. Tests that use one are marked `service`.
SERVICES = {"browser", "server"}


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests, not garbage: modules that are imported are none."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before marks decide what runs
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if SERVICES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.service)


@pytest.fixture(autouse=True)
def without_notices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether kernels must be compiled depends on earlier runs; what is said of it must not."""
    monkeypatch.setattr("moanon.cli.application.on_notice", lambda listener: nullcontext())


@pytest.fixture(autouse=True)
def without_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody pulls the plug while tests run, and thousands of small files are written."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of reference material beside the checkout; the test is skipped where it is absent."""
    folder = REPOSITORY.parent / "shared"
    if not folder.is_dir():
        pytest.skip(f"reference material not found: {folder}")
    return folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def people(folder: Path) -> Path:
    """A working folder with a table of 120 people, ``people.csv``, and ``place.yaml``."""
    write_people(folder)
    return folder


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on the table that has ended, in a folder that nobody changes."""
    folder = tmp_path_factory.mktemp("finished")
    write_people(folder)
    text = config_text(
        COLUMNS | {"age": "{role: quasi, kind: interval}"},
        data="{source: people.csv, missing: drop}",
        problem="{preset: k-suppression, eta: 0.1}",
    )
    (folder / "people.yaml").write_text(text)
    (config,) = plan([folder / "people.yaml"], out=str(folder / "people"))
    Experiment.prepare(config).run()
    return folder


@pytest.fixture
def finished_here(finished: Path, people: Path) -> Path:
    """The run as if it had been made here: its configuration names files by absolute paths."""
    results = Path("people")
    results.mkdir()
    text = (finished / results / "config.yaml").read_text().replace(str(finished), str(people))
    record = json.loads((finished / results / "run.json").read_text())
    Front.load(finished / results).save(results, record=record, texts={"config.yaml": text})
    return results


@pytest.fixture(scope="session")
def front() -> Front:
    """A front of the 120 people, at most a tenth of them suppressed; nobody changes it."""
    return found_front()


@pytest.fixture(scope="session")
def adult() -> Instance:
    """The Adult table with the domains of the golden file; nobody changes it."""
    return adult_instance()
