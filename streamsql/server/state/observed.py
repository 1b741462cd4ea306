"""A cached observation of an expensive value, shared by all clients."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

FRESH_SECONDS = 0.9


class Observed:
    """The latest observation; refreshed on demand when it is old."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = asyncio.Lock()
        self._seen: dict[str, Any] = {}
        self._at = float("-inf")

    async def now(self, look: Callable[[], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
        """At most a second old."""
        async with self._lock:
            if self._clock() - self._at > FRESH_SECONDS:
                self._seen = await look()
                self._at = self._clock()
            return self._seen
