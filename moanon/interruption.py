"""Ending a run in good order when somebody asks for it."""

from __future__ import annotations

import signal
from types import FrameType, TracebackType
from typing import Any

__all__ = ["Interruption"]


class Interruption:
    """Turns Ctrl-C and SIGTERM into a question that can be asked; a second Ctrl-C ends at once.

    Attributes
    ----------
    signal : int
        Number of the signal that came; 0 while none has.

    Examples
    --------
    >>> with Interruption() as interrupted:
    ...     signal.raise_signal(signal.SIGTERM)
    ...     print(interrupted(), interrupted.signal)
    True 15
    """

    def __init__(self) -> None:
        self.signal = 0
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interruption:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def __call__(self) -> bool:
        """Whether somebody has asked for the end."""
        return self.signal != 0

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.signal and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.signal = number
