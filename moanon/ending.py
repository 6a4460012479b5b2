"""Signals that end a command: whatever they are, it clears up as it does after Ctrl-C.

SIGTERM and SIGHUP would otherwise end the process at once, and leave its temporary files to the
next one.
"""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType, NoneType, TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol
from weakref import WeakSet

if TYPE_CHECKING:
    from typing import Self


class Interruptible(Protocol):
    """A database, whose statements may take minutes."""

    def interrupt(self) -> None:
        """End the statement that is at work, if there is one."""


#: Databases that may be at work when a signal comes.
_databases: WeakSet[Interruptible] = WeakSet()


def interrupt_with_us(database: Interruptible) -> None:
    """Have the statements of a database end when the command does.

    DuckDB notices by itself that a signal was handled, but first waits for what its threads do.
    """
    _databases.add(database)


class Ended(KeyboardInterrupt):
    """A signal has come.

    A class of its own, because Python remembers a bare KeyboardInterrupt that passed through
    ``exec``, as in many imports, and then ends by SIGINT whatever the exit code should be.
    """


def _is_ending() -> bool:
    """Whether what is done just now is done because a signal came."""
    error = sys.exc_info()[1]
    while error is not None:
        if isinstance(error, Ended):
            return True
        error = error.__context__
    return False


class Ending:
    """Ends what is done in its block when a signal comes, by a KeyboardInterrupt.

    A signal that the process was told to ignore, as by nohup, stays ignored. Outside of the main
    thread, where no signal can be handled, nothing changes.

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
    """

    _ends_the_block: ClassVar[bool] = True

    def __init__(self) -> None:
        self.signal = 0
        self._has_raised = False
        self._before: dict[signal.Signals, Any] = {}

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
        # passes over one that is raised while it throws an object away.
        is_lost = error is None and self._ends_the_block
        if self._has_raised and (is_lost or not isinstance(error, KeyboardInterrupt | NoneType)):
            raise Ended from error

    def note(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        if number != signal.SIGINT and _is_ending():
            return  # a terminal that closes says so twice, and clearing up goes on
        self.signal = self.signal or number
        for database in tuple(_databases):
            database.interrupt()
        self._has_raised = True
        raise Ended
