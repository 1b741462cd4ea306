"""From a start position that a query names to offsets of its topic."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping

from streamsql.errors import ConfigError
from streamsql.kafka.client import KafkaClient
from streamsql.nodes import Start, StartPosition
from streamsql.planner.plans.starts import timestamp_of


def offsets_of(start: StartPosition, topic: str, client: KafkaClient) -> dict[int, int]:
    """The first offset to read of each partition; ConfigError for one that the topic has not."""
    match start.start:
        case Start.BEGINNING:
            return client.begin_offsets(topic)
        case Start.LATEST:
            return client.end_offsets(topic)
        case Start.TIMESTAMP:
            moment = timestamp_of(start)
            assert moment is not None, "the planner has looked at it"
            return client.offsets_at(topic, moment)
        case Start.OFFSETS:
            return _given(start, topic, client)


def explicit_offsets(
    topics: Iterable[str],
    starts: Mapping[str, StartPosition],
    default: Start,
    client: Callable[[], KafkaClient],
) -> dict[str, dict[str, int]]:
    """By topic and partition, as in JSON, the first offsets of topics that are not read from their
    beginning."""
    found = {}
    for topic in topics:
        start = starts.get(topic, StartPosition(default))
        if start.start is not Start.BEGINNING:
            offsets = offsets_of(start, topic, client())
            found[topic] = {str(p): offset for p, offset in offsets.items()}
    return found


def starting_text(
    offsets: Mapping[str, Mapping[str, int]] | None, partitions: Callable[[str], int | None]
) -> str:
    """Spark's start offsets of a new query. Spark requires all partitions of each listed topic:
    later ones are read from their beginning."""
    if not offsets:
        return "earliest"
    whole = {
        topic: {**{str(p): _EARLIEST for p in range(partitions(topic) or 0)}, **chosen}
        for topic, chosen in offsets.items()
    }
    return json.dumps(whole)


_EARLIEST = -2


def _given(start: StartPosition, topic: str, client: KafkaClient) -> dict[int, int]:
    """Partitions that are not named are read from their beginning."""
    offsets, ends = client.begin_offsets(topic), client.end_offsets(topic)
    for partition, offset in start.offsets:
        if partition not in ends:
            raise ConfigError(f"topic {topic} has no partition {partition}", span=start.span)
        if not offsets[partition] <= offset <= ends[partition]:
            raise ConfigError(
                f"partition {partition} of topic {topic} has no offset {offset}",
                detail=f"It has {offsets[partition]} to {ends[partition]}.",
                span=start.span,
            )
        offsets[partition] = offset
    return offsets
