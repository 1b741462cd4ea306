"""Items on their way from a thread that makes them to an event loop that takes them."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Handover(Generic[T]):
    """A bounded buffer: a full one holds the thread back. Made where the event loop runs."""

    def __init__(self, limit: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._limit = limit
        self._items: deque[T] = deque()
        self._changed = threading.Condition()
        self._filled = asyncio.Event()
        self._ended = False
        self._abandoned = False

    def put(self, item: T) -> bool:
        """Called by the thread: waits for space; False if the consumer has gone."""
        with self._changed:
            while len(self._items) >= self._limit and not self._abandoned:
                self._changed.wait()
            if self._abandoned:
                return False
            self._items.append(item)
            first = len(self._items) == 1
        if first:
            self._tell()
        return True

    def end(self) -> None:
        with self._changed:
            self._ended = True
        self._tell()

    def abandon(self) -> None:
        """From any thread: the consumer stops."""
        with self._changed:
            self._abandoned = True
            self._changed.notify_all()

    def _tell(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._filled.set)
        except RuntimeError:
            # The loop is closed, and so is the consumer.
            self.abandon()

    async def take(self, timeout: float | None = None) -> list[T] | None:
        """All buffered items; empty after `timeout` seconds without any, None at the end."""
        try:
            await asyncio.wait_for(self._filled.wait(), timeout)
        except TimeoutError:
            return []
        self._filled.clear()
        with self._changed:
            items = list(self._items)
            self._items.clear()
            self._changed.notify_all()
            if self._ended:
                self._filled.set()
                return items or None
        return items
