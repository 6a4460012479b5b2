"""Signals become a question; the second Ctrl-C is an exception."""

from __future__ import annotations

import signal

import pytest

from moanon.interruption import Interruption


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_noted(number: signal.Signals) -> None:
    with Interruption() as interrupted:
        assert not interrupted()
        signal.raise_signal(number)
        assert interrupted()
        assert interrupted.signal == number


def test_a_second_ctrl_c_ends_at_once() -> None:
    with Interruption():
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with Interruption():
        assert signal.getsignal(signal.SIGINT) != before[0]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
