"""Paths that people give: refused where no file and no folder can be behind them."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from moanon.errors import MoanonError

#: Longer paths are told without their middle.
_MAX_SHOWN = 200
_REASONS = {
    errno.ENAMETOOLONG: "a name in it is longer than the system allows",
    errno.ELOOP: "it is, or lies behind, a link to itself",
}


def checked_path(
    path: str | os.PathLike[str], error: type[MoanonError], *, special: bool = False
) -> Path:
    """Give a path that the system can look up, whether or not something is there.

    Parameters
    ----------
    path : str or path
    error : type of MoanonError
        What is raised for one that it cannot: a name that is too long, a NUL, a link to itself.
    special : bool
        Whether pipes, devices and sockets are let through; to read one may never end, and to
        replace one does harm.
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
