"""Splits inputs into the fewest pieces that, processed one after the other, take effect in order.

Within a piece the operators see each topic's records in order and take the topics by timestamp, the
lowest first; so a piece ends where that would not be the order of the list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streamsql.planner.operators import state_stores
from streamsql.planner.plans.query_plan import QueryPlan


@dataclass(frozen=True)
class Arrival:
    """Determines the order of an input. `time` None: unknown event time."""

    topic: str
    time: int | None


def segments(arrivals: Sequence[Arrival], *, ordered: bool, each: bool = False) -> list[range]:
    """The pieces, as ranges of indices. Not `ordered`: the order is of no effect. `each`: a piece
    for every record."""
    if not arrivals:
        return []
    if not ordered and not each:
        return [range(len(arrivals))]
    starts = [0]
    for i in range(1, len(arrivals)):
        if each or not _follows(arrivals[i - 1], arrivals[i]):
            starts.append(i)
    return [range(a, b) for a, b in zip(starts, [*starts[1:], len(arrivals)], strict=True)]


def _follows(before: Arrival, after: Arrival) -> bool:
    """Whether taking the lowest timestamp first keeps the order of the two."""
    if before.time is None or after.time is None:
        return False
    if before.topic == after.topic:
        return before.time <= after.time
    return before.time < after.time


def order_matters(queries: Sequence[QueryPlan]) -> bool:
    """Whether a query's result for a record depends on preceding records."""
    return any(state_stores(query.root) for query in queries)
