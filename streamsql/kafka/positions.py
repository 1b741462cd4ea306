"""How far a reader of topics is: by topic and partition, the offset of the next record."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from streamsql.kafka.client import KafkaClient

Positions = dict[str, dict[int, int]]


def first_positions(
    topics: Iterable[str], starting: Mapping[str, Mapping[str, int]] | None, client: KafkaClient
) -> Positions:
    """Start positions of a reader: given offsets, otherwise the beginning."""
    found: Positions = {}
    for topic in topics:
        begin = client.begin_offsets(topic)
        chosen = (starting or {}).get(topic, {})
        found[topic] = {p: chosen.get(str(p), offset) for p, offset in begin.items()}
    return found


def distance(begin: Positions, end: Positions) -> int:
    """How many records lie between two positions, in the partitions of the second."""
    return sum(
        max(0, offset - begin.get(topic, {}).get(partition, 0))
        for topic, partitions in end.items()
        for partition, offset in partitions.items()
    )


def merge(positions: Positions, source: dict[str, object]) -> None:
    """Add a Kafka source's `{topic: {partition: offset}}`; anything else in it is left out.

    Two sources may read the same topic: the slower one counts.
    """
    for topic, partitions in source.items():
        if not isinstance(partitions, dict):
            continue
        for partition, offset in partitions.items():
            if isinstance(offset, int) and str(partition).isdigit():
                known, number = positions.setdefault(topic, {}), int(partition)
                known[number] = min(known.get(number, offset), offset)
