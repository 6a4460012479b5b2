"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from moanon.atomic import StagedFiles, StagedFolder, clear_leftovers
from moanon.errors import OutputError


def write(target: Path, text: str, *, force: bool = False) -> None:
    with StagedFiles(target, force=force) as staged:
        staged[target].write_text(text)
        staged.move()


def test_a_file_takes_its_name_when_it_is_moved(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    with StagedFiles(target, force=False) as staged:
        staged[target].write_text("whole")
        assert not target.exists()
        staged.move()
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert target.read_text() == "whole"


def test_a_file_that_is_not_moved_is_gone(tmp_path: Path) -> None:
    with StagedFiles(tmp_path / "a.txt", force=False) as staged:
        staged[tmp_path / "a.txt"].write_text("half")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_exists_is_replaced_only_with_force(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(OutputError, match=r"a\.txt exists already; it is replaced only with force"):
        write(target, "new")
    assert target.read_text() == "old"
    write(target, "new", force=True)
    assert target.read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_file_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    with StagedFiles(target, force=False) as staged:
        target.write_text("of another")
        with pytest.raises(OutputError, match="exists already"):
            staged.move()
    assert target.read_text() == "of another"


def test_a_place_that_cannot_be_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"a\.txt cannot be written: the folder .*file does not"):
        write(tmp_path / "file" / "a.txt", "")
    with pytest.raises(OutputError, match=r"aaa cannot be used: a name in it is longer"):
        write(tmp_path / ("a" * 300), "")


def test_what_the_system_refuses_is_told_in_one_sentence(tmp_path: Path) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    with (
        pytest.raises(OutputError, match=r"a\.txt cannot be written: No space left on device"),
        StagedFiles(first, second, force=False),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_that_breaks_is_not_about_the_file(tmp_path: Path) -> None:
    with pytest.raises(BrokenPipeError), StagedFiles(tmp_path / "a.txt", force=False):
        raise BrokenPipeError
    assert list(tmp_path.iterdir()) == []


# -- permissions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o600, 0o444, 0o664])
def test_a_replaced_file_is_open_to_whom_the_old_one_was(tmp_path: Path, mode: int) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    target.chmod(mode)
    write(target, "new", force=True)
    assert target.stat().st_mode & 0o777 == mode
    assert target.read_text() == "new"


def test_what_replaces_a_closed_file_is_closed_while_it_is_written(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    target.chmod(0o600)
    with StagedFiles(target, force=True) as staged:
        assert staged[target].stat().st_mode & 0o777 == 0o600


# -- several writers -------------------------------------------------------------------------------


def no_links(*_: object, **__: object) -> None:
    raise OSError(errno.EPERM, "Operation not permitted")


@pytest.mark.parametrize("links", [True, False])
def test_a_name_taken_after_the_last_look_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    if not links:
        monkeypatch.setattr(os, "link", no_links)
    with StagedFiles(first, second, force=False) as staged:
        monkeypatch.setattr(StagedFiles, "_check", lambda self: second.write_text("of another"))
        with pytest.raises(OutputError, match=r"b\.txt exists already"):
            staged.move()
    assert [path.name for path in tmp_path.iterdir()] == ["b.txt"]
    assert second.read_text() == "of another"


@pytest.mark.parametrize("links", [True, False])
def test_a_claim_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    link, replace = os.link, Path.replace

    def failing_link(source: Path, target: Path) -> None:
        if not links or target == second:
            no_links()
        link(source, target)

    def failing_replace(self: Path, target: Path) -> Path:
        if target == second:
            raise OSError(errno.EIO, "Input/output error")
        return replace(self, target)

    monkeypatch.setattr(os, "link", failing_link)
    monkeypatch.setattr(Path, "replace", failing_replace)
    with (
        pytest.raises(OutputError, match=r"a\.txt cannot be written: Input/output error"),
        StagedFiles(first, second, force=False) as staged,
    ):
        staged.move()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("force", [True, False])
def test_files_of_several_writers_never_mix(tmp_path: Path, force: bool) -> None:
    writers, rounds = 4, 5
    barrier = threading.Barrier(writers)

    def work(who: int) -> int:
        written = 0
        for number in range(rounds):
            # Two spellings of one folder: a lock on each would be waited for without end.
            pair = tmp_path / f"{number}.a", tmp_path / "." / ".." / tmp_path.name / f"{number}.b"
            barrier.wait()
            with suppress(OutputError), StagedFiles(*pair, force=force) as staged:
                for target in pair:
                    staged[target].write_text(str(who))
                staged.move()
                written += 1
        return written

    with ThreadPoolExecutor(writers) as pool:
        written = sum(pool.map(work, range(writers)))
    assert written == rounds * (writers if force else 1)
    for number in range(rounds):
        pair = tmp_path / f"{number}.a", tmp_path / f"{number}.b"
        assert pair[0].read_text() == pair[1].read_text()
    assert len(list(tmp_path.iterdir())) == 2 * rounds


# -- what was read -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["read.csv", "symbolic", "hard", "../{folder}/read.csv"])
def test_what_was_read_is_not_replaced_by_whatever_name(tmp_path: Path, name: str) -> None:
    read = tmp_path / "read.csv"
    read.write_text("mine")
    (tmp_path / "symbolic").symlink_to(read)
    (tmp_path / "hard").hardlink_to(read)
    target = tmp_path / name.format(folder=tmp_path.name)
    with (
        pytest.raises(OutputError, match="is not replaced: it was read for what would take its"),
        StagedFiles(target, force=True, spared=[tmp_path / "gone", read]),
    ):
        pass
    assert read.read_text() == "mine"


# -- what killed writers leave -------------------------------------------------------------------

STAYS = """
import sys, time
from pathlib import Path
from moanon.atomic import StagedFiles
target = Path(sys.argv[1])
with StagedFiles(target, force=False) as staged:
    staged[target].write_text("half")
    print("in", flush=True)
    sys.stdin.read()
    staged.move()
"""


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that has begun to write ``other.txt``, and ends it when told."""
    process = subprocess.Popen(
        [sys.executable, "-c", STAYS, str(tmp_path / "other.txt")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"in\n"
    yield process
    process.kill()
    process.communicate()


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_next_writer_clears_what_a_killed_one_left(
    tmp_path: Path, writer: subprocess.Popen[bytes]
) -> None:
    writer.kill()
    writer.wait()
    assert len(names_in(tmp_path)) == 1
    write(tmp_path / "a.txt", "whole")
    assert names_in(tmp_path) == ["a.txt"]


def test_what_another_process_is_writing_is_left_to_it(
    tmp_path: Path, writer: subprocess.Popen[bytes]
) -> None:
    write(tmp_path / "a.txt", "whole")
    assert len(names_in(tmp_path)) == 2
    writer.communicate()
    assert writer.returncode == 0
    assert names_in(tmp_path) == ["a.txt", "other.txt"]
    assert (tmp_path / "other.txt").read_text() == "half"


def test_what_the_same_process_is_writing_is_left_to_it(tmp_path: Path) -> None:
    with StagedFiles(tmp_path / "b.txt", force=False) as staged:
        staged[tmp_path / "b.txt"].write_text("whole")
        write(tmp_path / "a.txt", "whole")
        clear_leftovers(tmp_path)
        staged.move()
    assert names_in(tmp_path) == ["a.txt", "b.txt"]


def test_files_of_others_are_no_leftovers(tmp_path: Path) -> None:
    names = [".moanon-notes", ".moanon-0123456789ABCDEF", "moanon-0123456789abcdef"]
    for name in names:
        (tmp_path / name).touch()
    (tmp_path / ".moanon-0123456789abcdef").mkdir()
    (tmp_path / ".moanon-0123456789abcde0").symlink_to("nowhere")
    before = names_in(tmp_path)
    clear_leftovers(tmp_path)
    assert names_in(tmp_path) == before


def test_without_locks_nothing_is_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    (tmp_path / ".moanon-0123456789abcdef").touch()
    monkeypatch.setattr(fcntl, "flock", no_locks)
    write(tmp_path / "a.txt", "whole")
    assert names_in(tmp_path) == [".moanon-0123456789abcdef", "a.txt"]


def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 (as many names)
    for name in ("a.txt", "b.txt"):
        write(tmp_path / name, "whole")
    with suppress(OutputError):
        write(tmp_path / "a.txt", "again")
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_parts_that_a_killed_writer_left_are_cleared_and_those_of_a_living_one_are_not(
    tmp_path: Path,
) -> None:
    left = tmp_path / ".moanon-parts-0123456789abcdef"
    left.mkdir()
    (left / "part-00000.csv").write_text("a\n")
    target, notice = tmp_path / "parts", tmp_path / "notice.json"
    with StagedFolder(target, notice, force=False) as staged:
        (staged[target] / "part-00000.csv").write_text("b\n")
        staged[notice].write_text("{}")
        clear_leftovers(tmp_path)
        assert not left.exists()
        staged.move()
    assert names_in(tmp_path) == ["notice.json", "parts"]
    assert (target / "part-00000.csv").read_text() == "b\n"


def test_a_folder_whose_file_beside_cannot_be_moved_is_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, notice = tmp_path / "parts", tmp_path / "notice.json"
    target.mkdir()
    (target / "part-00000.csv").write_text("old")

    def full(_: StagedFiles) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def replace() -> None:
        with StagedFolder(target, notice, force=True) as staged:
            (staged[target] / "part-00000.csv").write_text("new")
            staged.move()

    monkeypatch.setattr(StagedFiles, "move", full)
    with pytest.raises(OutputError, match="parts cannot be written: No space left on device"):
        replace()
    assert names_in(tmp_path) == ["parts"]
    assert (target / "part-00000.csv").read_text() == "old"
