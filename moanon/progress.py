"""A run and its user: how far it is, and a wish that it should end.

Progress is a bar on a terminal, a line every few seconds elsewhere. Everything goes to stderr, so
that stdout holds answers only. A display is a context that is called with each `Progress`.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

    from moanon.search.running import OnGeneration, Progress

#: Seconds between two refreshes of the bar, and between two lines.
_REFRESH, _LINE_EVERY = 0.1, 5.0


@contextmanager
def show_progress(
    name: str, *, quiet: bool = False, stream: TextIO | None = None
) -> Iterator[OnGeneration | None]:
    """Show the progress of a run called `name` while the context lasts; nothing where `quiet`."""
    stream = stream or sys.stderr
    if quiet:
        yield None
    elif stream.isatty():
        with _bar(name, stream) as display:
            yield display
    else:
        yield _Lines(name, stream)


@contextmanager
def show_count(
    name: str, total: int, *, quiet: bool = False, stream: TextIO | None = None
) -> Iterator[Callable[[int], None] | None]:
    """Show how many of some equal pieces of work are done while the context lasts.

    The context is called with their number; the time that is left follows from those done in it.
    """
    stream = stream or sys.stderr
    if quiet:
        yield None
        return
    began, first = time.monotonic(), None
    bar = _count_bar(name, total, stream) if stream.isatty() else _count_lines(name, total, stream)
    with bar as tell:

        def show(done: int) -> None:
            nonlocal first
            first = done - 1 if first is None else first
            left = (time.monotonic() - began) / (done - first) * (total - done)
            tell(done, f"{done:,} of {total:,}, {duration(left)} left")

        yield show


@contextmanager
def _count_lines(name: str, total: int, stream: TextIO) -> Iterator[Callable[[int, str], None]]:
    following = time.monotonic() + _LINE_EVERY

    def tell(done: int, words: str) -> None:
        nonlocal following
        if time.monotonic() >= following and done < total:
            following = time.monotonic() + _LINE_EVERY
            stream.write(f"{name}: {words}\n")
            stream.flush()

    yield tell


@contextmanager
def _count_bar(name: str, total: int, stream: TextIO) -> Iterator[Callable[[int, str], None]]:
    with _bars(name, stream) as bars:
        task = bars.add_task("starting", total=total)
        bars.refresh()

        def tell(done: int, words: str) -> None:
            bars.update(task, description=words, completed=done)
            bars.refresh()

        yield tell


class _Rate:
    """Evaluations per second since the display began, which may be in the middle of a run."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._first: int | None = None
        self._last = 0

    def of(self, progress: Progress) -> float | None:
        restarted = progress.evaluations < self._last  # for another limit
        self._last = progress.evaluations
        # The first generation compiles, which says nothing about the rest.
        if self._first is None or restarted:
            self._started, self._first = time.monotonic(), progress.evaluations
        spent = time.monotonic() - self._started
        return (progress.evaluations - self._first) / spent if spent > 0.5 else None


class _Lines:
    """A plain line every few seconds."""

    def __init__(self, name: str, stream: TextIO) -> None:
        self._name = name
        self._stream = stream
        self._rate = _Rate()
        self._next = time.monotonic() + _LINE_EVERY

    def __call__(self, progress: Progress) -> None:
        rate = self._rate.of(progress)
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _LINE_EVERY
        self._stream.write(f"{self._name}: {', '.join(_parts(progress, rate))}\n")
        self._stream.flush()


def _bars(name: str, stream: TextIO) -> Bars:
    """A bar that goes when it ends; refreshed by hand, as a thread would compete with the work."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bars
    from rich.table import Column

    columns = (
        TextColumn(escape(name)),
        BarColumn(bar_width=10),
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
    )
    return Bars(*columns, console=Console(file=stream), auto_refresh=False, transient=True)


@contextmanager
def _bar(name: str, stream: TextIO) -> Iterator[OnGeneration]:
    rate, last = _Rate(), 0.0
    with _bars(name, stream) as bars:
        task = bars.add_task("starting", total=None)

        def show(progress: Progress) -> None:
            nonlocal last
            speed, now = rate.of(progress), time.monotonic()
            if now - last < _REFRESH:
                return
            last = now
            total = None if progress.done is None else 1.0
            text = " · ".join(_parts(progress, speed, short=True))
            bars.update(task, description=text, total=total, completed=progress.done or 0.0)
            bars.refresh()

        bars.refresh()
        yield show


def _parts(progress: Progress, rate: float | None, *, short: bool = False) -> Iterator[str]:
    """What a line tells; in short, where it must fit into a terminal beside its bar."""
    speed = None if rate is None else f"{rate:,.0f}/s"
    if progress.eta is not None:
        yield f"{'η' if short else 'eta'} {progress.eta}"
    yield f"{'gen' if short else 'generation'} {progress.generation:,}"
    if not short:
        yield f"{progress.evaluations:,} evaluations" + (f" ({speed})" if speed else "")
    elif speed:
        yield speed
    yield f"front {progress.solutions:,}" if short else f"{progress.solutions:,} solutions"
    if progress.hypervolume is not None:
        yield f"{'hv' if short else 'hypervolume'} {progress.hypervolume:.4f}"
    if progress.seconds_left is not None:
        yield f"{duration(progress.seconds_left)} left"


def duration(seconds: float) -> str:
    """Write a time as people say it: 8 s, 2:05 min, 1:02 h."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d} min"
    return f"{whole // 3600}:{whole % 3600 // 60:02d} h"


class Interruption:
    """Turns Ctrl-C and SIGTERM into a question that can be asked; a second Ctrl-C ends at once.

    Examples
    --------
    >>> with Interruption() as interrupted:
    ...     signal.raise_signal(signal.SIGTERM)
    ...     print(interrupted(), interrupted.signal)
    True 15
    """

    def __init__(self) -> None:
        self.signal = 0  # the number of the signal that came
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interruption:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def __call__(self) -> bool:
        """Whether somebody has asked for the end."""
        return self.signal != 0

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.signal and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.signal = number
