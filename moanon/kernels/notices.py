"""What kernels have to say to whoever waits for them; they never print.

This module imports nothing slow: the command line listens before it knows whether it will need a
kernel at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_listeners: list[Callable[[str], None]] = []
_told: set[str] = set()


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


def tell(notice: str) -> None:
    """Give a notice to all who listen; where nobody does, it is not told."""
    if notice in _told or not _listeners:
        return
    _told.add(notice)
    for listener in tuple(_listeners):
        listener(notice)
