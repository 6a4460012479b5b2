"""Paths that people give: what no file can be behind is refused where it is read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from moanon.atomic import checked_path
from moanon.config import Config
from moanon.data.hierarchy import Hierarchy
from moanon.engines import open_source
from moanon.errors import ConfigError, DataError, MoanonError
from moanon.front import Front
from moanon.front.results import find_fronts

LONG = "x" * 256


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_what_is_there_or_could_be_is_let_through() -> None:
    Path("file").touch()
    for path in (".", "file", "absent", "file/below", "x" * 255):
        assert checked_path(path, DataError) == Path(path)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (LONG, f"^{'x' * 100}…{'x' * 60} cannot be used: a name in it is longer than the system"),
        (f"{LONG}/y", "a name in it is longer than the system allows$"),
        ("a\0b", r"^'a\\x00b' cannot be the path of a file$"),
        ("\ud800", r"^'\\ud800' cannot be the path of a file$"),
        ("itself", "^itself cannot be used: it is, or lies behind, a link to itself$"),
        ("itself/below", "^itself/below cannot be used: it is, or lies behind, a link to itself$"),
        ("pipe", "^pipe is a pipe, a device or a socket; name a file$"),
        ("to-pipe", "^to-pipe is a pipe, a device or a socket; name a file$"),
        ("/dev/null", "^/dev/null is a pipe, a device or a socket; name a file$"),
    ],
)
def test_what_cannot_be_is_refused(path: str, message: str) -> None:
    Path("itself").symlink_to("itself")
    os.mkfifo("pipe")
    Path("to-pipe").symlink_to("pipe")
    with pytest.raises(ConfigError, match=message):
        checked_path(path, ConfigError)


def test_special_files_are_let_through_on_demand() -> None:
    assert checked_path("/dev/null", ConfigError, special=True) == Path("/dev/null")


@pytest.mark.parametrize("path", [f"{LONG}.yaml", "a\0b.yaml", "itself.yaml"])
@pytest.mark.parametrize(
    "read", [Config.load, Hierarchy.read, open_source, Front.load, find_fronts]
)
def test_every_reader_refuses_them(read: Callable[[str], object], path: str) -> None:
    Path("itself.yaml").symlink_to("itself.yaml")
    with pytest.raises(MoanonError, match=r"cannot be (used|the path)"):
        read(path)


def test_no_table_is_read_from_a_pipe() -> None:
    folder = Path("tables")
    folder.mkdir()
    os.mkfifo(folder / "people.csv")
    for source in ("tables/people.csv", "tables", "tables/*.csv"):
        with pytest.raises(DataError, match=r"tables/people\.csv is a pipe, a device or a socket"):
            open_source(source)


def test_a_link_to_nothing_is_not_left_out_in_silence() -> None:
    Path("tables").mkdir()
    Path("tables/a.csv").write_text("a\n1\n")
    Path("tables/b.csv").symlink_to("nowhere")
    for source in ("tables", "tables/*.csv"):
        with pytest.raises(DataError, match=r"tables/?\S* cannot be read: No such file"):
            open_source(source)


def test_no_results_are_read_from_a_pipe() -> None:
    Path("results").mkdir()
    os.mkfifo("results/run.json")
    with pytest.raises(DataError, match=r"^results/run.json is a pipe, a device or a socket"):
        Front.load("results")
