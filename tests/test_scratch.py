"""Folders that go with their process, however it ends."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.pool import ThreadPool
from pathlib import Path

import pytest

from moanon.atomic import ScratchFolder, clear_abandoned
from tests.checkout import environment

#: A process that has such a folder, and ends when told.
STAYS = """
import sys
from moanon.atomic import ScratchFolder
with ScratchFolder() as folder:
    (folder.path / "spilled").mkdir()
    (folder.path / "spilled" / "rows").write_text("rows")
    print(folder.path, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def owner(place: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", STAYS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(TMPDIR=str(place)),
        text=True,
    )
    assert process.stdout is not None
    assert Path(process.stdout.readline().strip()).parent == place
    yield process
    process.kill()
    process.communicate()


def abandoned(place: Path) -> Path:
    """A folder as a killed process leaves it."""
    folder = ScratchFolder()
    (folder.path / "rewritten_1.csv").write_text("rows")
    left = folder.path.rename(place / "aside")
    folder.remove()
    return left.rename(folder.path)


def test_only_its_owner_can_read_a_folder() -> None:
    with ScratchFolder() as folder:
        assert folder.path.stat().st_mode & 0o777 == 0o700


def test_the_next_process_clears_what_a_killed_one_left(
    place: Path, owner: subprocess.Popen[str]
) -> None:
    owner.kill()
    owner.wait()
    assert len(list(place.iterdir())) == 1
    clear_abandoned()
    assert not list(place.iterdir())


def test_a_new_folder_clears_old_ones(place: Path) -> None:
    left = abandoned(place)
    with ScratchFolder() as folder:
        assert not left.exists()
        assert list(place.iterdir()) == [folder.path]


def test_folders_of_living_processes_are_left_alone(
    place: Path, owner: subprocess.Popen[str]
) -> None:
    with ScratchFolder():
        clear_abandoned()
        assert len(list(place.iterdir())) == 2
    owner.communicate()
    assert owner.returncode == 0
    assert not list(place.iterdir())


def test_what_only_looks_like_such_a_folder_is_left_alone(place: Path) -> None:
    left = abandoned(place)
    others = {
        left.name[:-1]: "too short",
        left.name.replace("moanon-", "moanon-f", 1)[: len(left.name)]: "of another host",
        "moanon-0": "a cache",
    }
    for name in others:
        (place / name).mkdir(mode=0o700)
    stem = left.name[:-4]
    (place / f"{stem}000a").mkdir(mode=0o750)
    (place / f"{stem}000b").write_text("a file")
    target = place / "kept"
    target.mkdir(mode=0o700)
    (target / "rows").write_text("kept")
    (place / f"{stem}000c").symlink_to(target)
    before = {path.name for path in place.iterdir()}
    clear_abandoned()
    assert before - {path.name for path in place.iterdir()} == {left.name}
    assert (target / "rows").read_text() == "kept"


def test_a_folder_of_another_user_is_left_alone(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = abandoned(place)
    monkeypatch.setattr(os, "getuid", lambda: left.stat().st_uid + 1)
    clear_abandoned()
    assert left.exists()


def test_without_locks_nothing_is_cleared(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    left = abandoned(place)
    monkeypatch.setattr(fcntl, "flock", no_locks)
    with ScratchFolder() as folder:
        assert set(place.iterdir()) == {left, folder.path}
    assert list(place.iterdir()) == [left]


def test_a_folder_that_is_not_yet_locked_is_left_alone(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = fcntl.flock

    def cleared_before(descriptor: int, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", real)
        clear_abandoned()  # as another process may, just before this one locks its folder
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", cleared_before)
    with ScratchFolder() as folder:
        assert list(place.iterdir()) == [folder.path]


@pytest.mark.parametrize(("seconds", "stays"), [(60, True), (2 * 3600, False)])
def test_a_folder_that_was_never_locked_goes_after_an_hour(
    place: Path, seconds: int, stays: bool
) -> None:
    left = abandoned(place)
    left.chmod(0o500)
    os.utime(left, (time.time() - seconds,) * 2)
    clear_abandoned()
    assert left.exists() is stays


def test_many_that_start_at_once_do_not_take_each_others(place: Path) -> None:
    def work(_: int) -> bool:
        with ScratchFolder() as folder:
            (folder.path / "rows").write_text("rows")
            clear_abandoned()
            return (folder.path / "rows").exists()

    with ThreadPool(8) as pool:
        assert all(pool.map(work, range(200)))
    assert not list(place.iterdir())


def test_no_place_for_a_folder_is_told(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(place / "gone"))
    told = r"^there is no place for temporary files \(No such .*\); set TMPDIR to another disk$"
    with pytest.raises(OSError, match=told):
        ScratchFolder()


def test_no_descriptor_stays_open(place: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 (as many names)
    abandoned(place)
    with ScratchFolder():
        pass
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
