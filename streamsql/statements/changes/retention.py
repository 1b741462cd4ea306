"""What a query that is built anew reads again, and what the log has no more of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamsql.status import QueryMetrics

if TYPE_CHECKING:
    from streamsql.executor.queries.persistent_query import Definition, KnownQuery

Begins = Callable[[str], Mapping[int, int]]
"""Of a topic, the first offset of each partition."""


@dataclass(frozen=True)
class Lost:
    """Records that a query has read, or could have, and that are there no more."""

    topic: str
    partition: int
    first: int
    begin: int
    """The first offset that is there."""

    def __str__(self) -> str:
        return f"{self.topic}, partition {self.partition}, offsets {self.first} to {self.begin - 1}"


def wanted_offsets(query: Definition, topic: str, partitions: Iterable[int]) -> dict[int, int]:
    """Where the query began to read a topic."""
    given = (query.starting_offsets or {}).get(topic, {})
    return {partition: given.get(str(partition), 0) for partition in partitions}


def lost_of(query: Definition, topic: str, begins: Mapping[int, int]) -> list[Lost]:
    """What is gone of a topic that the query reads."""
    wanted = wanted_offsets(query, topic, begins)
    return [
        Lost(topic, partition, wanted[partition], begin)
        for partition, begin in begins.items()
        if begin > wanted[partition]
    ]


@dataclass(frozen=True)
class Reading:
    """What would be read again."""

    records: int
    """About: those that compaction has taken out count."""
    bytes: int | None
    """By what the query's records have had so far; None where it has read none yet."""
    lost: tuple[Lost, ...]
    seconds: int | None = None
    """By how fast the query, or one over the same topics, last caught up; None where none has."""


def rate_of(query_id: str, topics: Iterable[str], known: Mapping[str, KnownQuery]) -> float | None:
    """How many records a second a query reads that catches up: it, or the slowest of those that
    read one of its topics."""
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
    """Of a query that is built anew over these topics, from where it began; topics that are new to
    it are taken as a whole. `rate` is of records a second, where one is known."""
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
