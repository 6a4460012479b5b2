"""The command line: what it prints, where, and with which exit code."""

from __future__ import annotations

import errno
import importlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from unittest.mock import Mock

import pytest

import moanon
from moanon import cli
from moanon.cli import application, main
from moanon.experiment.checking import _large
from tests.checkout import QUICKSTART, REPOSITORY
from tests.cli.commands import Captured, terminal

SLOW_IMPORTS = ["duckdb", "matplotlib", "numba", "numpy", "pandas", "pydantic", "pymoo", "rich"]


def python(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        env={**os.environ, **variables},
        check=False,
    )


@pytest.fixture
def table(folder: Path) -> Path:
    """A table with a gap, an undeclared column and names that mean something to a terminal."""
    (folder / "t.csv").write_text(
        "id,[red]a,:x:,sex,extra\n1,5,p,f,0\n2,5,q,f,0\n3,7,p,m,0\n4,9,p,m,0\n5,,p,m,0\n"
    )
    (folder / "t.yaml").write_text(
        "data: {source: t.csv, missing: drop}\n"
        "columns:\n"
        "  id: {role: identifying}\n"
        '  "[red]a": {role: quasi, kind: interval, granularity: 5, range: [0, 9]}\n'
        '  ":x:": {role: sensitive}\n'
        "  sex: {role: quasi, kind: ordered, order: [f, m]}\n"
    )
    return folder / "t.yaml"


# -- check ---------------------------------------------------------------------------------------


def test_check_shows_the_columns_and_how_exposed_the_table_is(
    table: Path, capsys: Captured
) -> None:
    assert main(["check", str(table)]) == 0
    lines = [re.sub(" {2,}", "  ", line.strip()) for line in capsys.readouterr().out.splitlines()]
    headers = "column  role  kind  base values  bits  distinct values  merged before the search"
    assert headers in lines
    assert "id  identifying  not counted" in lines
    # 5, 7 and 9 are one step of 5
    assert "[red]a  quasi  interval  2  1  3  3 → 1 values, 100.0% of the entropy" in lines
    assert ":x:  sensitive  equal distance  2" in lines
    assert "sex  quasi  ordered  2  1  2  nothing" in lines
    assert "rows  5 read, 1 dropped for missing values" in lines
    # (5-9, f) twice, (5-9, m) twice: no row is alone
    assert "distinct cells  2" in lines
    assert "k of the base table  2 (unique rows: 0, 0.0%), the finest a release can show" in lines
    # (5, f) twice, (7, m) and (9, m) once
    assert "k of the raw table  1 (unique rows: 2, 50.0%), values as they were read" in lines
    assert "valid genomes  4 (2 bits)" in lines
    assert "undeclared columns  extra (dropped on release)" in lines


def test_check_reads_no_identifying_column(tmp_path: Path, capsys: Captured) -> None:
    # Mixed line ends: the rows are staged in a file, which holds no name.
    (tmp_path / "t.csv").write_bytes(b"name,age\nann,20\r\nbob,20\ncyd,30\r\n")
    (tmp_path / "t.yaml").write_text(
        "data: {source: t.csv, memory: 100MB}\n"
        "columns: {name: {role: identifying}, age: {role: quasi, kind: interval}}\n"
    )
    assert main(["check", str(tmp_path / "t.yaml")]) == 0
    assert re.search(r"name +identifying +not counted", capsys.readouterr().out)


def test_check_takes_overrides(table: Path, capsys: Captured) -> None:
    assert main(["check", str(table), "--set", "data.missing=category"]) == 0
    out = re.sub(" {2,}", "  ", capsys.readouterr().out)
    assert "[red]a  quasi  interval  3  2  3 and missing (1)" in out
    assert "rows  5 read, 0 dropped" in out


def test_check_notes_intervals_whose_range_comes_from_the_data(
    table: Path, capsys: Captured
) -> None:
    table.write_text(table.read_text().replace("granularity: 5", "granularity: 2"))
    assert main(["check", str(table)]) == 0
    assert "note:" not in capsys.readouterr().out
    undeclared = table.read_text().replace(", range: [0, 9]", "")
    table.write_text(undeclared + "  extra: {role: quasi, kind: interval}\n")
    assert main(["check", str(table)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == (
        " note: the range of [red]a, extra was taken from the data, so a released label can show "
        "the smallest or largest value even of a suppressed row; declare range: to avoid that"
    )


@pytest.mark.parametrize("granularity", ["5", "1e30"])
def test_check_notes_columns_whose_values_all_merge(
    table: Path, granularity: str, capsys: Captured
) -> None:
    """The values 5, 7 and 9 are one base value of five or more."""
    wide = f'columns."[red]a".granularity={granularity}'
    assert main(["check", str(table), "--set", wide]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == (
        " note: all values of [red]a have the same base value, so they look the same in "
        "every release; try a smaller granularity or another range"
    )


def test_check_has_no_note_on_a_column_of_one_value(table: Path, capsys: Captured) -> None:
    Path(table.parent / "t.csv").write_text("id,[red]a,:x:,sex\n1,5,p,f\n2,5,q,m\n")
    assert main(["check", str(table)]) == 0
    assert "note:" not in capsys.readouterr().out


def test_check_of_the_quickstart(capsys: Captured) -> None:
    assert main(["check", str(QUICKSTART)]) == 0
    out = re.sub(" {2,}", "  ", capsys.readouterr().out)
    assert "age  quasi  interval  16  15  72" in out
    assert "rows  30,162 read, 0 dropped for missing values" in out
    assert "distinct cells  13,334" in out
    # 2^(15+15+4+1+1) unconstrained, times the cuts of four trees
    assert "valid genomes  4.6 x 10^17 (101 bits)" in out


def test_in_a_pipe_nothing_is_cut_or_coloured(folder: Path, capsys: Captured) -> None:
    name = "x" * 300
    (folder / "t.csv").write_text(f"{name},b\n1,2\n")
    (folder / "t.yaml").write_text(
        f"data: {{source: t.csv}}\ncolumns: {{{name}: {{role: quasi, kind: interval}}}}\n"
    )
    assert main(["check", "t.yaml"]) == 0
    out = capsys.readouterr().out
    assert f"{name}   quasi" in out
    assert "\x1b" not in out


def test_control_characters_of_a_name_do_not_reach_the_terminal(
    folder: Path, capsys: Captured
) -> None:
    (folder / "t.csv").write_text('"a\x1b[31m\nb",c\n1,2\n')
    (folder / "t.yaml").write_text(
        'data: {source: t.csv}\ncolumns: {"a\\x1b[31m\\nb": {role: quasi, kind: interval}}\n'
    )
    assert main(["check", "t.yaml"]) == 0
    assert r"a\x1b[31m\nb   quasi" in capsys.readouterr().out


@pytest.mark.parametrize("no_color", [None, "1"])
def test_on_a_terminal_no_color_is_respected(
    table: Path, no_color: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color:
        monkeypatch.setenv("NO_COLOR", no_color)
    with terminal(monkeypatch) as shown:
        assert main(["check", str(table)]) == 0
    assert "quasi" in shown.text
    assert ("\x1b[" in shown.text) is (no_color is None)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (8192, "8,192"),
        (999_999, "999,999"),
        (2_345_678, "2.3 x 10^6"),
        (9_999_999, "1.0 x 10^7"),
        (23 * 10**20, "2.3 x 10^21"),
        (2**10_000, "2.0 x 10^3010"),
    ],
)
def test_large_counts_are_readable(number: int, text: str) -> None:
    assert _large(number) == text


def test_a_count_with_more_digits_than_python_prints_is_readable() -> None:
    assert _large(10**20_000) == "1.0 x 10^20000"


# -- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "none.yaml"], "moanon: config file none.yaml does not exist\n"),
        (["check"], "moanon: Missing argument 'CONFIG' (see moanon check --help)\n"),
        (["check", "--sett", "x"], "moanon: No such option: --sett"),
        (["chek"], "moanon: No such command 'chek'"),
        (["check", "t.yaml", "--set"], "moanon: Option '--set' requires an argument"),
        (["init", "none.csv"], "moanon: none.csv does not exist"),
        (
            ["check", "t.yaml", "--set", "problem.etaa=1"],
            "moanon: --set: unknown key problem.etaa; did you mean problem.eta?\n",
        ),
        (
            ["check", "t.yaml", "--set", "columns.sex.order=[m, x]"],
            "moanon: column 'sex': 2 rows hold values outside its ordered domain (m … x): 'f'",
        ),
        (
            ["check", "t.yaml", "--set", 'columns."[red]a".range=[5, 8]'],
            "moanon: column '[red]a': 1 row holds a value outside its interval domain",
        ),
        (
            ["check", "t.yaml", "--set", "data.source=nope.csv"],
            "nope.csv does not exist",
        ),
        (
            ["check", "t.yaml", "--set", "data.missing=error"],
            "misses values in '[red]a' (1 row); complete the data, or say what becomes of",
        ),
    ],
)
def test_bad_input_is_one_sentence_on_stderr(
    table: Path, capsys: Captured, arguments: list[str], message: str
) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.startswith("moanon: ")
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_the_process_exits_with_the_code(table: Path) -> None:
    done = python("-m", "moanon", "check", "none.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "moanon: config file none.yaml does not exist\n"


@pytest.fixture
def broken(table: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A command that meets a defect, whose text and locals quote the table."""

    def load(*_: object) -> None:
        name = "Ada"
        raise ZeroDivisionError(name)

    monkeypatch.setattr("moanon.config.Config.load", load)
    monkeypatch.setenv("XDG_CACHE_HOME", str(table.parent / "cache"))
    monkeypatch.delenv("MOANON_DEBUG", raising=False)
    return ["check", str(table)]


def test_an_unexpected_exception_is_owned_up_to(broken: list[str], capsys: Captured) -> None:
    assert main(broken) == 70
    out, err = capsys.readouterr()
    place = re.fullmatch(
        "moanon: this is a defect of moanon, and no fault of yours; its traceback is in (.*) "
        r"\(read it before you pass it on, as it may quote values\)\n",
        err,
    )
    assert out == ""
    assert place
    file = Path(place[1])
    assert "raise ZeroDivisionError(name)" in file.read_text()
    assert "name = " not in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent == Path("cache/moanon").absolute()


def test_a_defect_is_shown_on_the_screen_on_demand(
    broken: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setenv("MOANON_DEBUG", "1")
    assert main(broken) == 70
    *trace, last, sentence = capsys.readouterr().err.splitlines()
    assert trace[0] == "Traceback (most recent call last):"
    assert last == "ZeroDivisionError: Ada"
    assert "its traceback is above" in sentence
    assert not Path("cache").exists()


def test_a_defect_is_shown_where_it_cannot_be_put_aside(
    broken: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr("tempfile.mkstemp", Mock(side_effect=PermissionError))
    assert main(broken) == 70
    assert "its traceback is above" in capsys.readouterr().err


def test_a_command_that_cannot_be_loaded_is_a_defect(
    broken: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(application, "import_module", Mock(side_effect=ImportError))
    assert main(broken) == 70


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        ImportError("x.so: failed to map segment from shared object"),
        ValueError("Error tokenizing data. C error: out of memory"),
        RuntimeError("can't start new thread"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
    ],
)
def test_memory_that_runs_out_is_called_that(
    error: Exception, table: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    told = RuntimeError("a library cannot be loaded")
    told.__cause__ = error
    monkeypatch.setattr("moanon.config.Config.load", Mock(side_effect=[error, told]))
    assert main(["check", str(table)]) == 2
    assert main(["check", str(table)]) == 2
    assert capsys.readouterr().err == (
        "moanon: memory ran out; give moanon more of it, or a smaller task\n" * 2
    )


def test_an_interrupt_is_quiet(
    table: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("moanon.config.Config.load", interrupted)
    assert main(["check", str(table)]) == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_ends_a_command_quietly(
    table: Path,
    number: signal.Signals,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Captured,
) -> None:
    monkeypatch.setattr("moanon.config.Config.load", lambda *_: signal.raise_signal(number))
    assert main(["check", str(table)]) == code
    assert capsys.readouterr() == ("", "")


COMMANDS = [["schema"], ["check", str(QUICKSTART)], ["--help"], ["--version"]]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_closed_pipe_is_quiet(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed:  # which is flushed at the end, as by the interpreter
        monkeypatch.setattr(sys, "stdout", closed)
        assert main(command) == 141
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_is_one_sentence_on_stderr(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        monkeypatch.setattr(sys, "stdout", full)
        assert main(command) == 2
    sentence = "moanon: the output cannot be written: No space left on device\n"
    assert capsys.readouterr().err == sentence


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_an_error_that_cannot_be_shown_still_has_its_exit_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with open("/dev/full", "w", buffering=1) as full:  # noqa: PTH123
        monkeypatch.setattr(sys, "stderr", full)
        assert main(["check", "absent.yaml"]) == 2


@pytest.mark.parametrize("command", COMMANDS[:2])
def test_closed_streams_are_no_defect(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(sys, "stdout", None)  # as Python has a stream that the shell closed
    assert main(command) == 0
    assert capsys.readouterr().err == ""


def test_an_error_about_a_file_is_a_defect(broken: list[str], capsys: Captured) -> None:
    error = PermissionError(13, "Permission denied", "some/file")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("moanon.config.Config.load", Mock(side_effect=error))
        assert main(broken) == 70
    assert "some/file" not in capsys.readouterr().err


def test_a_stream_that_cannot_show_a_sign_gets_the_rest(
    table: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    (table.parent / "t.csv").write_text("é\n1\n", encoding="utf-8")
    table.write_text(
        "data: {source: t.csv}\ncolumns: {é: {role: quasi, kind: interval}}\n", encoding="utf-8"
    )
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(shown, encoding="ascii"))
    assert main(["check", str(table)]) == 0
    assert "|?      | quasi |" in shown.getvalue().decode()
    assert capsys.readouterr().err == ""


# -- init, schema, help --------------------------------------------------------------------------


def test_init_writes_what_check_accepts(table: Path, capsys: Captured) -> None:
    assert main(["init", "t.csv", "--out", "new.yaml"]) == 0
    assert capsys.readouterr().out == (
        "Wrote new.yaml with guessed roles: 1 identifying, 4 quasi. "
        "Go through it, then: moanon check new.yaml\n"
    )
    assert main(["check", "new.yaml"]) == 0


def test_init_never_overwrites(table: Path, capsys: Captured) -> None:
    before = table.read_text()
    assert main(["init", "t.csv"]) == 2
    assert capsys.readouterr().err == (
        "moanon: t.yaml exists already and is left as it is; name another (--out)\n"
    )
    assert table.read_text() == before


def test_init_is_told_names_and_columns(folder: Path, capsys: Captured) -> None:
    (folder / "t.csv").write_text("39,f,x\n50,m,y\n28,f,x\n" * 5)
    assert main(["init", "t.csv", "--names", "age,sex,why", "--columns", "age,sex"]) == 0
    assert "with guessed roles: 2 quasi." in capsys.readouterr().out
    assert main(["check", "t.yaml"]) == 0
    assert main(["init", "t.csv", "--names", "age", "--out", "u.yaml"]) == 2
    assert capsys.readouterr().err == "moanon: t.csv has 3 columns, but header names 1\n"
    assert main(["init", "t.csv", "--names", "a,b,c", "--no-header", "--out", "u.yaml"]) == 2
    assert "--names stands for a line of names" in capsys.readouterr().err


def test_init_takes_a_delimiter(folder: Path) -> None:
    (folder / "t.csv").write_text("a,b;c\n1,2;3\n1,2;3\n")
    assert main(["init", "t.csv"]) == 2
    assert main(["init", "t.csv", "--delimiter", ";"]) == 0
    assert main(["check", "t.yaml"]) == 0


def test_schema_is_json(capsys: Captured) -> None:
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "Config"


def test_version(capsys: Captured) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"moanon {moanon.__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_lists_the_commands(arguments: list[str], capsys: Captured) -> None:
    assert main(arguments) == 0
    out = capsys.readouterr().out
    for command in ("check", "init", "run", "schema"):
        assert f"\n  {command} " in out


def test_help_shows_the_daily_commands_first_and_every_command_once(capsys: Captured) -> None:
    assert main(["--help"]) == 0
    headings = re.split(r"\n\n(?=\S)", capsys.readouterr().out)[2:]
    shown = {
        part.split(":")[0]: re.findall(r"^  (\w+) ", part.split("\n\n")[0], re.MULTILINE)
        for part in headings
    }
    assert next(iter(shown.items())) == (
        "Daily work",
        ["init", "check", "run", "ask", "export", "report"],
    )
    listed = [name for names in shown.values() for name in names]
    registered = [
        command.name or command.callback.__name__ for command in cli.app.registered_commands
    ]  # type: ignore[union-attr]
    assert sorted(listed) == sorted(registered)


def test_every_command_has_help_with_an_example(capsys: Captured) -> None:
    cli.load_commands()
    names = [command.name or command.callback.__name__ for command in cli.app.registered_commands]  # type: ignore[union-attr]
    assert len(names) >= 3
    for name in names:
        assert main([name, "--help"]) == 0
        assert f"Example: moanon {name}" in capsys.readouterr().out


def test_help_imports_nothing_slow() -> None:
    code = (
        "import sys; from moanon.cli import main; main(['--help']); "
        f"sys.exit(' '.join(name for name in {SLOW_IMPORTS} if name in sys.modules))"
    )
    done = python("-c", code)
    assert done.stderr.strip() == ""


def test_a_question_needs_neither_the_compiler_nor_the_table(finished: Path) -> None:
    asked = ["ask", str(finished / "people"), "--min-k", "2"]
    code = (
        f"import sys; from moanon.cli import main; main({asked}); "
        "sys.exit(' '.join(name for name in ('numba', 'pandas', 'duckdb') if name in sys.modules))"
    )
    done = python("-c", code)
    assert done.stderr.strip() == ""
    assert "Solution" in done.stdout


# -- the package ---------------------------------------------------------------------------------


def test_the_version_is_the_projects() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert project["version"] == moanon.__version__


def test_public_names_load_when_they_are_used() -> None:
    code = (
        f"import sys, moanon; assert not [n for n in {SLOW_IMPORTS} if n in sys.modules]; "
        "moanon.read_table; assert 'numpy' in sys.modules; assert 'pydantic' not in sys.modules"
    )
    assert python("-c", code).stderr == ""


def test_every_public_name_is_there() -> None:
    assert set(moanon.__all__) <= set(dir(moanon))
    for name in moanon.__all__:
        value = getattr(moanon, name)
        home = getattr(value, "__module__", "moanon")
        assert name == "__version__" or getattr(importlib.import_module(home), name) is value


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'moanon' has no attribute 'nothing'"):
        _ = moanon.nothing
