"""Signals that end a command as Ctrl-C does."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import pytest

from moanon.progress import Ending, interrupt_with_us
from tests.checkout import environment

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_the_block(number: signal.Signals) -> None:
    ending = Ending()
    with pytest.raises(KeyboardInterrupt), ending:
        signal.raise_signal(number)
    assert ending.signal == number


def test_handlers_are_put_back() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with Ending():
        assert all(signal.getsignal(number) not in before for number in SIGNALS)
    assert [signal.getsignal(number) for number in SIGNALS] == before


def test_an_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Ending() as ending:
            signal.raise_signal(signal.SIGHUP)
        assert ending.signal == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_clearing_up_is_not_disturbed_by_a_second_signal() -> None:
    cleared, ending = [], Ending()

    def work() -> None:
        try:
            signal.raise_signal(signal.SIGHUP)
        finally:
            signal.raise_signal(signal.SIGHUP)
            signal.raise_signal(signal.SIGTERM)
            cleared.append(True)

    with pytest.raises(KeyboardInterrupt), ending:
        work()
    assert cleared
    assert ending.signal == signal.SIGHUP


def test_what_a_library_makes_of_an_interruption_is_one() -> None:
    def as_duckdb_does() -> None:
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            raise RuntimeError("Query interrupted") from None

    with pytest.raises(KeyboardInterrupt), Ending():
        as_duckdb_does()


def test_other_errors_pass() -> None:
    with pytest.raises(ValueError, match="another"), Ending():
        raise ValueError("another")


def test_in_another_thread_nothing_changes() -> None:
    found: list[int] = []

    def work() -> None:
        with Ending() as ending:
            found.append(ending.signal)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [0]


def test_a_statement_at_work_is_interrupted() -> None:
    told: list[str] = []

    class Database:
        def interrupt(self) -> None:
            told.append("interrupted")

    database = Database()
    interrupt_with_us(database)
    with pytest.raises(KeyboardInterrupt), Ending():
        signal.raise_signal(signal.SIGTERM)
    assert told == ["interrupted"]


def test_a_database_that_is_closed_keeps_no_other_at_work() -> None:
    with duckdb.connect() as database, duckdb.connect() as closed:
        for each in (closed, database):
            interrupt_with_us(each)
        closed.close()
        timer = threading.Timer(
            0.3, signal.pthread_kill, (threading.main_thread().ident, signal.SIGTERM)
        )
        timer.start()
        with pytest.raises(KeyboardInterrupt), Ending():
            database.execute("SELECT sum(hash(i)) FROM range(1000000000000) AS t(i)").fetchall()
        timer.join()


@pytest.mark.parametrize("number", SIGNALS)
def test_a_statement_of_hours_ends(number: signal.Signals) -> None:
    with duckdb.connect() as database:
        interrupt_with_us(database)
        timer = threading.Timer(0.3, signal.pthread_kill, (threading.main_thread().ident, number))
        timer.start()
        with pytest.raises(KeyboardInterrupt), Ending():
            database.execute("SELECT sum(hash(i)) FROM range(1000000000000) AS t(i)").fetchall()
        timer.join()


def test_a_signal_in_code_that_is_just_made_has_its_own_exit_code(tmp_path: Path) -> None:
    # As where a module is imported: classes of data are made so.
    (tmp_path / "ended.py").write_text(
        "import signal, sys\n"
        "from moanon.progress import Ending\n"
        "ending = Ending()\n"
        "try:\n"
        "    with ending:\n"
        "        exec('signal.raise_signal(signal.SIGTERM)')\n"
        "except KeyboardInterrupt:\n"
        "    sys.exit(128 + ending.signal)\n"
    )
    command = [sys.executable, "-m", "ended"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), check=False)
    assert done.returncode == 143


class Dropped:
    """Something during whose end a signal comes; what is raised there, Python passes over."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGTERM)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_signal_that_python_passes_over_ends_the_block_all_the_same() -> None:
    ending = Ending()
    with pytest.raises(KeyboardInterrupt), ending:
        Dropped()
    assert ending.signal == signal.SIGTERM


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_next_signal_counts_where_python_passed_over_the_first() -> None:
    def go_on() -> None:
        Dropped()
        signal.raise_signal(signal.SIGTERM)
        raise AssertionError("the second signal did nothing")

    with pytest.raises(KeyboardInterrupt), Ending():
        go_on()
