"""Which queries may start now, or leave Spark, as far as that depends on the other queries."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from operator import itemgetter

from streamsql.executor.queries import crash_isolation
from streamsql.executor.queries.phases import Deferred, Failed, Live, Ready
from streamsql.executor.queries.query import Query
from streamsql.status import QueryState

_FILLING = (QueryState.STARTING, QueryState.CATCHING_UP)


REST_SECONDS = 60.0
"""A query without records for this time can leave Spark to others."""
RESTS_AT_ONCE = 4
"""The most queries that leave Spark at a time: each is a worker's effect."""


def is_full(queries: Iterable[Query], room: float) -> bool:
    """Whether Spark has no room for one more query without records."""
    return _runs(queries) >= room


def may_start(
    query: Query,
    queries: Collection[Query],
    now: float,
    *,
    by_itself: bool,
    room: float = math.inf,
) -> bool:
    """Whether a query may start beside the others. `by_itself` False: only to drain; `room`: see
    `is_full`."""
    match query.phase:
        case Deferred() if query.health.asleep:
            # One at a time, while nothing else starts or stops.
            rests = query.definition.may_rest and is_full(queries, room)
            return not (rests or any(other.busy for other in queries))
        case Deferred():
            return True
        case Ready() | Failed() if by_itself or query.goal.drain:
            waits = query.definition.merges and not query.goal.drain
            fed = waits and any(_feeds(other, query) for other in queries)
            return not fed and crash_isolation.may_start(query, queries, now)
    return False


def surplus(queries: Collection[Query], room: float, now: float) -> list[Query]:
    """The queries to take out of Spark, of more than it has room for: those that have been without
    records for the longest time."""
    more = min(RESTS_AT_ONCE, _runs(queries) - room)
    if more <= 0:
        return []
    sleepers = [
        (slept, query)
        for query in queries
        if isinstance(query.phase, Live)
        and query.definition.may_rest
        and query.health.lag == 0  # Otherwise it starts again, as where a topic ends with a marker.
        and (slept := query.health.use.slept(now)) >= REST_SECONDS
    ]
    sleepers.sort(key=itemgetter(0), reverse=True)
    return [query for _, query in sleepers[: int(more)]]


def _runs(queries: Iterable[Query]) -> int:
    return sum(query.run is not None for query in queries)


def _feeds(other: Query, query: Query) -> bool:
    """Whether another query is still filling what a query reads."""
    reads, writes = query.definition.topics, query.definition.writes
    return (
        other.id != query.id
        and other.definition.writes in reads
        and other.state(None) in _FILLING
        and writes not in other.definition.topics
    )
