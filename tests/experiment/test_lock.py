"""Two runs do not write to one folder, and a dead one stops nobody."""

from __future__ import annotations

import fcntl
import gc
import os
import signal
import subprocess
import sys
from errno import EACCES, ENOLCK, ENOSYS, EOPNOTSUPP, EROFS
from pathlib import Path

import pytest

from moanon.cli import main
from moanon.errors import OutputError
from moanon.experiment import Experiment, plan
from moanon.experiment.folder import LOCK, FolderLock
from tests.checkout import environment

pytestmark = pytest.mark.usefixtures("config")
IN_USE = "is in use by another run; wait until it has ended, or name another folder"


def held(folder: str) -> FolderLock:
    entered = FolderLock(Path(folder))
    entered.enter()
    return entered


def prepared(out: str, *, resume: bool = False, force: bool = False) -> Experiment:
    (only,) = plan(["people.yaml"], out=out)
    return Experiment.prepare(only, resume=resume, force=force)


# -- the lock ------------------------------------------------------------------------------------


def test_a_folder_is_entered_by_one_and_leaves_no_file(tmp_path: Path) -> None:
    first = held("new/folder")
    with pytest.raises(OutputError, match=f"new/folder {IN_USE}"):
        held("new/folder")
    first.leave()
    assert list(Path("new/folder").iterdir()) == []
    held("new/folder").leave()


def test_who_forgets_to_leave_does_not_stay() -> None:
    held("folder")
    gc.collect()
    assert not Path("folder", LOCK).exists()
    held("folder").leave()


def test_a_killed_process_stops_nobody() -> None:
    code = (
        "import time; from pathlib import Path; from moanon.experiment.folder import FolderLock;"
        "lock = FolderLock(Path('folder')); lock.enter(); print('in', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"in\n"
    with pytest.raises(OutputError, match=IN_USE):
        held("folder")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert Path("folder", LOCK).exists()
    held("folder").leave()
    assert not Path("folder", LOCK).exists()


def test_a_file_that_its_holder_removed_meanwhile_locks_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Opened here, then removed and unlocked there: the lock must be that of the next file."""
    take, opened = fcntl.flock, []

    def late(descriptor: int, operation: int) -> None:
        if not opened:
            Path("folder", LOCK).unlink()
        opened.append(descriptor)
        take(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    first = held("folder")
    assert len(opened) == 2
    assert Path("folder", LOCK).exists()
    with pytest.raises(OutputError, match=IN_USE):
        held("folder")
    first.leave()


@pytest.mark.parametrize("number", [ENOLCK, ENOSYS, EOPNOTSUPP])
def test_a_file_system_without_locks_has_none(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    first, second = held("folder"), held("folder")
    assert first.entered
    assert second.entered
    first.leave()
    second.leave()


@pytest.mark.parametrize("number", [EROFS, EACCES])
def test_a_folder_that_cannot_be_written_to_is_not_locked(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    Path("folder").mkdir()
    monkeypatch.setattr(os, "open", refuse)
    assert held("folder").entered


def test_a_folder_that_cannot_be_made_is_refused() -> None:
    with pytest.raises(OutputError, match=r"people\.csv/x cannot be made: Not a directory"):
        held("people.csv/x")
    Path("folder", LOCK).mkdir(parents=True)
    with pytest.raises(OutputError, match="folder cannot be locked: Is a directory"):
        held("folder")


# -- runs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [[], ["--resume"], ["--force"]])
def test_a_run_refuses_a_folder_in_use_and_leaves_it_alone(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    other = held("results")
    Path("results/checkpoint.npz").write_bytes(b"of the other run")
    assert main(["run", "people.yaml", "--out", "results", "--quiet", *options]) == 2
    assert capsys.readouterr().err == f"moanon: results {IN_USE} (--out)\n"
    assert sorted(path.name for path in Path("results").iterdir()) == [LOCK, "checkpoint.npz"]
    other.leave()


def test_a_prepared_run_keeps_its_folder_until_it_has_ended() -> None:
    Path("results").mkdir()
    first = prepared("results")
    with pytest.raises(OutputError, match=IN_USE):
        prepared("results")
    first.run()
    assert prepared("results", resume=True).finished


def test_a_run_that_is_refused_does_not_keep_its_folder() -> None:
    prepared("results").run()
    for _ in range(2):
        with pytest.raises(OutputError, match="results holds results already"):
            prepared("results")
    assert not Path("results", LOCK).exists()


def test_of_two_runs_prepared_for_a_new_folder_the_second_is_refused() -> None:
    first, second = prepared("results"), prepared("results")
    first.run()
    before = {path: path.read_bytes() for path in Path("results").iterdir()}
    with pytest.raises(OutputError, match="results was filled by somebody else since this run"):
        second.run()
    assert {path: path.read_bytes() for path in Path("results").iterdir()} == before


def test_an_interrupted_run_leaves_its_folder_to_the_next() -> None:
    result = prepared("results").run(interrupted=lambda: True)
    assert result.outcome.reason == "interrupted"
    assert prepared("results", resume=True).run().front is not None
