"""Runs all queries over what is there, each after those that feed it."""

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
    """Drain the queries level by level; ExternalError where one fails for good."""
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
    """The persistent queries in levels: each reads only what earlier levels write. Queries that
    feed each other in a circle come last, together."""
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
    """Counts records: each query's input, whose end moves as other queries write to it."""

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
        """Report, but not so often that asking for the ends slows down the work itself."""
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
