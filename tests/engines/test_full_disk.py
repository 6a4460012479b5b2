"""Disks that are really full: a small one is mounted where only the command sees it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from tests.checkout import environment

pytestmark = pytest.mark.service

CONFIG = """
data: {source: people.parquet, memory: 60MB}
columns:
  age: {role: quasi, kind: interval, granularity: 1, range: [0, 99]}
  zip: {role: quasi, kind: interval, granularity: 1, range: [0, 9999]}
  ill: {role: sensitive}
  note: {role: insensitive}
problem: {preset: k-suppression, eta: 0.1}
"""
RELEASE = """
import sys
from pathlib import Path
from moanon import Config, Release
from moanon.errors import MoanonError

instance = Config.load("parquet.yaml").instance()
Path(sys.argv[1]).parent.mkdir(exist_ok=True)
try:
    release = Release.of(instance, [0] * instance.layout.bits)
    release.write(sys.argv[1], keep_order=True)  # sorting takes more than the little memory
except MoanonError as error:
    raise SystemExit(str(error))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("people")
    with duckdb.connect() as database:
        for ending in ("csv", "parquet"):
            database.execute(
                "COPY (SELECT hash(i) % 100 AS age, hash(i, 1) % 10000 AS zip, "
                "'i' || hash(i, 2) % 50 AS ill, md5(i::VARCHAR) AS note FROM range(200000) "
                f"AS t(i)) TO '{folder}/people.{ending}'"
            )
            (folder / f"{ending}.yaml").write_text(CONFIG.replace("parquet", ending))
    (folder / "small").mkdir()
    return folder


def on_a_small_disk(folder: Path, spilled: str, *arguments: str) -> tuple[int, str, str]:
    """Run Python beside a disk of 256 KiB; gives its exit code and errors, and what is there."""
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare to mount a disk with")
    script = (
        "mount -t tmpfs -o size=256k none small || exit 99\n"
        'TMPDIR=$1; export TMPDIR; shift; "$@"; told=$?; ls -A small; exit $told'
    )
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", spilled, sys.executable, *arguments],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode == 99 or "unshare:" in done.stderr:
        pytest.skip("a disk cannot be mounted here")
    return done.returncode, done.stderr.strip(), done.stdout


def test_the_disk_that_is_spilled_to(folder: Path) -> None:
    # Rows that nearly all differ are put there once they are parsed.
    code, told, left = on_a_small_disk(folder, "small", "-m", "moanon", "check", "csv.yaml")
    assert code == 2
    assert told.endswith(
        "people.csv cannot be read: the disk that DuckDB spills to is full; set TMPDIR to a "
        "larger one"
    )
    assert len(told.splitlines()) == 1
    assert left == ""


@pytest.mark.parametrize("target", ["small/x.parquet", "small/x.csv", "small/parts.csv/"])
def test_the_disk_that_is_written_to(folder: Path, tmp_path: Path, target: str) -> None:
    code, told, left = on_a_small_disk(folder, str(tmp_path), "-c", RELEASE, target)
    name = target.rstrip("/")
    assert (code, told) == (1, f"{name} cannot be written: No space left on device")
    assert left == ""
    assert not list(tmp_path.iterdir())


def test_the_disk_that_is_written_to_whatever_a_folder_there_is_called(
    folder: Path, tmp_path: Path
) -> None:
    target = 'small/the "new" one/x.csv'
    code, told, left = on_a_small_disk(folder, str(tmp_path), "-c", RELEASE, target)
    assert (code, told) == (1, f"{target} cannot be written: No space left on device")
    assert left == 'the "new" one\n'
