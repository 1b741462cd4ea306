"""The rows of a view as of each of its epochs, out of its topic and that of the marks."""

from __future__ import annotations

import json
from collections.abc import Iterable

from streamsql.config import EPOCHS_TOPIC
from streamsql.kafka.client import KafkaClient
from streamsql.kafka.records import Record


def _records(kafka: KafkaClient, topic: str) -> Iterable[Record]:
    return list(kafka.consume(topic, until=kafka.end_offsets(topic)))


def whole_epochs(kafka: KafkaClient, topic: str) -> dict[int, dict[bytes, bytes]]:
    """By epoch and the key of a record, its value."""
    marks = (mark for mark in _records(kafka, EPOCHS_TOPIC) if mark.key and mark.value)
    values = {
        json.loads(mark.value)["epoch"]: json.loads(mark.value)["ends"]
        for mark in marks
        if json.loads(mark.key).get("topic") == topic
    }
    records = _records(kafka, topic)
    found = {}
    for epoch, ends in values.items():
        rows = {r.key: r.value for r in records if r.offset < ends[str(r.partition)]}
        found[epoch] = {k: v for k, v in rows.items() if k is not None and v is not None}
    return found
