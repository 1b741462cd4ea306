"""The push queries and PRINTs that clients of this server look at just now."""

from __future__ import annotations

import itertools
import threading
from typing import Protocol

from streamsql.ksqldb import says
from streamsql.server.http.errors import TOO_MANY_QUERIES, RequestError


class Ended(Protocol):
    """Something that can be told to end, from any thread."""

    def close(self) -> None:
        """End it, from any thread."""


class RunningQueries:
    """Bounds their number, and ends them by name or all together."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._places = 0
        self._numbers = itertools.count(1)
        self._running: dict[str, Ended] = {}
        self._lock = threading.Lock()

    def reserve(self) -> None:
        """Take a place, before anything is started. RequestError if there is none."""
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
        """Give back a place that was taken."""
        with self._lock:
            self._places -= 1

    def add(self, query_id: str | None, query: Ended) -> str:
        """Note a query that has begun, and its name."""
        name = query_id or f"print_{next(self._numbers)}"
        with self._lock:
            self._running[name] = query
        return name

    def remove(self, name: str) -> None:
        """The query of that name has ended."""
        with self._lock:
            self._running.pop(name, None)

    def close(self, name: str) -> bool:
        """End the query of that name; False if none runs."""
        with self._lock:
            query = self._running.get(name)
        if query is not None:
            query.close()
        return query is not None

    def close_all(self) -> None:
        """End all of them."""
        with self._lock:
            running = list(self._running.values())
        for query in running:
            query.close()

    def __len__(self) -> int:
        return len(self._running)
