"""Raw records to and from Kafka, and what a failure of Kafka means to the user.

Works on bytes; what they mean is the formats' business.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

import confluent_kafka
from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from streamsql.errors import ConfigError, ExternalError, InternalError

Settings = Mapping[str, str | int | float | bool]

Headers = Sequence[tuple[str, bytes | None]]

_log = logging.getLogger("streamsql.kafka")
LOOK_SECONDS = 1.0
"""How often a writer looks whether it was closed."""
POLL_SECONDS = 0.05
"""Maximum delay until a reader stops."""
_AHEAD_KBYTES = 4_096
"""How much a reader fetches before it is asked for."""

_LOST = {
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TRANSPORT,
    KafkaError._RESOLVE,
    KafkaError._TIMED_OUT,
    KafkaError._MSG_TIMED_OUT,
    KafkaError._WAIT_COORD,
    KafkaError.REQUEST_TIMED_OUT,
}


@dataclass(frozen=True)
class Record:
    """A record as Kafka holds it; `timestamp` in milliseconds, None where it has none."""

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


@dataclass(frozen=True)
class NewRecord:
    """A record to produce; without a timestamp or partition Kafka's client chooses them."""

    key: bytes | None
    value: bytes | None
    timestamp: int | None = None
    partition: int | None = None
    headers: Headers = ()


def failure(bootstrap: str, action: str, error: KafkaException) -> ExternalError:
    """The error to raise for one of the client library; retryable where the broker is lost."""
    cause = error.args[0]
    lost = cause.code() in _LOST
    return ExternalError(
        f"cannot {action}: {'no answer from Kafka' if lost else error_text(error)}",
        retryable=lost or cause.retriable(),
        detail=f"Kafka at {bootstrap}: {error_text(error)}" if lost else None,
    )


def error_text(error: KafkaException) -> str:
    """The client library's error message."""
    cause = error.args[0]
    return str(cause.str()) if isinstance(cause, KafkaError) else str(cause)


def is_unknown_topic(error: KafkaException) -> bool:
    """Whether a producer takes the topic for missing. Its cache says so for minutes, in which the
    topic may have been created again: `list_topics` refreshes it."""
    return bool(error.args[0].code() == KafkaError._UNKNOWN_TOPIC)


class Writer:
    """A producer that threads share: each call waits for its own records, and hears of no others.

    A thread of its own takes the acknowledgements. Each record ends within `timeout`, in one or an
    error, and so does each call.
    """

    def __init__(self, bootstrap: str, settings: Settings, timeout: float) -> None:
        """`timeout` in seconds is how long a record may wait for a lost broker."""
        self._bootstrap = bootstrap
        self._timeout = timeout
        defaults = {
            "enable.idempotence": True,
            # As in Java's clients, including Spark's: one key, one partition, for all writers.
            "partitioner": "murmur2_random",
            # How long a topic may be unknown: one just made by another client is known in less.
            "topic.metadata.propagation.max.ms": 3000,
            "message.timeout.ms": int(timeout * 1000),
        }
        try:
            self._producer = Producer({**defaults, **settings})
        except KafkaException as error:
            raise ConfigError(f"Kafka settings: {error_text(error)}") from error
        self._closed = threading.Event()
        threading.Thread(target=self._acknowledge, name="kafka writer", daemon=True).start()

    def write(self, topic: str, records: Iterable[NewRecord]) -> Written:
        """Write records and wait until Kafka has acknowledged all of them. Raises the error of the
        first one that it has not; those before that one may be there."""
        call = Written()
        for record in records:
            if record.timestamp == 0:
                raise InternalError("librdkafka writes the timestamp 0 as now: see epoch_records")
            self._send(topic, record, call)
        call.wait()
        self._raise_failed(call)
        return call

    def close(self) -> None:
        """Stops handling acknowledgements."""
        self._closed.set()

    def _acknowledge(self) -> None:
        while not self._closed.is_set():
            try:
                self._producer.poll(LOOK_SECONDS)
            except Exception:
                _log.exception("invalid acknowledgement from Kafka")

    def _send(self, topic: str, record: NewRecord, call: Written) -> None:
        """Queue a record, waiting where the queue is full."""
        asked = False
        while True:
            try:
                call.queue(partial(self._produce, topic, record, call))
                return
            except BufferError:
                time.sleep(POLL_SECONDS)
                self._raise_failed(call)
            except KafkaException as error:
                if asked or not is_unknown_topic(error):
                    raise failure(self._bootstrap, f"write to {topic}", error) from error
                asked = True
                self._ask_for(topic)

    def _produce(self, topic: str, record: NewRecord, call: Written) -> None:
        self._producer.produce(
            topic,
            value=record.value,
            key=record.key,
            partition=-1 if record.partition is None else record.partition,
            timestamp=0 if record.timestamp is None else record.timestamp,
            headers=list(record.headers),
            on_delivery=call.ended,
        )

    def _ask_for(self, topic: str) -> None:
        """Refreshes the producer's metadata of a topic."""
        try:
            self._producer.list_topics(topic, timeout=self._timeout)
        except KafkaException as error:
            raise failure(self._bootstrap, f"write to {topic}", error) from error

    def _raise_failed(self, call: Written) -> None:
        if call.failed:
            count = len(call.failed)
            raise failure(
                self._bootstrap,
                f"write {count} record{'s' if count > 1 else ''}",
                KafkaException(call.failed[0]),
            )


class Written:
    """Results of one call's records, all of one topic."""

    def __init__(self) -> None:
        self.count = 0
        """The records that Kafka has acknowledged."""
        self.offsets: dict[int, int] = {}
        """By partition, the offset after the last of them."""
        self.failed: list[KafkaError] = []
        self._pending = 0
        self._changed = threading.Condition()

    def queue(self, produce: Callable[[], None]) -> None:
        """Passes one record to the producer; `ended` receives the result."""
        with self._changed:
            self._pending += 1
        try:
            produce()
        except BaseException:
            with self._changed:
                self._pending -= 1
            raise

    def ended(self, error: KafkaError | None, message: Message) -> None:
        """One record was written, or was not."""
        partition, offset = message.partition(), message.offset()
        with self._changed:
            self._pending -= 1
            if error is not None:
                self.failed.append(error)
            else:
                self.count += 1
                if partition is not None and offset is not None:
                    self.offsets[partition] = max(self.offsets.get(partition, 0), offset + 1)
            self._changed.notify_all()

    def wait(self) -> None:
        """Return once all that was queued has ended."""
        with self._changed:
            while self._pending:
                self._changed.wait()


def _reachable(consumer: Consumer) -> bool:
    try:
        return bool(consumer.list_topics(timeout=1.0).brokers)
    except KafkaException:
        return False


class Reader:
    """Reads fixed partitions from fixed offsets, outside of any consumer group."""

    def __init__(
        self,
        bootstrap: str,
        settings: Settings,
        topic: str,
        positions: Mapping[int, int],
        until: Mapping[int, int] | None,
        limit: int | None,
        stop: Callable[[], bool],
    ) -> None:
        self._bootstrap = bootstrap
        self._settings = settings
        self._topic = topic
        self._left = dict(until) if until is not None else None
        if self._left is not None:
            self._left = {p: end for p, end in self._left.items() if positions.get(p, 0) < end}
        self._positions = dict(positions)
        self._limit = limit
        self._stop = stop
        self._lost = False

    def records(self) -> Iterator[Record]:
        """The records as they come; ends as `KafkaClient.consume` says."""
        if self._finished(0):
            return
        consumer = Consumer(
            {
                "fetch.queue.backoff.ms": 5,
                # Prefetched records of a stopped reader use memory: 64 MB by default.
                "queued.max.messages.kbytes": _AHEAD_KBYTES,
                **self._settings,
                "group.id": f"streamsql-{uuid.uuid4().hex}",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                "error_cb": self._on_error,
            }
        )
        try:
            consumer.assign(
                [TopicPartition(self._topic, p, offset) for p, offset in self._positions.items()]
            )
            yield from self._read(consumer)
        finally:
            consumer.close()

    def _on_error(self, error: KafkaError) -> None:
        self._lost = self._lost or error.code() == KafkaError._ALL_BROKERS_DOWN

    def _read(self, consumer: Consumer) -> Iterator[Record]:
        count = 0
        while not self._stop():
            for record in self._next_records(consumer):
                yield record
                count += 1
                if count == self._limit or self._stop():
                    return
            # Of a batch all was read ahead: it is done with only when all was handed on.
            if self._finished(count):
                return

    def _next_records(self, consumer: Consumer) -> list[Record]:
        """One record as soon as there is one, and with it all that have arrived too."""
        first = consumer.poll(POLL_SECONDS)
        if first is None:
            if self._lost and not _reachable(consumer):
                raise ExternalError(
                    f"cannot read {self._topic}: no answer from Kafka",
                    retryable=True,
                    detail=f"Kafka at {self._bootstrap} is not reachable.",
                )
            self._lost = False
            return []
        messages = [first, *consumer.consume(500, timeout=0)]
        return [record for m in messages if (record := self._record(m)) is not None]

    def _record(self, message: Message) -> Record | None:
        error = message.error()
        partition = message.partition() or 0
        offset = message.offset() or 0
        if error is not None:
            if error.code() == KafkaError._PARTITION_EOF:
                # Reached also where the last offsets hold no records, but commit markers.
                self._reached(partition, offset)
                return None
            raise failure(self._bootstrap, f"read {self._topic}", KafkaException(error))
        if self._left is not None and partition not in self._left:
            return None
        self._reached(partition, offset + 1)
        kind, timestamp = message.timestamp()
        return Record(
            self._topic,
            partition,
            offset,
            None if kind == confluent_kafka.TIMESTAMP_NOT_AVAILABLE else timestamp,
            message.key(),
            message.value(),
            tuple(cast(list[tuple[str, bytes | None]], message.headers() or [])),
        )

    def _reached(self, partition: int, position: int) -> None:
        if self._left is not None and position >= self._left.get(partition, position + 1):
            del self._left[partition]

    def _finished(self, count: int) -> bool:
        if self._limit is not None and count >= self._limit:
            return True
        return self._left is not None and not self._left
