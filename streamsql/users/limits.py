"""How much one client may ask for: so many requests a second, and some more in a burst."""

from __future__ import annotations

import time
from collections.abc import Callable

CLIENTS = 10_000
"""Clients that are remembered; those that were idle the longest are forgotten first."""


class Rate:
    """A bucket of tokens for each client: a request takes one, and they come back with time.

    For one thread, the event loop's.
    """

    def __init__(
        self, per_second: float, burst: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_second = per_second
        self._burst = max(1.0, burst)
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}
        """Tokens that were left, and when."""

    def wait(self, client: str) -> float:
        """Seconds until the client may ask (0: now), without asking."""
        return max(0.0, (1.0 - self._left(client)) / self._per_second)

    def take(self, client: str) -> float:
        """Ask: 0, or how many seconds to wait before it is of any use."""
        left = self._left(client)
        if left < 1.0:
            return (1.0 - left) / self._per_second
        self._buckets.pop(client, None)
        self._buckets[client] = (left - 1.0, self._clock())
        while len(self._buckets) > CLIENTS:
            self._buckets.pop(next(iter(self._buckets)))
        return 0.0

    def give_back(self, client: str) -> None:
        """What was asked for does not count after all."""
        self._buckets[client] = (min(self._burst, self._left(client) + 1.0), self._clock())

    def _left(self, client: str) -> float:
        left, since = self._buckets.get(client, (self._burst, 0.0))
        return min(self._burst, left + (self._clock() - since) * self._per_second)
