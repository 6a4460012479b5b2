"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from moanon.atomic import Beside
from moanon.errors import OutputError


def write(target: Path, text: str, *, force: bool = False) -> None:
    with Beside(target, force=force) as beside:
        beside[target].write_text(text)
        beside.move()


def test_a_file_takes_its_name_when_it_is_moved(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    with Beside(target, force=False) as beside:
        beside[target].write_text("whole")
        assert not target.exists()
        beside.move()
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert target.read_text() == "whole"


def test_a_file_that_is_not_moved_is_gone(tmp_path: Path) -> None:
    with Beside(tmp_path / "a.txt", force=False) as beside:
        beside[tmp_path / "a.txt"].write_text("half")
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
    with Beside(target, force=False) as beside:
        target.write_text("of another")
        with pytest.raises(OutputError, match="exists already"):
            beside.move()
    assert target.read_text() == "of another"


def test_a_place_that_cannot_be_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"a\.txt cannot be written: the folder .*file does not"):
        write(tmp_path / "file" / "a.txt", "")
    with pytest.raises(OutputError, match="aaa cannot be written: File name too long"):
        write(tmp_path / ("a" * 300), "")


def test_what_the_system_refuses_is_told_in_one_sentence(tmp_path: Path) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    with (
        pytest.raises(OutputError, match=r"a\.txt cannot be written: No space left on device"),
        Beside(first, second, force=False),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_that_breaks_is_not_about_the_file(tmp_path: Path) -> None:
    with pytest.raises(BrokenPipeError), Beside(tmp_path / "a.txt", force=False):
        raise BrokenPipeError
    assert list(tmp_path.iterdir()) == []
