"""The prepared flights into the topic, as `streamsql load` does it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from streamsql.executor.kafka import KafkaClient
from streamsql.executor.load import LoadSpec, Progress, Summary, load

TOPIC = "flights"


def feed(
    file: Path,
    client: KafkaClient,
    progress: Callable[[Progress], None] = lambda _: None,
    *,
    rate: int | None = None,
) -> Summary:
    """Write each flight with its scheduled departure as the record's time."""
    spec = LoadSpec(str(file), TOPIC, timestamp="departure", partitions=1, rate=rate)
    return load(spec, client, progress)
