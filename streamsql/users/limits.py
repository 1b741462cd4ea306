"""Rate limit per client with a burst."""

from __future__ import annotations

import time
from collections.abc import Callable

CLIENTS = 10_000
"""Number of tracked clients; the least recently active are evicted."""


class Rate:
    """A token bucket per client. Not thread-safe: used from the event loop."""

    def __init__(
        self, per_second: float, burst: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_second = per_second
        self._burst = max(1.0, burst)
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}
        """Remaining tokens, and their time."""

    def wait(self, client: str) -> float:
        """Seconds until the next request is allowed (0: now), without taking a token."""
        return max(0.0, (1.0 - self._left(client)) / self._per_second)

    def take(self, client: str) -> float:
        left = self._left(client)
        if left < 1.0:
            return (1.0 - left) / self._per_second
        self._buckets.pop(client, None)
        self._buckets[client] = (left - 1.0, self._clock())
        while len(self._buckets) > CLIENTS:
            self._buckets.pop(next(iter(self._buckets)))
        return 0.0

    def give_back(self, client: str) -> None:
        """Returns the token of a request that does not count."""
        self._buckets[client] = (min(self._burst, self._left(client) + 1.0), self._clock())

    def _left(self, client: str) -> float:
        left, since = self._buckets.get(client, (self._burst, 0.0))
        return min(self._burst, left + (self._clock() - since) * self._per_second)
