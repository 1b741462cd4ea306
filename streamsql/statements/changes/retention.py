"""The input of a rebuild, and the part of it that retention has deleted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from streamsql.pipelines.reading import Lost, Reading
from streamsql.status import QueryMetrics

if TYPE_CHECKING:
    from streamsql.executor.queries.definition import Definition, KnownQuery

Begins = Callable[[str], Mapping[int, int]]
"""First offset of each partition by topic."""


def wanted_offsets(query: Definition, topic: str, partitions: Iterable[int]) -> dict[int, int]:
    given = (query.starting_offsets or {}).get(topic, {})
    return {partition: given.get(str(partition), 0) for partition in partitions}


def lost_of(query: Definition, topic: str, begins: Mapping[int, int]) -> list[Lost]:
    """Deleted records of a topic that the query reads."""
    wanted = wanted_offsets(query, topic, begins)
    return [
        Lost(topic, partition, wanted[partition], begin)
        for partition, begin in begins.items()
        if begin > wanted[partition]
    ]


def rate_of(query_id: str, topics: Iterable[str], known: Mapping[str, KnownQuery]) -> float | None:
    """Catch-up rate in records per second: the query's, or the lowest of the queries over one of
    its topics."""
    wanted, own = set(topics), known.get(query_id)
    if own is not None and own.read_rate is not None:
        return own.read_rate
    like = (q for q in known.values() if wanted & set(q.definition.topics))
    return min((q.read_rate for q in like if q.read_rate is not None), default=None)


def reading_of(
    query: Definition,
    topics: Iterable[str],
    begins: Begins,
    ends: Begins,
    metrics: QueryMetrics | None,
    rate: float | None = None,
) -> Reading:
    """The input of a rebuild from the query's start offsets; added topics count as a whole. `rate`
    is in records per second, if known."""
    records, lost = 0, []
    for topic in topics:
        first = begins(topic)
        wanted = wanted_offsets(query, topic, first) if topic in query.topics else {}
        if topic in query.topics:
            lost += lost_of(query, topic, first)
        records += sum(
            max(0, end - max(first.get(p, 0), wanted.get(p, 0))) for p, end in ends(topic).items()
        )
    size = None
    if metrics is not None and metrics.records_in and metrics.bytes_in:
        size = records * metrics.bytes_in // metrics.records_in
    seconds = None if rate is None else math.ceil(records / rate)
    return Reading(records, size, tuple(lost), seconds)
