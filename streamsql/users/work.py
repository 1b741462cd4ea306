"""Threads for what blocks, of all ports of a server together, with a bound on their number."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TypeVar

from streamsql.errors import ExternalError

T = TypeVar("T")
WAIT_SECONDS = 5.0
"""How long a statement waits for a thread before it is refused."""


class WorkThreads:
    """At most `limit` statements at work; further ones wait their turn in order, for a bounded
    time. May be used from any event loop and thread."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._wait = WAIT_SECONDS
        self._free = limit
        self._waiting: deque[Future[None]] = deque()
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(limit, thread_name_prefix="work")

    async def run(self, work: Callable[[], T], *, patient: bool = False) -> T:
        """Do what blocks in a thread. Who is cancelled meanwhile leaves the thread to its work,
        which counts until it ends. Who is `patient` waits for a thread as long as it takes."""
        await self.enter(patient=patient)
        try:
            future = self._threads.submit(contextvars.copy_context().run, work)
        except BaseException:
            self.leave()
            raise
        future.add_done_callback(lambda _: self.leave())
        return await asyncio.wrap_future(future)

    async def enter(self, *, patient: bool = False) -> None:
        """Count one more at work, which `leave` ends; ExternalError where it waits too long."""
        turn = self._turn()
        if turn.done():
            return
        try:
            async with asyncio.timeout(None if patient else self._wait):
                await asyncio.wrap_future(turn)
        except TimeoutError:
            self._give_up(turn)
            raise self._busy() from None
        except BaseException:
            self._give_up(turn)
            raise

    def enter_thread(self) -> None:
        """As `enter`, from a thread."""
        turn = self._turn()
        try:
            turn.result(self._wait)
        except FutureTimeout:
            self._give_up(turn)
            raise self._busy() from None

    def leave(self) -> None:
        """One less is at work."""
        with self._lock:
            while self._waiting:
                turn = self._waiting.popleft()
                if turn.set_running_or_notify_cancel():
                    turn.set_result(None)
                    return
            self._free += 1

    def _turn(self) -> Future[None]:
        turn: Future[None] = Future()
        with self._lock:
            if self._free:
                self._free -= 1
                turn.set_result(None)
            else:
                self._waiting.append(turn)
        return turn

    def _give_up(self, turn: Future[None]) -> None:
        if not turn.cancel():
            self.leave()  # The turn came at the same moment.

    def _busy(self) -> ExternalError:
        return ExternalError(
            f"the server is busy: {self._limit} statements are at work, which is its maximum",
            retryable=True,
            hint="Try again in some seconds.",
        )
