"""A command and its user: how far it is, what it says on the way, and a wish that it should end.

Progress is a bar on a terminal, a line every few seconds elsewhere. Everything goes to stderr, so
that stdout holds answers only. A *notice* is for whoever waits: kernels never print.

SIGTERM and SIGHUP would end the process at once, and leave its temporary files to the next one.
`Ending` has it clear up after them as after Ctrl-C, or come to its end by itself.

This module imports nothing slow: the command line listens before it knows what it will need.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from types import FrameType, NoneType, TracebackType
from typing import TYPE_CHECKING, Any, Protocol, TextIO
from weakref import WeakSet

if TYPE_CHECKING:
    from typing import Self

    from rich.progress import Progress as Bars
    from rich.progress import TaskID

#: Seconds between two refreshes of the bar, and between two lines.
_REFRESH, _LINE_EVERY = 0.1, 5.0


@dataclass(frozen=True)
class Progress:
    """How far a run is, after a generation."""

    generation: int
    evaluations: int
    seconds: float  # on the clock, over all resumptions
    solutions: int  # undominated ones found so far
    hypervolume: float | None  # as last taken; None where there is none for these objectives
    # share of the nearest limit, or of the `stage`; None where only a stall ends it
    done: float | None
    eta: float | None = None  # limit of suppression that is searched for, if there are several
    stage: str = "searching"  # or a step after the search

    @property
    def seconds_left(self) -> float | None:
        """Estimate of the time to the end."""
        if not self.done:
            return None
        return self.seconds * (1 - self.done) / self.done


#: Called with the progress after each generation.
OnGeneration = Callable[[Progress], None]
#: Called with what is being done, and how many of how many are: ``("figures", 2, 5)``.
OnStep = Callable[[str, int, int], None]


def on_part(on_step: OnStep | None, what: str) -> Callable[[int, int], None] | None:
    """Report about one thing that is done in parts; None where nobody listens."""
    return None if on_step is None else partial(on_step, what)


# -- showing ---------------------------------------------------------------------------------------


@contextmanager
def show_progress(
    name: str, *, quiet: bool = False, stream: TextIO | None = None
) -> Iterator[_Lines | _Bar | None]:
    """Show the progress of a run called `name` while the context lasts; nothing where `quiet`.

    What it gives is called with each `Progress` of a search; its `step` is an `OnStep` for what
    comes after it.
    """
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
def _bar(name: str, stream: TextIO) -> Iterator[_Bar]:
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


# -- notices ---------------------------------------------------------------------------------------

_listeners: list[Callable[[str], None]] = []
_given: set[str] = set()


@contextmanager
def on_notice(listener: Callable[[str], None]) -> Iterator[None]:
    """Hand every notice to `listener` while the context lasts, each once per process.

    Notices come from whatever thread something happens in.
    """
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def give_notice(notice: str) -> None:
    """Give a notice to all who listen; where nobody does, it is lost."""
    if notice in _given or not _listeners:
        return
    _given.add(notice)
    for listener in tuple(_listeners):
        listener(notice)


# -- ending ----------------------------------------------------------------------------------------


class _Interruptible(Protocol):
    """A database, whose statements may take minutes."""

    def interrupt(self) -> None: ...


#: Databases that may be at work when a signal comes.
_databases: WeakSet[_Interruptible] = WeakSet()


def interrupt_with_us(database: _Interruptible) -> None:
    """Have the statements of a database end when the command does.

    DuckDB notices by itself that a signal was handled, but first waits for what its threads do.
    """
    _databases.add(database)


class _Ended(KeyboardInterrupt):
    """A signal has come.

    A class of its own, because Python remembers a bare KeyboardInterrupt that passed through
    ``exec``, as in many imports, and then ends by SIGINT whatever the exit code should be.
    """


def _is_ending() -> bool:
    """Whether what is done just now is done because a signal came."""
    error = sys.exc_info()[1]
    while error is not None:
        if isinstance(error, _Ended):
            return True
        error = error.__context__
    return False


class Ending:
    """Ends what is done in its block when a signal comes, by a KeyboardInterrupt.

    A signal that the process ignores, as under nohup, stays ignored. Outside of the main
    thread, where no signal can be handled, nothing changes.

    Parameters
    ----------
    at_once : bool
        False: the first signal only makes the answer True when the object is called, and the block
        comes to its end by itself. A second Ctrl-C still ends it.

    Attributes
    ----------
    signal : int
        The number of the first signal that came; 0 for none.

    Examples
    --------
    >>> ending = Ending()
    >>> try:
    ...     with ending:
    ...         signal.raise_signal(signal.SIGTERM)
    ... except KeyboardInterrupt:
    ...     print(ending.signal)
    15
    >>> with Ending(at_once=False) as interrupted:
    ...     signal.raise_signal(signal.SIGTERM)
    ...     print(interrupted(), interrupted.signal)
    True 15
    """

    def __init__(self, *, at_once: bool = True) -> None:
        self.signal = 0
        self._at_once = at_once
        self._has_raised = False
        self._before: dict[signal.Signals, Any] = {}

    def __call__(self) -> bool:
        """Whether somebody has asked for the end."""
        return self.signal != 0

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            names = ("SIGINT", "SIGTERM", "SIGHUP")  # the last is not known everywhere
            for number in (signal.Signals[n] for n in names if n in signal.Signals.__members__):
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self.note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        # Libraries make errors of their own of an interruption; DuckDB a RuntimeError. Python
        # passes over one that is raised while it throws an object away. Where the block is not
        # ended at once, it may also have handled what a second Ctrl-C raised.
        is_lost = error is None and self._at_once
        if self._has_raised and (is_lost or not isinstance(error, KeyboardInterrupt | NoneType)):
            raise _Ended from error

    def note(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        ends = self._at_once or (self.signal != 0 and number == signal.SIGINT)
        if ends and number != signal.SIGINT and _is_ending():
            return  # a terminal that closes says so twice, and clearing up goes on
        self.signal = self.signal or number
        if not ends:
            return
        for database in tuple(_databases):
            with suppress(Exception):  # a closed one refuses; the others end all the same
                database.interrupt()
        self._has_raised = True
        raise _Ended
