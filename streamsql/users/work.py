"""A bounded thread pool for blocking work, shared by all ports of a server."""

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
"""How long a statement waits for a thread."""


class WorkThreads:
    """At most `limit` concurrent statements; others wait in order, for a bounded time. Usable from
    any event loop and thread."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._wait = WAIT_SECONDS
        self._free = limit
        self._waiting: deque[Future[None]] = deque()
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(limit, thread_name_prefix="work")

    async def run(self, work: Callable[[], T], *, patient: bool = False) -> T:
        """Runs blocking work in a thread. A cancelled caller leaves the thread to its work, which
        counts until it ends. A `patient` caller waits without a timeout."""
        await self.enter(patient=patient)
        try:
            future = self._threads.submit(contextvars.copy_context().run, work)
        except BaseException:
            self.leave()
            raise
        future.add_done_callback(lambda _: self.leave())
        return await asyncio.wrap_future(future)

    async def enter(self, *, patient: bool = False) -> None:
        """Acquires a slot, which `leave` releases; ExternalError on timeout."""
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
        turn = self._turn()
        try:
            turn.result(self._wait)
        except FutureTimeout:
            self._give_up(turn)
            raise self._busy() from None

    def leave(self) -> None:
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
            f"the server is busy: {self._limit} statements are running, which is its maximum",
            retryable=True,
            hint="Retry in a few seconds.",
        )
