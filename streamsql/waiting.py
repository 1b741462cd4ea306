"""Waiting for a condition, and retrying transient failures."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")
Pause = Callable[[float], object]
"""Sleeps for a number of seconds, or less if interrupted, as `Event.wait` does."""


@dataclass(frozen=True)
class Backoff:
    """Delays after consecutive failures: doubled each time."""

    first: float
    """Seconds, as is `longest`."""
    longest: float

    def after(self, failures: int) -> float:
        """Delay in seconds after a number of failures, at least 1."""
        return float(min(self.first * 2.0 ** min(failures - 1, 30), self.longest))


def steady(seconds: float) -> Backoff:
    """A constant delay."""
    return Backoff(seconds, seconds)


def await_condition(
    holds: Callable[[], bool],
    seconds: float,
    *,
    every: float = 0.05,
    pause: Pause | None = None,
) -> bool:
    """Polls a condition at an interval of `every` seconds until it holds or `seconds` have passed;
    returns whether it holds. Polls at least once; exceptions propagate."""
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
    """Runs an action, and retries it after retryable errors until `seconds` have passed. Other
    errors, and the last one, propagate."""
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
