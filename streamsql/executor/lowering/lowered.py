"""What queries have been lowered to and are about to be started with: each is taken once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from streamsql.planner.plans.query_plan import Mode

if TYPE_CHECKING:
    from streamsql.executor.frames.context import StreamingQuerySpec

MOST = 16
"""Queries of which that is kept at a time; of more, some are lowered a second time."""


class LoweredQueries:
    """Those of one engine, by their ids; may be used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[object, Mode, StreamingQuerySpec]] = OrderedDict()

    def keep(self, query_id: str, query: object, mode: Mode, spec: StreamingQuerySpec) -> None:
        """For the next start of this very query in this mode."""
        with self._lock:
            self._kept[query_id] = (query, mode, spec)
            self._kept.move_to_end(query_id)
            if len(self._kept) > MOST:
                self._kept.popitem(last=False)

    def take(self, query_id: str, query: object, mode: Mode) -> StreamingQuerySpec | None:
        """What was kept for that; whatever was kept under the id is gone then."""
        with self._lock:
            found, kept_for, spec = self._kept.pop(query_id, (None, None, None))
        return spec if found is query and kept_for is mode else None
