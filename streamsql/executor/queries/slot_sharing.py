"""Shares Spark's task slots, if there are too few for all queries in real time.

A query that waits for slots and gets records is given free ones, the busiest query first; if none
are free, those of the query that has slept the longest. That one continues in micro-batches, asleep
as before, until it gets busy itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from streamsql.executor.queries.phases import Live
from streamsql.executor.queries.query import Query
from streamsql.planner.plans.query_plan import Mode
from streamsql.properties import PROCESSING_MODE, get_text

SHARE_SECONDS = 5.0
"""How often slots are shared out: each move pauses a query for a second."""
SLEEPS_SECONDS = 60.0
"""A query without records for this time can give its slots away."""
LEAST_RATE = 1.0
"""Records per second; a query that gets fewer does as well in micro-batches."""
YIELDED = "it was idle; its task slots were given to busier queries"


def to_move(
    queries: Iterable[Query], has_room: Callable[[Query], bool], now: float
) -> Query | None:
    """The query to restart in its other mode; None if no slots are needed."""
    live = [query for query in queries if isinstance(query.phase, Live)]
    waiting = [q for q in live if _waits_for_slots(q) and q.health.use.rate >= LEAST_RATE]
    if not waiting:
        return None
    busiest = max(waiting, key=lambda q: q.health.use.rate)
    if has_room(busiest):
        return busiest
    sleepers = [q for q in live if _may_yield(q) and q.health.use.slept(now) >= SLEEPS_SECONDS]
    return max(sleepers, key=lambda q: q.health.use.slept(now), default=None)


def _waits_for_slots(query: Query) -> bool:
    planned = query.definition.plan.mode.mode is Mode.REAL_TIME
    return planned and not query.real_time and not query.health.switch.fell_behind


def _may_yield(query: Query) -> bool:
    asked_for = get_text(query.definition.properties, PROCESSING_MODE)
    return query.real_time and asked_for != "realtime"
