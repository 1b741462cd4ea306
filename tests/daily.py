"""The share of a part of `make soak` that runs within a time limit, as scripts/soak.py sets it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import pytest

T = TypeVar("T")
UNTIL = float(os.environ.get("STREAMSQL_TEST_UNTIL", "inf"))
"""No test begins after it, in seconds since 1970."""
CUT = float(os.environ.get("STREAMSQL_TEST_CUT", "inf"))
"""A test that still runs then is cut off."""
ROTATION = int(os.environ.get("STREAMSQL_TEST_ROTATION", "0"))
_GOLDEN = 0.618034
"""Its multiples lie apart from each other, modulo 1."""
_SIGNAL = signal.SIGUSR2
"""SIGALRM is pytest-timeout's."""


def rotated(items: Sequence[T], times: int) -> list[T]:
    """The items in their order, from another one on each time."""
    first = int(len(items) * (times * _GOLDEN % 1))
    return [*items[first:], *items[:first]]


def skip_if_late(until: float) -> None:
    if time.time() > until:
        pytest.skip("no time is left for it today")


@contextmanager
def cut_off(at: float) -> Iterator[None]:
    """Skip the rest of a test at this time: that it takes longer is no failure."""
    if at == float("inf"):
        yield
        return

    def skip(_signal: int, _frame: object) -> None:
        pytest.skip("cut off: no time is left for its end today")

    before = signal.signal(_SIGNAL, skip)
    main = threading.main_thread().ident or 0
    timer = threading.Timer(max(0.0, at - time.time()), signal.pthread_kill, (main, _SIGNAL))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        signal.signal(_SIGNAL, signal.SIG_IGN)
        timer.cancel()
        timer.join()
        signal.signal(_SIGNAL, before)
