"""Views as of each of their epochs, out of their topics and that of the marks."""

from __future__ import annotations

import json

from streamsql.config import EPOCHS_TOPIC
from streamsql.kafka.client import KafkaClient
from streamsql.kafka.records import Record


def records(kafka: KafkaClient, topic: str) -> list[Record]:
    return list(kafka.consume(topic, until=kafka.end_offsets(topic)))


def cuts(kafka: KafkaClient) -> dict[int, dict[str, dict[str, int]]]:
    """By epoch and base topic, the end of each partition."""
    begun = (
        json.loads(mark.value)
        for mark in records(kafka, EPOCHS_TOPIC)
        if mark.value and json.loads(mark.key or b"{}") == {}
    )
    return {value["epoch"]: value["cut"] for value in begun}


def batches_done(kafka: KafkaClient, topic: str) -> dict[int, int]:
    """By epoch in which the view has written records, when it was done, in ms since the Unix
    epoch."""
    found, ends = {}, None
    for mark in records(kafka, EPOCHS_TOPIC):
        value = json.loads(mark.value or b"{}")
        if json.loads(mark.key or b"{}").get("topic") == topic and value.get("ends") != ends:
            ends = value.get("ends")
            found[value["epoch"]] = mark.timestamp or 0
    return found


def whole_epochs(kafka: KafkaClient, topic: str) -> dict[int, dict[bytes, bytes]]:
    """By epoch and the key of a record, its value."""
    marks = (mark for mark in records(kafka, EPOCHS_TOPIC) if mark.key and mark.value)
    values = {
        json.loads(mark.value)["epoch"]: json.loads(mark.value)["ends"]
        for mark in marks
        if json.loads(mark.key).get("topic") == topic
    }
    written = records(kafka, topic)
    found = {}
    for epoch, ends in values.items():
        rows = {r.key: r.value for r in written if r.offset < ends[str(r.partition)]}
        found[epoch] = {k: v for k, v in rows.items() if k is not None and v is not None}
    return found
