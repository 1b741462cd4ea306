"""Waiting for a condition, with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable


def await_until(
    condition: Callable[[], bool], what: str, timeout: float = 30.0, *, every: float = 0.02
) -> None:
    """Return as soon as `condition` holds; fail, saying `what` did not, after `timeout` seconds.

    Looks every `every` seconds.
    """
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout} s: {what}")
        time.sleep(every)
