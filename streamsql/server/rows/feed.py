"""Bridges a blocking iterator to the event loop with a bounded buffer. A thread reads a push
query's rows into the buffer. With a slow client the buffer is full and the thread waits: the rows
stay in the query's topic in Kafka, so a slow client costs no memory and loses nothing."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Feed(Generic[T]):
    """Created on the event loop. `cancel` must end the iterator soon, from any thread."""

    def __init__(self, items: Iterator[T], cancel: Callable[[], None], bound: int) -> None:
        self._items = items
        self._cancel = cancel
        self._bound = bound
        self._buffer: deque[T] = deque()
        self._room = threading.Condition()
        self._closed = False
        self._finished = False
        self._error: BaseException | None = None
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._thread = threading.Thread(target=self._pump, name="feed", daemon=True)

    def start(self) -> None:
        self._thread.start()

    async def take(self) -> list[T]:
        """Available items, or the next one; empty at the end. Raises the iterator's error after all
        items before it."""
        while True:
            self._news.clear()
            with self._room:
                taken = list(self._buffer)
                self._buffer.clear()
                finished = self._finished
                self._room.notify()
            if taken:
                return taken
            if finished:
                if self._error is not None:
                    raise self._error
                return []
            await self._news.wait()

    def close(self) -> None:
        """Ends the iterator and drops its remaining items. Idempotent."""
        with self._room:
            self._closed = True
            self._room.notify()
        self._cancel()

    def _pump(self) -> None:
        try:
            for item in self._items:
                with self._room:
                    while len(self._buffer) >= self._bound and not self._closed:
                        self._room.wait()
                    if self._closed:
                        return
                    self._buffer.append(item)
                    first = len(self._buffer) == 1
                if first:
                    self._tell()
        except BaseException as error:
            self._error = error
        finally:
            with self._room:
                self._finished = True
            self._tell()

    def _tell(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._news.set)
        except RuntimeError:
            pass  # The loop is closed, and so is the consumer.
