"""Showing progress: lines in a pipe, nothing when quiet. Signals become a question."""

from __future__ import annotations

import io
import signal

import pytest

from moanon import progress as shown
from moanon.progress import Ending, Progress, duration, show_progress


def progress(generation: int, **others: object) -> Progress:
    found = {
        "generation": generation,
        "evaluations": 200 * generation,
        "seconds": float(generation),
        "solutions": 1234,
        "hypervolume": 0.56789,
        "done": generation / 100,
    }
    return Progress(**{**found, **others})  # type: ignore[arg-type]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(shown.time, "monotonic", lambda: now[0])
    return now


def test_in_a_pipe_there_is_a_line_every_few_seconds(clock: list[float]) -> None:
    stream = io.StringIO()
    with show_progress("adult", stream=stream) as show:
        assert show is not None
        for second in range(1, 13):
            clock[0] = second
            show(progress(second))
    # 200 genomes a second, counted from the first generation on
    assert stream.getvalue().splitlines() == [
        "adult: generation 5, 1,000 evaluations (200/s), 1,234 solutions, hypervolume 0.5679, "
        "1:35 min left",
        "adult: generation 10, 2,000 evaluations (200/s), 1,234 solutions, hypervolume 0.5679, "
        "1:30 min left",
    ]


def test_it_goes_on_after_the_search(clock: list[float]) -> None:
    stream = io.StringIO()
    with show_progress("adult", stream=stream) as show:
        assert show is not None
        for second in range(1, 13):
            clock[0] = second
            show.step("figures", second, 12)
    assert stream.getvalue() == "adult: figures, 5 of 12\nadult: figures, 10 of 12\n"


def test_what_is_not_known_is_left_out(clock: list[float]) -> None:
    stream = io.StringIO()
    with show_progress("adult", stream=stream) as show:
        assert show is not None
        clock[0] = 9.0
        show(progress(1, hypervolume=None, done=None))
    assert stream.getvalue() == "adult: generation 1, 200 evaluations, 1,234 solutions\n"


def test_quiet_shows_nothing() -> None:
    stream = io.StringIO()
    with show_progress("adult", quiet=True, stream=stream) as show:
        assert show is None
    assert stream.getvalue() == ""


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "0 s"), (59.4, "59 s"), (59.6, "1:00 min"), (125, "2:05 min"), (3725, "1:02 h")],
)
def test_times_are_readable(seconds: float, text: str) -> None:
    assert duration(seconds) == text


# -- signals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_noted(number: signal.Signals) -> None:
    with Ending(at_once=False) as interrupted:
        assert not interrupted()
        signal.raise_signal(number)
        assert interrupted()
        assert interrupted.signal == number


def test_a_second_ctrl_c_ends_at_once() -> None:
    with Ending(at_once=False):
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with Ending(at_once=False):
        assert signal.getsignal(signal.SIGINT) != before[0]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
