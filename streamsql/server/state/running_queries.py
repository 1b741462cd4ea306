"""Push queries and PRINTs of this server's clients."""

from __future__ import annotations

import itertools
import threading
from typing import Protocol

from streamsql.ksqldb import says
from streamsql.server.http.errors import TOO_MANY_QUERIES, RequestError


class Ended(Protocol):
    """A running result that any thread can end."""

    def close(self) -> None: ...


class RunningQueries:
    """Bounds the number of push queries, and ends them by name or all together."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._places = 0
        self._numbers = itertools.count(1)
        self._running: dict[str, Ended] = {}
        self._lock = threading.Lock()

    def reserve(self) -> None:
        """Acquires a slot before starting anything; RequestError at the limit."""
        with self._lock:
            if self._places >= self._limit:
                raise RequestError(
                    TOO_MANY_QUERIES,
                    "The server refuses to start another push query: it has reached the maximum "
                    f"number of {self._limit} at a time.",
                    ksqldb=says("push-queries"),
                )
            self._places += 1

    def release(self) -> None:
        """Releases a slot."""
        with self._lock:
            self._places -= 1

    def add(self, query_id: str | None, query: Ended) -> str:
        name = query_id or f"print_{next(self._numbers)}"
        with self._lock:
            self._running[name] = query
        return name

    def remove(self, name: str) -> None:
        with self._lock:
            self._running.pop(name, None)

    def close(self, name: str) -> bool:
        """Ends the query; False if it is not running."""
        with self._lock:
            query = self._running.get(name)
        if query is not None:
            query.close()
        return query is not None

    def close_all(self) -> None:
        with self._lock:
            running = list(self._running.values())
        for query in running:
            query.close()

    def __len__(self) -> int:
        return len(self._running)
