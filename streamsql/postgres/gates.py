"""How much is at work for all clients together: scans wait their turn, push queries have places."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from streamsql.postgres.errors import TOO_MANY, PgError

T = TypeVar("T")
THREADS = 16


class Gates:
    """Made once a listener; used on its event loop.

    A client has one statement at work at a time, and turns come in the order in which they were
    asked for: so a dashboard with twenty panels does not keep others waiting for all of them.
    """

    def __init__(self, scans: int, pushes: int) -> None:
        self._scans = asyncio.Semaphore(scans)
        self._pushes = pushes
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="postgres")

    async def scan(self) -> None:
        """Wait for a turn; `scanned` gives it back."""
        await self._scans.acquire()

    def scanned(self) -> None:
        """A turn is over."""
        self._scans.release()

    def push(self) -> None:
        """Take a place of a push query, which `pushed` gives back; PgError where there is none."""
        if not self._pushes:
            raise PgError(
                TOO_MANY,
                "the server runs as many push queries as it may",
                hint="End one of them, or start the server with a larger --max-push-queries.",
            )
        self._pushes -= 1

    def pushed(self) -> None:
        """A place is free again."""
        self._pushes += 1

    async def short(self, work: Callable[[], T]) -> T:
        """Do something that blocks, but not for long, off the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def close(self) -> None:
        """The listener ends."""
        self._threads.shutdown(wait=False, cancel_futures=True)
