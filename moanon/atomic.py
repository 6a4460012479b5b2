"""Files that appear whole or not at all, and folders that vanish with their process.

A file is written beside its final place, under a name nobody can guess, and moved there when
everything about it is known to be right. Whatever happens before (a full disk, a failed check,
Ctrl-C), the files beside are removed and a file that stood under the final name is untouched.

Writers may meet at the same names. A name that must be free is claimed, not looked at and then
taken, so only one of them gets it. Files that belong together are moved while their folder is
locked, so that those of two writers never mix. What a killed writer left is cleared by the next one
in that folder; a file that is still being written is locked by its writer, and is left alone. Where
the system has no such locks (Windows, some network disks) these last promises are not kept: files
may mix, and nothing is cleared. On macOS nothing is cleared either, where locks of this kind would
be in the way of those that a writer such as DuckDB takes.

A `ScratchFolder` holds what a command keeps outside of memory while it runs. It lies in ``TMPDIR``,
can be read by its owner alone, and is locked by its process for as long as that lives. A process
that is killed cannot clear up; the next one removes folders that nobody has locked, with all that
DuckDB spilled there. A folder names the host that made it: on some network disks a lock is known on
one host only, and the folder of another host could seem to be nobody's.

`checked_path` refuses paths that no file and no folder can have.
"""

from __future__ import annotations

import errno
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
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType

from moanon.errors import MoanonError, OutputError

if sys.platform != "win32":
    import fcntl

#: What files are called while they are written.
_TEMPORARY = re.compile(r"\.moanon-[0-9a-f]{16}")
#: What folders of parts are called while they are written.
_TEMPORARY_PARTS = re.compile(r"\.moanon-parts-[0-9a-f]{16}")
#: Whether files are locked while they are written.
_LOCKS_FILES = sys.platform == "linux"
#: Longer paths are shown without their middle.
_MAX_SHOWN = 200
_REASONS = {
    errno.ENAMETOOLONG: "a name in it is longer than the system allows",
    errno.ELOOP: "it is, or lies behind, a link to itself",
}


def checked_path(
    path: str | os.PathLike[str], error: type[MoanonError], *, special: bool = False
) -> Path:
    """Give a path that the system can look up, whether or not something is there.

    One that it cannot, a name that is too long, a NUL, a link to itself, raises `error`. So do
    pipes, devices and sockets unless they are let through (`special`): to read one may never end,
    and to replace one does harm.
    """
    text = os.fspath(path)
    shown = text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN // 2]}…{text[-60:]}"
    try:
        mode = os.stat(text).st_mode  # noqa: PTH116 (pathlib refuses some names in its own way)
    except ValueError:  # a NUL, or halves of characters
        raise error(f"{shown!a} cannot be the path of a file") from None
    except OSError as problem:
        if problem.errno in _REASONS:
            raise error(f"{shown} cannot be used: {_REASONS[problem.errno]}") from None
        return Path(path)  # nothing is there, or whoever opens it will hear more
    if not (special or stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise error(f"{shown} is a pipe, a device or a socket; name a file")
    return Path(path)


class StagedFiles:
    """Several files that take their final names together.

    Parameters
    ----------
    *targets : Path
        The final names.
    force : bool
        Whether files that exist under those names may be replaced. The new file is then open to
        whom the old one was.
    spared : iterable of Path
        Files that these are made from. None of them is ever replaced.

    Raises
    ------
    OutputError
        On entering, and again right before the move: if a target exists and `force` is not set, if
        it is spared or a folder, or if its folder does not exist. Whatever else the system refuses,
        an `OSError` in the block included, is stated as one about the first target.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with StagedFiles(folder / "a.txt", force=False) as staged:
    ...     _ = staged[folder / "a.txt"].write_text("whole")
    ...     staged.move()
    >>> [path.name for path in folder.iterdir()]
    ['a.txt']
    """

    def __init__(self, *targets: Path, force: bool, spared: Iterable[Path] = ()) -> None:
        self._first = targets[0]
        self._force = force
        self._spared = tuple(spared)
        self._temporary = {target: _unguessable(target) for target in targets}
        # A second name for each file that is replaced, should a later move fail.
        self._old = {target: _unguessable(target) for target in targets}
        self._descriptors: list[int] = []

    def __enter__(self) -> StagedFiles:
        for target in self._temporary:
            checked_path(target, OutputError)
        try:
            self._check()
            folders = {target.parent for target in self._temporary}
            # Locked, or a file could be taken for a leftover before it is.
            with _locked(folders) as is_locked:
                if is_locked and _LOCKS_FILES:
                    _clear(folders)
                self._create()
        except OSError as error:
            raise self._refused(error) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._remove()
        # A pipe that breaks in the block is one that somebody printed to.
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise self._refused(error) from error

    def __getitem__(self, target: Path) -> Path:
        """Where `target` is written until it is moved."""
        return self._temporary[target]

    def sync(self, target: Path) -> None:
        """Have the written bytes of `target` on the disk before they are read again."""
        _sync(self._temporary[target], os.O_RDWR)

    def move(self) -> None:
        """Give all files their final names; if that fails for one, none has changed."""
        for target in self._temporary:
            self.sync(target)
        with _locked(target.parent for target in self._temporary):
            self._check()
            try:
                for target in self._temporary:
                    self._place(target)
                for folder in {target.parent for target in self._temporary}:
                    sync_folder(folder)
            except BaseException:
                self._move_back()
                raise

    def _create(self) -> None:
        try:
            for target, path in self._temporary.items():
                old = _permissions(target)
                # 0o666 is what open() asks for; the umask decides. O_EXCL follows no planted link.
                asked = 0o666 if old is None else 0o600
                flags = os.O_CREAT | os.O_EXCL | os.O_RDWR
                self._descriptors.append(descriptor := os.open(path, flags, asked))
                if _LOCKS_FILES:
                    lock(descriptor)
            if not _LOCKS_FILES:  # on Windows an open file could not be moved
                self._close()
        except BaseException:
            self._remove()
            raise

    def _place(self, target: Path) -> None:
        temporary = self._temporary[target]
        if not self._force:
            _claim(temporary, target)
            return
        if (old := _permissions(target)) is not None:
            temporary.chmod(old)
        self._keep_old(target)
        temporary.replace(target)

    def _keep_old(self, target: Path) -> None:
        if not os.path.lexists(target):
            return
        try:
            os.link(target, self._old[target], follow_symlinks=False)
        except (OSError, NotImplementedError):  # no hard links on this disk: it steps aside
            target.replace(self._old[target])

    def _move_back(self) -> None:
        for target, temporary in self._temporary.items():
            if os.path.lexists(self._old[target]):
                self._old[target].replace(target)
            elif not temporary.exists() or _is_same(temporary, target):  # the name was free
                target.unlink(missing_ok=True)

    def _remove(self) -> None:
        try:
            for path in (*self._temporary.values(), *self._old.values()):
                path.unlink(missing_ok=True)
        finally:
            self._close()

    def _close(self) -> None:
        """Close the files, which also unlocks them."""
        while self._descriptors:
            os.close(self._descriptors.pop())

    def _refused(self, error: OSError) -> OutputError:
        """Put a refusal of the system into a sentence."""
        return OutputError(f"{self._first} cannot be written: {error.strerror or error}")

    def _check(self) -> None:
        for target in self._temporary:
            if target.is_dir():
                raise OutputError(f"{target} is a folder; name a file in it")
            if any(_is_file(target, file) for file in self._spared):
                raise OutputError(
                    f"{target} is not replaced: it was read for what would take its place; name "
                    "another file"
                )
            if not self._force and os.path.lexists(target):
                raise _exists(target)
            if not target.parent.is_dir():
                raise OutputError(
                    f"{target} cannot be written: the folder {target.parent} does not exist"
                )


#: Names of the parts of a table that is a folder.
_PART = re.compile(r"part-[0-9]+\.(csv|parquet)")


def part_name(number: int, ending: str) -> str:
    """Name a part of a folder, so that names sort as numbers do."""
    return f"part-{number:05}{ending}"


class StagedFolder:
    """A folder of parts that takes its name together with a file beside it; see `StagedFiles`.

    With `force`, a folder is replaced only if it holds nothing but parts.
    """

    def __init__(
        self, target: Path, notice: Path, *, force: bool, spared: Iterable[Path] = ()
    ) -> None:
        self._target, self._force = target, force
        self._spared = tuple(spared)
        self._beside = StagedFiles(notice, force=force, spared=self._spared)
        self._folder, self._old = (
            target.with_name(f".moanon-parts-{secrets.token_hex(8)}") for _ in range(2)
        )
        self._descriptors: list[int] = []

    def __getitem__(self, target: Path) -> Path:
        """Where the folder, or the file beside it, is written until it is moved."""
        return self._folder if target == self._target else self._beside[target]

    def __enter__(self) -> StagedFolder:
        checked_path(self._target, OutputError)
        self._check()
        self._beside.__enter__()  # which also clears what killed writers left
        try:
            with _locked([self._target.parent]):
                self._folder.mkdir()
                self._lock(self._folder)
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        while self._descriptors:
            os.close(self._descriptors.pop())
        self._beside.__exit__(None, None, None)
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise OutputError(
                f"{self._target} cannot be written: {error.strerror or error}"
            ) from error

    def _lock(self, folder: Path) -> None:
        """Keep others from taking a folder for a leftover, whatever it is called."""
        if _LOCKS_FILES:
            self._descriptors.append(descriptor := os.open(folder, os.O_RDONLY))
            lock(descriptor)

    def sync(self, _: Path) -> None:
        """Have the written bytes of the folder on the disk before they are read again."""
        for part in self._folder.iterdir():
            _sync(part, os.O_RDWR)
        sync_folder(self._folder)

    def move(self) -> None:
        """Give the folder and the file their names; if one cannot have it, neither has."""
        self._check()
        had_old = self._target.is_dir()
        if had_old:
            self._lock(self._target)
            self._target.rename(self._old)
        else:
            try:
                self._target.mkdir()  # of two writers only one can
            except FileExistsError:
                raise _exists(self._target) from None
        try:
            self._folder.rename(self._target)
            self._beside.move()
        except BaseException:
            if self._folder.exists():
                with suppress(OSError):
                    self._target.rmdir()
            else:
                self._target.rename(self._folder)
            if had_old:
                self._old.rename(self._target)
            raise
        sync_folder(self._target.parent)
        if had_old:
            shutil.rmtree(self._old, ignore_errors=True)

    def _check(self) -> None:
        target = self._target
        if not target.parent.is_dir():
            raise OutputError(
                f"{target} cannot be written: the folder {target.parent} does not exist"
            )
        if not os.path.lexists(target):
            return
        if not target.is_dir() or target.is_symlink():
            raise OutputError(f"{target} is no folder; leave out the / at its end")
        if not self._force:
            raise _exists(target)
        for path in target.iterdir():
            if not _PART.fullmatch(path.name):
                raise OutputError(
                    f"{target} is not replaced: it holds {path.name}, which is no part of a "
                    "release; name another folder"
                )
            if any(_is_file(path, file) for file in self._spared):
                raise OutputError(
                    f"{target} is not replaced: it was read for what would take its place; name "
                    "another folder"
                )


def _exists(target: Path) -> OutputError:
    return OutputError(f"{target} exists already; it is replaced only with force=True")


def _unguessable(target: Path) -> Path:
    # Without the target's own name, which may already be as long as a name can be.
    return target.with_name(f".moanon-{secrets.token_hex(8)}")


def _permissions(target: Path) -> int | None:
    """Who may do what with a file that exists; None where there is none."""
    try:
        return stat.S_IMODE(target.stat().st_mode) & 0o777
    except OSError:
        return None


def _is_same(one: Path, other: Path) -> bool:
    try:
        return os.path.samestat(one.lstat(), other.lstat())
    except OSError:
        return False


def _is_file(target: Path, file: Path) -> bool:
    """Whether a name leads to a file, by links of any kind."""
    try:
        return os.path.realpath(target) == os.path.realpath(file) or target.samefile(file)
    except OSError:  # at least one of them is not there
        return False


def _claim(temporary: Path, target: Path) -> None:
    """Give a file a name that must be free, in one step: of two claims only one succeeds."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise _exists(target) from None
    except (OSError, NotImplementedError):  # no hard links on this disk: an empty file claims it
        try:
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            raise _exists(target) from None
        try:
            temporary.replace(target)
        except BaseException:
            target.unlink(missing_ok=True)
            raise


def clear_leftovers(folder: Path) -> None:
    """Remove what killed writers left in a folder."""
    with _locked([folder]) as is_locked:
        if is_locked and _LOCKS_FILES:
            _clear([folder])


def _clear(folders: Iterable[Path]) -> None:
    """Remove the files that no living writer has locked; the folders themselves are locked."""
    for folder in folders:
        with suppress(OSError):  # what cannot be listed is not cleared
            for path in folder.iterdir():
                mode = path.lstat().st_mode
                is_file = stat.S_ISREG(mode) and _TEMPORARY.fullmatch(path.name)
                is_folder = stat.S_ISDIR(mode) and _TEMPORARY_PARTS.fullmatch(path.name)
                if is_file or is_folder:
                    with suppress(OSError):  # it is somebody else's
                        descriptor = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
                        try:
                            if not lock(descriptor):
                                pass
                            elif is_folder:
                                shutil.rmtree(path)
                            else:
                                path.unlink()
                        finally:
                            os.close(descriptor)


def lock(descriptor: int, *, wait: bool = False) -> bool:
    """Lock a file or folder until it is closed; say whether that was possible."""
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # somebody else has it; or there are no locks, as on some network disks
        return False
    return True


@contextmanager
def _locked(folders: Iterable[Path]) -> Iterator[bool]:
    """Keep other writers from moving files to the same folders; says whether it does."""
    # Each once, whatever it is called, and in an order that two writers share: neither waits for
    # the other or for itself.
    distinct = {(s.st_dev, s.st_ino): path for path in folders if (s := _state(path))}
    is_locked = sys.platform != "win32"
    with ExitStack() as stack:
        for _, folder in sorted(distinct.items()):
            if sys.platform != "win32":  # where a folder cannot be opened
                descriptor = os.open(folder, os.O_RDONLY)
                stack.callback(os.close, descriptor)  # which also unlocks
                is_locked &= lock(descriptor, wait=True)
        yield is_locked


def _state(folder: Path) -> os.stat_result | None:
    try:
        return folder.stat()
    except OSError:  # it is gone; the check that follows says so
        return None


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disk."""
    if os.name == "posix":  # elsewhere a folder cannot be opened
        _sync(folder, os.O_RDONLY)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# -- temporary folders -----------------------------------------------------------------------------

#: Who may do what with a folder, once its process has locked it and before.
_MODE, _MODE_BEFORE = 0o700, 0o500
#: Seconds after which a folder that still has the mode before belongs to a process that was killed.
_MOST_SECONDS_TO_LOCK = 3600


class ScratchFolder:
    """A folder (`path`) of this process, until it is removed.

    If it cannot be made, an OSError says so in a sentence that names ``TMPDIR``.

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
