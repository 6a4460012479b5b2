"""Folders for what a command keeps outside of memory while it runs, and that go with it.

Such a folder lies in ``TMPDIR``, can be read by its owner alone, and is locked by its process for
as long as that lives. Whoever is killed cannot clear up: the next one, finding a folder that is
nobody's any more, removes it with all that DuckDB spilled there.

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
import stat
import sys
import tempfile
import time
import weakref
import zlib
from contextlib import suppress
from pathlib import Path

from moanon.atomic import lock

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
        for path in Path(tempfile.gettempdir()).iterdir():
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
