"""One run at a time in a results folder.

The system holds the lock (``flock``, on Windows a locked byte) and gives it up when the process
ends, however it ends: a run that is killed leaves at most an empty file, which stops nobody.
"""

from __future__ import annotations

import os
import sys
import weakref
from contextlib import suppress
from errno import EACCES, EAGAIN, EDEADLK, EPERM, EROFS
from pathlib import Path

from moanon.errors import OutputError

__all__ = ["LOCK", "FolderLock"]

#: The file that is locked.
LOCK = ".lock"

#: What the system says where somebody else holds the lock.
_HELD = {EACCES, EAGAIN, EDEADLK}
#: The same where nothing can be written: no run can do so either.
_CLOSED = {EACCES, EPERM, EROFS}

if sys.platform == "win32":
    import msvcrt

    def _take(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _take(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


class FolderLock:
    """The right to write to a results folder.

    Whoever forgets to `leave` does so when the lock is no longer referred to, or the process ends.

    Parameters
    ----------
    folder : Path
        It may not exist yet.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.entered = False
        self._leave: weakref.finalize[..., FolderLock] | None = None

    def enter(self) -> None:
        """Lock the folder, which is made if it does not exist.

        Where a file system knows no locks, or the folder cannot be written to, there is none.

        Raises
        ------
        OutputError
            If another run is at work there, or the folder cannot be made.
        """
        step = "made"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            step = "locked"
            descriptor = _locked(self.folder / LOCK)
        except BlockingIOError:
            raise OutputError(
                f"{self.folder} is in use by another run; wait until it has ended, or name another "
                "folder with --out"
            ) from None
        except OSError as error:
            raise OutputError(
                f"the folder {self.folder} cannot be {step}: {error.strerror or error}"
            ) from error
        self.entered = True
        if descriptor is not None:
            self._leave = weakref.finalize(self, _unlock, self.folder / LOCK, descriptor)

    def leave(self) -> None:
        """Let others in."""
        self.entered = False
        if self._leave is not None:
            self._leave()


def _locked(path: Path) -> int | None:
    """Open and lock a file; None where that cannot be done, but by nobody else either.

    Raises
    ------
    BlockingIOError
        If somebody has locked it.
    OSError
        If the system refuses otherwise.
    """
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            if error.errno in _CLOSED:
                return None
            raise
        try:
            _take(descriptor)
        except OSError as error:
            os.close(descriptor)
            if error.errno in _HELD:
                raise BlockingIOError from None
            return None  # a file system without locks
        # Whoever had it may have removed it after it was opened here: then this is the lock of a
        # file that nobody else will find.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        os.close(descriptor)


def _unlock(path: Path, descriptor: int) -> None:
    """Remove a file that is locked, then unlock it, in this order; see `_locked`."""
    if sys.platform == "win32":  # where an open file cannot be removed
        os.close(descriptor)
        with suppress(OSError):
            path.unlink()
        return
    with suppress(OSError):
        path.unlink()
    os.close(descriptor)
