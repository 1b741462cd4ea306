"""Writes the records of INSERT with the Python client, or Java's if necessary."""

from __future__ import annotations

from collections.abc import Sequence

from streamsql.executor.services.services import Services
from streamsql.kafka.records import NewRecord


def insert_records(services: Services, topic: str, records: Sequence[NewRecord]) -> dict[int, int]:
    """Writes records and waits for Kafka's acknowledgement; returns the next offset by partition.
    ExternalError if Kafka fails."""
    client = services.kafka.get()
    if all(record.timestamp != 0 for record in records):
        return client.insert(topic, records)
    from streamsql.executor.spark.epoch_records import write_records

    spark = services.spark.get().session
    return write_records(spark, client.java_settings, topic, records)
