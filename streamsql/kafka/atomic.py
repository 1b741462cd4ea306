"""Writes the records of several topics in one transaction."""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Mapping, Sequence

from confluent_kafka import KafkaException, Producer

from streamsql.errors import InternalError
from streamsql.kafka.records import NewRecord, Settings, Written, failure, is_unknown_topic

_PREFIX = "streamsql-changes-"


class AtomicWriter:
    """A transactional producer. Threads take turns: a transaction is as short as its writing."""

    def __init__(self, bootstrap: str, settings: Settings, timeout: float) -> None:
        self._bootstrap = bootstrap
        self._settings = settings
        self._timeout = timeout
        self._lock = threading.Lock()
        self._producer: Producer | None = None

    def write(self, records: Mapping[str, Sequence[NewRecord]]) -> dict[str, dict[int, int]]:
        """Writes all or nothing; the offset after the last record of each partition, by topic.
        ExternalError if Kafka fails: unless the commit itself was interrupted, nothing was
        written."""
        with self._lock:
            try:
                return self._transact(self._ready(), records)
            except KafkaException as error:
                self._producer = None  # The next one fences this one and aborts what it left.
                topics = ", ".join(records)
                raise failure(self._bootstrap, f"write to {topics}", error) from error

    def _ready(self) -> Producer:
        if self._producer is None:
            producer = Producer(
                {
                    "partitioner": "murmur2_random",
                    "topic.metadata.propagation.max.ms": 3000,
                    **self._settings,
                    "transactional.id": f"{_PREFIX}{uuid.uuid4().hex}",
                }
            )
            producer.init_transactions(self._timeout)
            self._producer = producer
        return self._producer

    def _transact(
        self, producer: Producer, records: Mapping[str, Sequence[NewRecord]]
    ) -> dict[str, dict[int, int]]:
        calls = {topic: Written() for topic in records}
        producer.begin_transaction()
        try:
            for topic, rows in records.items():
                for record in rows:
                    self._produce(producer, topic, record, calls[topic])
            producer.commit_transaction(self._timeout)
        except KafkaException:
            with contextlib.suppress(KafkaException):
                producer.abort_transaction(self._timeout)
            raise
        return {topic: call.offsets for topic, call in calls.items()}

    def _produce(self, producer: Producer, topic: str, record: NewRecord, call: Written) -> None:
        if record.timestamp == 0:
            raise InternalError("librdkafka writes the timestamp 0 as now")

        def produce() -> None:
            producer.produce(
                topic,
                value=record.value,
                key=record.key,
                timestamp=0 if record.timestamp is None else record.timestamp,
                headers=list(record.headers),
                on_delivery=call.ended,
            )

        asked = False
        while True:
            try:
                return call.queue(produce)
            except BufferError:
                producer.poll(0.05)
            except KafkaException as error:
                if asked or not is_unknown_topic(error):
                    raise
                asked = True
                producer.list_topics(topic, timeout=self._timeout)
