"""What a reader of committed data sees, held against what the pipelines must have written."""

from __future__ import annotations

import time
from collections.abc import Sequence

from confluent_kafka import Consumer, KafkaError, TopicPartition
from delivery.load import let_pass
from delivery.shapes import Shape, Topics

from streamsql.kafka.client import KafkaClient
from streamsql.kafka.records import Record

FINISH_SECONDS = 240.0


def problems(bootstrap: str, shapes: Sequence[Shape]) -> dict[str, list[str]]:
    """What is wrong for good, by pipeline, when nothing more comes."""
    deadline = time.monotonic() + FINISH_SECONDS
    while True:
        topics = committed(bootstrap)
        found = {s.name: lines for s in shapes if (lines := s.check(topics))}
        if not found or time.monotonic() > deadline:
            return found
        let_pass(1.0)


def committed(bootstrap: str) -> Topics:
    """The records of all topics but internal ones."""
    client = KafkaClient(bootstrap)
    try:
        names = [name for name in client.topics() if not name.startswith("_")]
        return {name: _read(bootstrap, name, client.partitions(name) or 0) for name in names}
    finally:
        client.close()


def _read(bootstrap: str, topic: str, partitions: int) -> list[Record]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "trial",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(topic, p, 0) for p in range(partitions)])
    left, records = partitions, []
    while left:
        message = consumer.poll(30.0)
        assert message is not None, f"{topic} is not read to its end"
        error = message.error()
        if error is None:
            place = (message.partition() or 0, message.offset() or 0)
            time_ms = message.timestamp()[1]
            headers = tuple(message.headers() or ())
            records.append(Record(topic, *place, time_ms, message.key(), message.value(), headers))
        else:
            assert error.code() == KafkaError._PARTITION_EOF, error
            left -= 1
    consumer.close()
    return records
