"""How a command ends: by signals, after which it clears up, and with its temporary folders.

SIGTERM and SIGHUP would otherwise end the process at once, and leave its temporary files to the
next one. `Ending` has them clear up as Ctrl-C does.

A `ScratchFolder` holds what a command keeps outside of memory while it runs. It lies in ``TMPDIR``,
can be read by its owner alone, and is locked by its process for as long as that lives. A process
that is killed cannot clear up; the next one removes folders that nobody has locked, with all that
DuckDB spilled there.

A folder names the host that made it. On some network disks a lock is known on one host only, and
the folder of another host could seem to be nobody's. Where there are no locks at all (Windows, some
network disks) nothing is cleared.
"""

from __future__ import annotations

import os
import platform
import re
import secrets
import shutil
import signal
import stat
import sys
import tempfile
import threading
import time
import weakref
import zlib
from contextlib import suppress
from pathlib import Path
from types import FrameType, NoneType, TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol
from weakref import WeakSet

from moanon.atomic import lock

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

    A signal that the process ignores, as under nohup, stays ignored. Outside of the main
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
            with suppress(Exception):  # a closed one refuses; the others end all the same
                database.interrupt()
        self._has_raised = True
        raise Ended


# -- temporary folders -----------------------------------------------------------------------------

#: Who may do what with a folder, once its process has locked it and before.
_MODE, _MODE_BEFORE = 0o700, 0o500
#: Seconds after which a folder that still has the mode before belongs to a process that was killed.
_MOST_SECONDS_TO_LOCK = 3600


class ScratchFolder:
    """A folder of this process, until it is removed.

    Attributes
    ----------
    path : Path

    Raises
    ------
    OSError
        If it cannot be made, with a sentence that names ``TMPDIR``.

    Examples
    --------
    >>> with ScratchFolder() as folder:
    ...     _ = (folder.path / "spilled").write_text("rows")
    >>> folder.path.exists()
    False
    """

    def __init__(self) -> None:
        clear_abandoned()
        try:
            self.path = Path(tempfile.gettempdir()) / f"{_prefix()}{secrets.token_hex(8)}"
            self.path.mkdir(mode=_MODE_BEFORE)
            descriptor = _opened(self.path)
            self._end = weakref.finalize(self, _remove, self.path, descriptor)
            if descriptor is not None:
                lock(descriptor)
            self.path.chmod(_MODE)  # only now may it look like one that nobody has locked any more
        except OSError as error:
            raise OSError(
                f"there is no place for temporary files ({error.strerror or error}); set TMPDIR to "
                "another disk"
            ) from None

    def __enter__(self) -> ScratchFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Remove the folder with all that is in it; at the latest this is done when Python ends."""
        self._end()


def _remove(folder: Path, descriptor: int | None) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if descriptor is not None:
        os.close(descriptor)  # only now, since it also unlocks the folder


def clear_abandoned() -> None:
    """Remove the folders of processes of this user and host that have ended."""
    if sys.platform == "win32":
        return
    own = re.compile(re.escape(_prefix()) + "[0-9a-f]{16}")
    with suppress(OSError):  # what cannot be listed is not cleared
        for path in Path(tempfile.gettempdir()).glob(f"{_prefix()}*"):
            if own.fullmatch(path.name) and (descriptor := _opened(path)) is not None:
                try:
                    if _may_be_abandoned(os.fstat(descriptor)) and lock(descriptor):
                        shutil.rmtree(path, ignore_errors=True)
                finally:
                    os.close(descriptor)


def _may_be_abandoned(status: os.stat_result) -> bool:
    """Say whether a folder is of this user and its process has had the time to lock it."""
    mode = stat.S_IMODE(status.st_mode)
    is_old = mode == _MODE_BEFORE and time.time() - status.st_mtime > _MOST_SECONDS_TO_LOCK
    return status.st_uid == os.getuid() and (mode == _MODE or is_old)


def _prefix() -> str:
    """How the names of folders begin that were made on this host."""
    return f"moanon-{zlib.crc32(platform.node().encode()):08x}-"


def _opened(folder: Path) -> int | None:
    """Open a folder, and no link to one; None where that is not possible."""
    if sys.platform == "win32":
        return None
    with suppress(OSError):
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    return None
