"""What is installed carries its data."""

from __future__ import annotations

import subprocess
import sys
import zipfile

import pytest

from tests.checkout import REPOSITORY


@pytest.fixture(scope="module")
def wheel_files(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=REPOSITORY, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        return set(packed.namelist())


def test_wheel_holds_every_file_of_the_embedded_data(wheel_files: set[str]) -> None:
    folder = REPOSITORY / "moanon" / "datasets"
    data = [path for path in folder.rglob("*.*") if path.suffix in {".gz", ".yaml", ".md"}]
    assert len(data) == 9  # two tables, five trees, one file of orders, one of sources
    assert {str(path.relative_to(REPOSITORY)) for path in data} <= wheel_files


def test_wheel_holds_every_part_of_the_report(wheel_files: set[str]) -> None:
    parts = list((REPOSITORY / "moanon" / "output" / "page").iterdir())
    assert {path.suffix for path in parts} == {".html", ".css", ".js"}
    assert {str(path.relative_to(REPOSITORY)) for path in parts} <= wheel_files


def test_wheel_holds_the_guide(wheel_files: set[str]) -> None:
    texts = list((REPOSITORY / "moanon" / "guide").iterdir())
    assert {path.suffix for path in texts} == {".md"}
    assert {str(path.relative_to(REPOSITORY)) for path in texts} <= wheel_files


def test_wheel_is_marked_as_typed(wheel_files: set[str]) -> None:
    assert "moanon/py.typed" in wheel_files


def test_wheel_holds_the_package_and_nothing_beside_it(wheel_files: set[str]) -> None:
    top = {name.split("/")[0] for name in wheel_files}
    assert {name for name in top if not name.endswith(".dist-info")} == {"moanon"}
