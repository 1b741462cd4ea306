"""Which queries hold Spark's task slots, where there are not enough for all in real time.

A query that would run in real time but found no slots, and gets records, is given those that are
free, the busiest query first; where none are, those of the query that has slept the longest. That
one goes on in micro-batches, asleep as before, until it is busy itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from streamsql.executor.queries.persistent_query import Activity, PersistentQuery
from streamsql.planner.plans.query_plan import Mode
from streamsql.properties import PROCESSING_MODE, get_text

SHARE_SECONDS = 5.0
"""How often slots are shared out anew: two starts of a query are a second without results each."""
SLEEPS_SECONDS = 60.0
"""A query without records for so long can give its slots away."""
LEAST_RATE = 1.0
"""Records a second: who gets fewer is served by micro-batches as well."""
YIELDED = "it got no records, and others needed its task slots"


def waits_for_slots(query: PersistentQuery) -> bool:
    """Whether it would run in real time, had it the slots."""
    return (
        query.run is not None
        and not query.switch.fell_behind
        and query.activity is Activity.LIVE
        and not query.real_time
        and query.definition.plan.mode.mode is Mode.REAL_TIME
    )


def to_move(
    queries: Iterable[PersistentQuery], has_room: Callable[[PersistentQuery], bool], now: float
) -> PersistentQuery | None:
    """The one query to be started anew, in its other mode; None where all is well."""
    found = list(queries)
    waiting = [q for q in found if waits_for_slots(q) and q.use.rate >= LEAST_RATE]
    if not waiting:
        return None
    busiest = max(waiting, key=lambda q: q.use.rate)
    if has_room(busiest):
        return busiest
    sleepers = [q for q in found if _may_yield(q) and q.use.slept(now) >= SLEEPS_SECONDS]
    return max(sleepers, key=lambda q: q.use.slept(now), default=None)


def _may_yield(query: PersistentQuery) -> bool:
    return (
        query.run is not None
        and query.activity is Activity.LIVE
        and query.real_time
        and get_text(query.definition.properties, PROCESSING_MODE) != "realtime"
    )
