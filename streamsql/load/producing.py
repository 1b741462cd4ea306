"""Chunks of records into a topic: as fast as Kafka takes them, or at a given rate."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from streamsql.errors import ConfigError, ExternalError
from streamsql.kafka.records import failure
from streamsql.load.spec import Chunk

if TYPE_CHECKING:
    from streamsql.kafka.client import KafkaClient

T = TypeVar("T")

QUEUE_RECORDS = 500_000
POLL_SECONDS = 0.1
PACES_PER_SECOND = 50
"""A rate is kept by this many small bursts a second."""

_BULK = {
    "linger.ms": 20,
    "batch.size": 1 << 20,
    "batch.num.messages": 50_000,
    "queue.buffering.max.messages": QUEUE_RECORDS,
    "queue.buffering.max.kbytes": 256 << 10,
    "compression.type": "lz4",
}
_PACED = {"linger.ms": 1}


class BulkProducer:
    """Writes chunks into one topic; keys go to the partitions that Kafka's own clients choose."""

    def __init__(self, client: KafkaClient, topic: str, rate: int | None = None) -> None:
        """`client` says where and how; `rate` in records a second, None is as fast as can be."""
        self._bootstrap = client.bootstrap
        self._topic = topic
        self._rate = rate
        self._failed: list[KafkaError] = []
        self._started = 0.0
        self.sent = 0
        self._producer = Producer(
            {
                **client.settings,
                "enable.idempotence": True,
                "partitioner": "murmur2_random",
                "delivery.report.only.error": True,
                "on_delivery": self._on_delivery,
                **(_PACED if rate else _BULK),
            }
        )

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failed.append(error)

    def write(self, chunk: Chunk, on_sent: Callable[[int], None]) -> None:
        """Queue the chunk's records in their order; `on_sent` gets the total now and then.

        ConfigError for a record of the timestamp 0, which this client would write as now.
        """
        if chunk.timestamps is not None and 0 in chunk.timestamps:
            raise ConfigError(
                "a record has the timestamp 0 (1970-01-01), which cannot be loaded",
                hint="Leave its timestamp empty, to leave the row out, or INSERT it.",
            )
        if not self._started:
            self._started = time.monotonic()
        step = max(1, self._rate // PACES_PER_SECOND) if self._rate else len(chunk.values)
        for start in range(0, len(chunk.values), max(step, 1)):
            if self._rate:
                self._wait_for_turn(self._rate)
            self._send(chunk, start, start + step)
            self.sent += min(step, len(chunk.values) - start)
            self._raise_failed()
            on_sent(self.sent)

    def _wait_for_turn(self, rate: int) -> None:
        due = self._started + self.sent / rate
        while (left := due - time.monotonic()) > 0:
            self._producer.poll(0)
            time.sleep(min(left, POLL_SECONDS))

    def _send(self, chunk: Chunk, start: int, end: int) -> None:
        values = chunk.values[start:end]
        keys: Iterator[bytes | None] = _slice(chunk.keys, start, end, len(values), None)
        times: Iterator[int] = _slice(chunk.timestamps, start, end, len(values), 0)
        produce, topic = self._producer.produce, self._topic
        for value, key, timestamp in zip(values, keys, times, strict=True):
            try:
                produce(topic, value, key, timestamp=timestamp)
            except BufferError:
                self._produce_when_there_is_room(value, key, timestamp)
            except KafkaException as error:
                raise failure(self._bootstrap, f"write to {topic}", error) from error

    def _produce_when_there_is_room(self, value: bytes, key: bytes | None, timestamp: int) -> None:
        while True:
            self._producer.poll(POLL_SECONDS)
            self._raise_failed()
            try:
                self._producer.produce(self._topic, value, key, timestamp=timestamp)
            except BufferError:
                continue
            return

    def flush(self) -> None:
        """Wait until every record is acknowledged; ExternalError for one that is not."""
        while self._producer.flush(POLL_SECONDS) > 0:
            self._raise_failed()
        self._raise_failed()

    def abandon(self) -> None:
        """Forget what has not been sent yet."""
        self._producer.purge(True, True, False)
        self._producer.flush(POLL_SECONDS)

    def _raise_failed(self) -> None:
        self._producer.poll(0)
        if self._failed:
            error: ExternalError = failure(
                self._bootstrap, f"write to {self._topic}", KafkaException(self._failed[0])
            )
            raise error


def _slice(items: Sequence[T] | None, start: int, end: int, count: int, missing: T) -> Iterator[T]:
    return iter(items[start:end] if items is not None else [missing] * count)
