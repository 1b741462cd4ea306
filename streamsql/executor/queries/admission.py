"""Which queries may start now, as far as that depends on the other queries."""

from __future__ import annotations

from collections.abc import Collection

from streamsql.executor.queries import crash_isolation
from streamsql.executor.queries.phases import Deferred, Failed, Ready
from streamsql.executor.queries.query import Query
from streamsql.status import QueryState

_FILLING = (QueryState.STARTING, QueryState.CATCHING_UP)


def may_start(query: Query, queries: Collection[Query], now: float, *, by_itself: bool) -> bool:
    """Whether a query may start beside the others. `by_itself` False: only to drain."""
    match query.phase:
        case Deferred():
            # Without records to read, one at a time while nothing else starts or stops.
            return not (query.health.asleep and any(other.busy for other in queries))
        case Ready() | Failed() if by_itself or query.goal.drain:
            waits = query.definition.merges and not query.goal.drain
            fed = waits and any(_feeds(other, query) for other in queries)
            return not fed and crash_isolation.may_start(query, queries, now)
    return False


def _feeds(other: Query, query: Query) -> bool:
    """Whether another query is still filling what a query reads."""
    reads, writes = query.definition.topics, query.definition.writes
    return (
        other.id != query.id
        and other.definition.writes in reads
        and other.state(None) in _FILLING
        and writes not in other.definition.topics
    )
