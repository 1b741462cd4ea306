"""Runs all queries over the current contents of their topics, upstream queries first."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from streamsql.catalog import Catalog
from streamsql.kafka.positions import Positions, distance
from streamsql.status import QueryState

if TYPE_CHECKING:
    from streamsql.runtime.state import EngineState

Progress = Callable[[int, int], None]

METER_SECONDS = 0.5


def catch_up(state: EngineState, progress: Progress | None = None) -> None:
    """Drains the queries level by level; ExternalError if one fails permanently."""
    paused = {i.id for i in state.queries.infos() if i.state is QueryState.PAUSED}
    levels = [
        [query_id for query_id in level if query_id not in paused]
        for level in in_order(state.catalog)
    ]
    meter = _Meter(state, [query_id for level in levels for query_id in level], progress)
    for level in levels:
        state.queries.drain(level, meter.tick)
        meter.tick(now=True)


def in_order(catalog: Catalog) -> list[list[str]]:
    """The persistent queries by level: each reads only the output of earlier levels. Circular
    queries are the last level."""
    left = dict(catalog.queries)
    levels = []
    while left:
        written = {q.writes for q in left.values()}
        level = [q.id for q in left.values() if not written.intersection(q.reads)]
        level = level or list(left)
        levels.append(level)
        for query_id in level:
            del left[query_id]
    return levels


class _Meter:
    """Counts input records of queries, whose ends move as other queries write."""

    def __init__(self, state: EngineState, query_ids: list[str], progress: Progress | None) -> None:
        self._state = state
        self._progress = progress
        self._start: dict[str, Positions] = {}
        self._next = 0.0
        if progress is not None:
            for query_id in query_ids:
                definition = state.queries.definition(query_id)
                self._start[query_id] = state.launcher.positions(definition)
            self.tick()

    def tick(self, *, now: bool = False) -> None:
        """Reports progress at a limited rate, since the end offsets are expensive."""
        if self._progress is None or (not now and time.monotonic() < self._next):
            return
        self._next = time.monotonic() + METER_SECONDS
        done = total = 0
        for query_id, start in self._start.items():
            position = self._state.queries.position(query_id) or start
            lag = self._state.launcher.lag(self._state.queries.definition(query_id), position)
            read = distance(start, position)
            done += read
            total += read + lag
        self._progress(done, total)
