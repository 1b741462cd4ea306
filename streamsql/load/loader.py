"""One load from its beginning to its end: the topic, the input, the records, the summary."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain

from streamsql.config import is_internal
from streamsql.errors import ConfigError
from streamsql.kafka.client import KafkaClient
from streamsql.load.blocks import Input
from streamsql.load.columnar import csv_chunks, parquet_chunks
from streamsql.load.producing import BulkProducer
from streamsql.load.rows import json_chunks, text_chunks
from streamsql.load.spec import (
    Chunk,
    Columns,
    LoadSpec,
    Progress,
    ProgressCallback,
    Summary,
)

_READERS: dict[str, Callable[[Input, LoadSpec, Columns], Iterator[Chunk]]] = {
    "csv": csv_chunks,
    "json": json_chunks,
    "parquet": parquet_chunks,
    "text": text_chunks,
}
DEFAULT_PARTITIONS = 1


def load(spec: LoadSpec, client: KafkaClient, progress: ProgressCallback) -> Summary:
    """Writes the input's records to the topic in order, and waits for Kafka. Creates the topic if
    necessary. ConfigError for options that do not fit the input, ExternalError for a failing input
    or broker; records written before are kept."""
    if is_internal(spec.topic):
        raise ConfigError(
            f"the topic {spec.topic} is internal, and records cannot be loaded into it",
            hint="Load into another topic.",
        )
    reader = _READERS[spec.resolved_input_format()]
    columns = Columns()
    with Input(spec) as source:
        chunks = _limited(reader(source, spec, columns), spec.limit)
        # The first chunk is read before the topic is made: a wrong option leaves no topic.
        first = next(chunks, None)
        created = ensure_topic(client, spec.topic, spec.partitions)
        started = time.monotonic()
        producer = BulkProducer(client, spec.topic, spec.rate)
        skipped = 0
        try:
            for chunk in chain([first] if first else [], chunks):
                skipped += chunk.skipped
                fraction = min(chunk.position / source.size, 1.0) if source.size else None
                producer.write(chunk, _reporter(progress, fraction))
            producer.flush()
        except BaseException:
            producer.abandon()
            raise
    types = {name: kind or "STRING" for name, kind in columns.types.items()}
    return Summary(producer.sent, skipped, time.monotonic() - started, created, types)


def _reporter(progress: ProgressCallback, fraction: float | None) -> Callable[[int], None]:
    return lambda records: progress(Progress(records, fraction))


def ensure_topic(client: KafkaClient, topic: str, partitions: int | None) -> bool:
    """Whether the topic had to be made; ConfigError where it has other partitions than asked."""
    existing = client.partitions(topic)
    if existing is None:
        return client.create_topic(topic, partitions or DEFAULT_PARTITIONS, exists_ok=True)
    if partitions is not None and partitions != existing:
        raise ConfigError(
            f"the topic {topic} has {existing} partitions, not {partitions}",
            hint="Leave --partitions out, or load into another topic.",
        )
    return False


def _limited(chunks: Iterator[Chunk], limit: int | None) -> Iterator[Chunk]:
    left = limit
    for chunk in chunks:
        if left is not None and len(chunk.values) >= left:
            if left:
                yield _head(chunk, left)
            return
        if left is not None:
            left -= len(chunk.values)
        yield chunk


def _head(chunk: Chunk, count: int) -> Chunk:
    return replace(
        chunk,
        values=chunk.values[:count],
        keys=chunk.keys[:count] if chunk.keys is not None else None,
        timestamps=chunk.timestamps[:count] if chunk.timestamps is not None else None,
    )
