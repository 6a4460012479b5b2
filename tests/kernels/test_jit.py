"""Compiled code on disk: found again, dropped where damaged, done without where need be."""

from __future__ import annotations

import ast
import errno
import gc
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from filelock import FileLock

from moanon import progress
from moanon.cli import main
from moanon.kernels import jit
from moanon.progress import give_notice, on_notice
from tests.checkout import REPOSITORY, environment


def double(number: int) -> int:
    return 2 * number


double.__module__ = "moanon.kernels.somewhere"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(jit, "_CACHE", tmp_path)
    monkeypatch.setattr(progress, "_given", set())
    # Code from the cache asks for the module that it belongs to.
    monkeypatch.setitem(sys.modules, double.__module__, ModuleType(double.__module__))
    return tmp_path


def fresh() -> Any:
    """The kernel as a new process would have it."""
    return jit.compiled(double)


def loaded(kernel: Any) -> bool:
    """Call a kernel; tell whether it came from the cache."""
    assert kernel(21) == 42
    hits, misses = kernel.stats.cache_hits, kernel.stats.cache_misses
    assert sum(hits.values()) + sum(misses.values()) == 1
    return sum(hits.values()) == 1


def test_compiled_code_is_found_again(cache: Path) -> None:
    assert not loaded(fresh())
    assert [path.name.split("-")[0] for path in cache.iterdir()] == ["somewhere.double"]
    assert loaded(fresh())


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:10],
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1],
        lambda data: os.urandom(len(data)),
        lambda data: data[:500] + os.urandom(8) + data[508:],
    ],
)
def test_a_damaged_file_is_dropped_and_the_kernel_compiled_anew(
    cache: Path, damage: Callable[[bytes], bytes]
) -> None:
    fresh()(1)
    (path,) = cache.iterdir()
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert not loaded(fresh())
    assert loaded(fresh())
    assert [path] == list(cache.iterdir())


def test_a_file_that_vanishes_is_compiled_anew(cache: Path) -> None:
    fresh()(1)
    for path in cache.iterdir():
        path.unlink()
    assert not loaded(fresh())


def test_what_another_process_has_just_compiled_is_loaded(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh()(1)
    (path,) = cache.iterdir()
    code = path.read_bytes()
    path.unlink()

    class Turn(FileLock):
        def acquire(self, *given: Any, **named: Any) -> Any:
            path.write_bytes(code)  # as the one before us does at the end of its turn
            return super().acquire(*given, **named)

    monkeypatch.setattr(jit, "FileLock", Turn)
    assert loaded(fresh())
    assert list(cache.iterdir()) == [path]


def test_a_kernel_is_compiled_where_nobody_ends_his_turn(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh()(1)
    (path,) = cache.iterdir()
    path.unlink()
    monkeypatch.setattr(jit, "_LONGEST_TURN", 0)
    with FileLock(f"{path}.lock"):
        assert not loaded(fresh())
    assert path in cache.iterdir()


def test_on_a_full_disk_kernels_run_without_a_cache_and_say_so_once(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, data: bytes) -> int:
        with path.open("wb") as file:
            file.write(data[:100])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", refuse)
    told: list[str] = []
    with on_notice(told.append):
        assert not loaded(fresh())
        assert not loaded(fresh())
    assert told == [
        "compiling the kernels, once per installation (about 20 s) …",
        f"compiled kernels cannot be kept in {cache} (No space left on device); next time they "
        "will be compiled again",
    ]
    assert list(cache.iterdir()) == []


def test_compiling_is_told_and_loading_is_not(cache: Path) -> None:
    told: list[str] = []
    fresh()(1)  # nobody listens
    with on_notice(told.append):
        assert loaded(fresh())
        assert told == []
        assert fresh()(0.5) == 1.0  # of another type
    assert told == ["compiling the kernels, once per installation (about 20 s) …"]
    with on_notice(told.append):
        assert fresh()(2j) == 4j
    assert len(told) == 1  # once per process


def test_without_a_folder_another_reason_is_told(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jit, "_CACHE", None)
    told: list[str] = []
    with on_notice(told.append):
        assert fresh()(4) == 8
    (notice,) = told
    assert notice.startswith("compiling the kernels, as there is no folder to keep them in")


def test_who_no_longer_listens_is_told_nothing(cache: Path) -> None:
    told: list[str] = []
    with on_notice(told.append):
        pass
    give_notice("something")
    assert told == []


def test_garbage_is_collected_again_after_compiling(cache: Path) -> None:
    fresh()(1)
    assert gc.isenabled()
    gc.disable()
    try:
        fresh()(0.5)
        assert not gc.isenabled()  # left as it was
    finally:
        gc.enable()


# -- which edits are noticed -----------------------------------------------------------------------


def imports(path: Path) -> set[str]:
    """Modules of the package that a file names in its imports, as Python's parser sees them."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    return {name.removeprefix("moanon.") for name in names if name.startswith("moanon.")}


def dependants(package: Path, changed: str) -> set[str]:
    """Kernels whose code can hold something of a module, found from the module upwards."""
    found = {changed}
    while True:
        more = {
            f"kernels.{path.stem}"
            for path in (package / "kernels").glob("*.py")
            if imports(path) & found
        }
        if more <= found:
            return {name for name in found if name.startswith("kernels.")}
        found |= more


@pytest.mark.parametrize(
    "edited", ["kernels.forms", "kernels.cuts", "kernels.population", "kernels.jit", "arrays"]
)
def test_an_edit_changes_the_keys_of_what_depends_on_it_and_no_others(
    tmp_path: Path, edited: str
) -> None:
    def digests(package: Path) -> dict[str, str]:
        kernels = sorted((package / "kernels").glob("[!_]*.py"))
        names = [f"kernels.{path.stem}" for path in kernels]
        return {name: jit.module_digest(name, package) for name in names}

    before, after = tmp_path / "before", tmp_path / "after"
    for package in (before, after):
        shutil.copytree(REPOSITORY / "moanon" / "kernels", package / "kernels")
        for name in ("arrays.py", "errors.py"):
            shutil.copy(REPOSITORY / "moanon" / name, package)
    assert digests(before) == digests(after)
    with (after / f"{edited.replace('.', '/')}.py").open("a") as file:
        file.write("# changed\n")
    jit.module_digest.cache_clear()
    old, new = digests(before), digests(after)
    assert {name for name in old if old[name] != new[name]} == dependants(before, edited)
    assert len(set(old.values())) == len(old)


def test_a_module_imported_by_its_folder_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "one.py").write_text("from moanon.kernels import other\n")
    (tmp_path / "kernels" / "other.py").write_text("NUMBER = 1\n")
    before = jit.module_digest("kernels.one", tmp_path)
    (tmp_path / "kernels" / "other.py").write_text("NUMBER = 2\n")
    jit.module_digest.cache_clear()
    assert jit.module_digest("kernels.one", tmp_path) != before


def run_in_new_process(code: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=REPOSITORY,
        env=environment(**variables),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


EVALUATE_ONCE = """
import numpy as np
from moanon.kernels import jit, population
codes = np.array([[0, 1, 2]], dtype=np.uint16)
kernel = population.PopulationKernel(codes, np.array([1, 2, 3]), np.array([3]))
scores = kernel.evaluate(np.ones((1, 2), np.uint8), population.GroupRule(0, 0))
stats = population.evaluate_runs.stats
hits, misses = sum(stats.cache_hits.values()), sum(stats.cache_misses.values())
print(jit._CACHE, hits, misses, scores.fields[0, 1])
"""


def test_a_second_process_takes_compiled_code_from_disk():
    run_in_new_process(EVALUATE_ONCE)
    folder, hits, misses, squares = run_in_new_process(EVALUATE_ONCE).split()
    assert folder != "None"
    assert (hits, misses) == ("1", "0")
    assert squares == str(1 + 4 + 9)


# A kernel and a part of it, as those of the package are put together, but compiled in a moment.
# Without the second line, Python would find another folder where TMPDIR names none.
CALL_ONCE = """
import os, tempfile
tempfile.tempdir = os.environ["TMPDIR"]
from moanon.kernels import jit

def half(number):
    return number // 2
half.__module__ = "moanon.kernels.somewhere"
half = jit.inner(half)

def once(number):
    return number + half(number)
once.__module__ = "moanon.kernels.somewhere"
once = jit.compiled(once)

answer = once(28)
print(jit._CACHE, len(once.signatures), answer)
"""


def test_without_a_writable_folder_kernels_still_run(tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("a file where folders would have to go")
    answer = run_in_new_process(
        CALL_ONCE,
        HOME=str(blocker),
        XDG_CACHE_HOME=str(blocker),
        TMPDIR=str(blocker),
        NUMBA_DISABLE_JIT="0",
    )
    assert answer == "None 1 42"


def diagnose(cache: Path, table: Path, *options: str) -> str:
    """What ``moanon diagnose`` says on stderr; it needs the fewest kernels of all commands."""
    done = subprocess.run(
        [sys.executable, "-m", "moanon", "diagnose", str(table), *options],
        cwd=table.parent,
        env=environment(XDG_CACHE_HOME=str(cache)),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stderr


def test_the_command_line_says_what_it_waits_for(tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    table.write_text("a,b\n1,x\n2,x\n2,y\n")
    said = "compiling the kernels, once per installation (about 20 s) …"
    assert jit._CACHE is not None
    assert main(["diagnose", str(table), "--quiet"]) == 0  # all its kernels are compiled now
    folder = tmp_path / "one" / "moanon" / jit._CACHE.name
    folder.mkdir(parents=True, mode=0o700)
    for kernel in jit._CACHE.glob("*-*"):
        with suppress(FileNotFoundError):  # written beside by another process, and renamed
            shutil.copy(kernel, folder)
    # One kernel to be compiled again is enough to have something to say, or to be quiet about.
    # That loading one says nothing is seen above, within this process.
    (kernel,) = folder.glob(f"refinement.count_sizes-{jit.module_digest('kernels.refinement')}-*")
    kernel.unlink()
    assert diagnose(tmp_path / "one", table).count(said) == 1
    kernel.unlink()
    assert diagnose(tmp_path / "one", table, "--quiet") == ""


@pytest.mark.parametrize(
    ("threads", "reason"),
    [
        ("0", "Number of threads specified must be > 0"),
        (
            "abc",
            "Environment variable 'NUMBA_NUM_THREADS' is defined but its associated value 'abc' "
            "could not be parsed",
        ),
    ],
)
def test_an_environment_that_numba_cannot_read_is_refused(threads: str, reason: str) -> None:
    code = "from moanon.cli import main; raise SystemExit(main(['diagnose', 'adult']))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=REPOSITORY,
        env={"PATH": os.environ["PATH"], "NUMBA_NUM_THREADS": threads},
        capture_output=True,
        text=True,
        check=False,
    )
    sentence = f"moanon: numba cannot be loaded with NUMBA_NUM_THREADS={threads}: {reason}\n"
    assert (done.returncode, done.stderr) == (2, sentence)
