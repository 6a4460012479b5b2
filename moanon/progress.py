"""A run and its user: how far it is, and a wish that it should end.

Progress is a bar on a terminal, a line every few seconds elsewhere. Everything goes to stderr, so
that stdout holds answers only. A display is a context; it is called with each `Progress` of a
search, and with the steps that come after it: measuring, figures, the page.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Protocol, TextIO

from moanon.ending import Ending

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from moanon.search.running import Progress

#: Seconds between two refreshes of the bar, and between two lines.
_REFRESH, _LINE_EVERY = 0.1, 5.0


#: Called with what is being done, and how many of how many are: ``("figures", 2, 5)``.
OnStep = Callable[[str, int, int], None]


def on_part(on_step: OnStep | None, what: str) -> Callable[[int, int], None] | None:
    """Report about one thing that is done in parts; None where nobody listens."""
    return None if on_step is None else partial(on_step, what)


class Display(Protocol):
    """What shows how far a run is."""

    def __call__(self, progress: Progress) -> None:
        """Show a generation of the search."""

    def step(self, what: str, number: int, of: int) -> None:
        """Show what is done after the search; see `OnStep`."""


@contextmanager
def show_progress(
    name: str, *, quiet: bool = False, stream: TextIO | None = None
) -> Iterator[Display | None]:
    """Show the progress of a run called `name` while the context lasts; nothing where `quiet`."""
    stream = stream or sys.stderr
    if quiet:
        yield None
    elif stream.isatty():
        with _bar(name, stream) as display:
            yield display
    else:
        yield _Lines(name, stream)


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
        self._write(lambda: ", ".join(_parts(progress, rate)))

    def step(self, what: str, number: int, of: int) -> None:
        self._write(lambda: _step(what, number, of))

    def _write(self, text: Callable[[], str]) -> None:
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _LINE_EVERY
        self._stream.write(f"{self._name}: {text()}\n")
        self._stream.flush()


class _Bar:
    """A bar that is refreshed by hand: a thread that does it would compete with the search."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._task: TaskID = bars.add_task("starting", total=None)
        self._rate = _Rate()
        self._last = 0.0
        bars.refresh()

    def __call__(self, progress: Progress) -> None:
        speed = self._rate.of(progress)
        self._show(lambda: " · ".join(_parts(progress, speed, short=True)), progress.done)

    def step(self, what: str, number: int, of: int) -> None:
        self._show(lambda: _step(what, number, of), number / of if of else None)

    def _show(self, text: Callable[[], str], done: float | None) -> None:
        now = time.monotonic()
        if now - self._last < _REFRESH:
            return
        self._last = now
        total = None if done is None else 1.0
        self._bars.update(self._task, description=text(), total=total, completed=done or 0.0)
        self._bars.refresh()


@contextmanager
def _bar(name: str, stream: TextIO) -> Iterator[Display]:
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
    with Bars(*columns, console=Console(file=stream), auto_refresh=False, transient=True) as bars:
        yield _Bar(bars)


def _step(what: str, number: int, of: int) -> str:
    """What a line says about a step after the search: ``measuring, 64 of 200``."""
    return f"{what}, {number:,} of {of:,}"


def _parts(progress: Progress, rate: float | None, *, short: bool = False) -> Iterator[str]:
    """What a line says; in short, where it must fit into a terminal beside its bar."""
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


class Interruption(Ending):
    """Turns signals into a question that can be asked; a second Ctrl-C ends at once.

    Examples
    --------
    >>> with Interruption() as interrupted:
    ...     signal.raise_signal(signal.SIGTERM)
    ...     print(interrupted(), interrupted.signal)
    True 15
    """

    _ends_the_block = False  # whoever asks may also handle what a second Ctrl-C raises

    def __call__(self) -> bool:
        """Whether somebody has asked for the end."""
        return self.signal != 0

    def note(self, number: int, frame: FrameType | None) -> None:
        if self.signal and number == signal.SIGINT:
            super().note(number, frame)
        self.signal = self.signal or number
