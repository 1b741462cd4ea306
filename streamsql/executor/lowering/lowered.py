"""Caches lowered queries until their start; each is taken once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from streamsql.planner.plans.query_plan import Mode

if TYPE_CHECKING:
    from streamsql.executor.frames.context import StreamingQuerySpec

MOST = 16
"""The maximum number of cached queries; evicted ones are lowered again."""


class LoweredQueries:
    """The lowered queries of one engine, by id. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[object, Mode, StreamingQuerySpec]] = OrderedDict()

    def keep(self, query_id: str, query: object, mode: Mode, spec: StreamingQuerySpec) -> None:
        """Keeps a lowered query for its next start in this mode."""
        with self._lock:
            self._kept[query_id] = (query, mode, spec)
            self._kept.move_to_end(query_id)
            if len(self._kept) > MOST:
                self._kept.popitem(last=False)

    def take(self, query_id: str, query: object, mode: Mode) -> StreamingQuerySpec | None:
        """Removes and returns the cached query, if it matches."""
        with self._lock:
            found, kept_for, spec = self._kept.pop(query_id, (None, None, None))
        return spec if found is query and kept_for is mode else None
