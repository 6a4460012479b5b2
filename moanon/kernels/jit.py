"""The one place that sets numba's flags and says where compiled code is kept.

Three traps of numba's own cache are avoided here. It notices a change of the file a function stands
in, but not of functions it calls in other files, so a kernel could run against last week's callee;
and it takes code compiled without bounds checks when they are asked for. The folder used here is
named after the text of all kernels and the flags. And numba gives up with an error where
neither the package's folder nor the home folder can be written; here the temporary folder comes
next (if nobody else can have put anything there), and then plain compilation without a cache.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsInt, TypeVar, cast

import numba
import numpy as np
from numba.core import config

__all__ = ["compiled", "int64", "truth"]

numba_config: Any = config  # numba fills this module at run time

# Inside kernels, numbers with a machine type are ordinary ints and bools to the reader (and to the
# type checker). They are used where numba would take a literal for a type of its own and compile
# the called kernel once more, and where a sum must not start out as something narrower.
if TYPE_CHECKING:

    def int64(value: SupportsInt) -> int:
        """Give a 64-bit integer."""

    def truth(value: bool) -> bool:
        """Give a boolean."""

else:
    int64 = np.int64
    truth = np.bool_

Function = TypeVar("Function", bound=Callable[..., Any])


def _digest() -> str:
    """Name the version of all kernels together, and how they are compiled."""
    flags = f"{numba.__version__} boundscheck={numba_config.BOUNDSCHECK}"
    digest = hashlib.sha256(flags.encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _candidates() -> Iterator[Path]:
    if numba_config.CACHE_DIR:
        yield Path(numba_config.CACHE_DIR)
    base = os.environ.get("XDG_CACHE_HOME")
    if base:
        yield Path(base) / "moanon"
    with suppress(RuntimeError):  # no home folder is known
        yield Path.home() / ".cache" / "moanon"
    with suppress(FileNotFoundError):  # no temporary folder can be written either
        yield Path(tempfile.gettempdir()) / f"moanon-{os.getuid() if hasattr(os, 'getuid') else ''}"


def _cache_dir() -> Path | None:
    """First folder that can be written and belongs, with the one above it, to nobody else."""
    for base in _candidates():
        folder = base / _digest()
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError:
            continue
        if _is_ours(base) and _is_ours(folder):
            return folder
    return None


def _is_ours(folder: Path) -> bool:
    """Whether nobody else can exchange what lies in a folder: cached code is loaded and run."""
    status = folder.lstat()
    if hasattr(os, "getuid") and status.st_uid != os.getuid():
        return False
    return stat.S_ISDIR(status.st_mode) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


_CACHE = _cache_dir()


def compiled(function: Function) -> Function:
    """Compile a kernel on its first call, without the GIL, and keep the machine code on disk.

    Bounds checks follow ``NUMBA_BOUNDSCHECK``; with ``NUMBA_DISABLE_JIT=1`` kernels run as Python.
    Floating point stays strict (no fastmath): a result must not depend on the compiler's mood.
    """
    before = numba_config.CACHE_DIR
    numba_config.CACHE_DIR = str(_CACHE or "")
    try:
        kernel: Any = numba.njit(nogil=True, cache=_CACHE is not None)(function)
    finally:
        numba_config.CACHE_DIR = before
    return cast("Function", kernel)
