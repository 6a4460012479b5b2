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
import weakref
import zlib
from contextlib import suppress
from pathlib import Path

from moanon.atomic import lock

#: A folder that could not be locked so often is on a disk without locks.
_TRIES = 3
#: Who may do what with a folder.
_MODE = 0o700


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
        for tries_left in reversed(range(_TRIES)):
            self.path, descriptor = _made()
            self._end = weakref.finalize(self, _remove, self.path, descriptor)
            if _is_locked(self.path, descriptor) or not tries_left:
                break
            self.remove()  # another process may have taken it for abandoned before it was locked

    def __enter__(self) -> ScratchFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Remove the folder with all that is in it; at the latest this is done when Python ends."""
        self._end()


def _made() -> tuple[Path, int | None]:
    """Make a folder, and open it where that is possible."""
    try:
        path = Path(tempfile.gettempdir()) / f"{_prefix()}{secrets.token_hex(8)}"
        path.mkdir(mode=_MODE)
    except OSError as error:
        raise OSError(
            f"there is no place for temporary files ({error.strerror or error}); set TMPDIR to "
            "another disk"
        ) from None
    return path, _opened(path)


def _is_locked(folder: Path, descriptor: int | None) -> bool:
    """Lock a folder; say whether that was possible, and it is still there."""
    if descriptor is None or not lock(descriptor):
        return False
    with suppress(OSError):
        return os.path.samestat(os.fstat(descriptor), folder.lstat())
    return False


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
                    status = os.fstat(descriptor)
                    is_ours = status.st_uid == os.getuid()
                    if is_ours and stat.S_IMODE(status.st_mode) == _MODE and lock(descriptor):
                        shutil.rmtree(path, ignore_errors=True)
                finally:
                    os.close(descriptor)


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
