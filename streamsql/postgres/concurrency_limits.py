"""Concurrency limits for all clients: scans wait in order, push queries have slots."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from streamsql.postgres.errors import TOO_MANY, PgError
from streamsql.users.work import WorkThreads

T = TypeVar("T")


class ConcurrencyLimits:
    """One per listener; used on its event loop. Each client runs one statement at a time, and slots
    are granted in order of request, so a dashboard with twenty panels does not block others."""

    def __init__(self, scans: int, pushes: int, work: WorkThreads) -> None:
        """`work` counts the threads of statements, including those of other ports."""
        self._scans = asyncio.Semaphore(scans)
        self._pushes = pushes
        self.work = work

    async def admitted(self, *, continuous: bool) -> Slot:
        """Slot of a starting statement: a push-query slot with `continuous`, otherwise a scan slot,
        which is awaited, and a thread."""
        if continuous:
            self.push()
            return Slot(self, self.pushed, parked=True)
        await self._scans.acquire()
        try:
            await self.work.enter()
        except BaseException:
            self._scans.release()
            raise
        return Slot(self, self._scanned, parked=False)

    def _scanned(self) -> None:
        self._scans.release()
        self.work.leave()

    def push(self) -> None:
        """Acquires a push-query slot, which `pushed` releases; PgError at the limit."""
        if not self._pushes:
            raise PgError(
                TOO_MANY,
                "too many push queries, or results that wait for their clients",
                hint="End one of them, or start the server with a larger --max-push-queries.",
            )
        self._pushes -= 1

    def pushed(self) -> None:
        """A slot is free again."""
        self._pushes += 1

    async def short(self, work: Callable[[], T]) -> T:
        """Runs something that blocks briefly, off the event loop."""
        return await self.work.run(work)


class Slot:
    """Slot of a statement until its thread has ended."""

    def __init__(
        self, limits: ConcurrencyLimits, release: Callable[[], None], *, parked: bool
    ) -> None:
        self._limits = limits
        self._release = release
        self._parked = parked

    def park(self) -> None:
        """Switches to a push-query slot, since the statement now waits for its client. PgError at
        the limit."""
        if not self._parked:
            self._limits.push()
            self._release()
            self._release, self._parked = self._limits.pushed, True

    def release(self) -> None:
        self._release()
