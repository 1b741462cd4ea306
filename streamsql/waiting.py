"""Waiting for what comes in a moment: a condition that is to hold, an action that fails for now."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")
Pause = Callable[[float], object]
"""Sleeps so many seconds, or less where there is a reason to go on, as `Event.wait` does."""


@dataclass(frozen=True)
class Backoff:
    """How long to pause after each failure in a row: twice as long each time."""

    first: float
    """Seconds, as `longest`."""
    longest: float

    def after(self, failures: int) -> float:
        """Seconds to pause after so many failures, 1 or more."""
        return float(min(self.first * 2.0 ** min(failures - 1, 30), self.longest))


def steady(seconds: float) -> Backoff:
    """The same pause each time."""
    return Backoff(seconds, seconds)


def await_condition(
    holds: Callable[[], bool],
    seconds: float,
    *,
    every: float = 0.05,
    pause: Pause | None = None,
) -> bool:
    """Look until a condition holds, `every` so many seconds and for `seconds` at most; whether it
    does. It is looked at once at least, and whatever it raises goes on to the caller."""
    deadline = time.monotonic() + seconds
    while not holds():
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        (pause or time.sleep)(min(every, left))
    return True


def retried(
    action: Callable[[], T],
    passes: Callable[[Exception], bool],
    seconds: float,
    *,
    backoff: Backoff,
    pause: Pause | None = None,
) -> T:
    """What an action gives, tried again after errors that pass by themselves, for `seconds` from
    the first attempt on. Any other error, and the last one, goes on to the caller."""
    deadline = time.monotonic() + seconds
    failures = 0
    while True:
        try:
            return action()
        except Exception as error:
            failures += 1
            left = deadline - time.monotonic()
            if left <= 0 or not passes(error):
                raise
            (pause or time.sleep)(min(backoff.after(failures), left))
