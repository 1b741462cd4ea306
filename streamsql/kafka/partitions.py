"""Adds partitions to topics."""

from __future__ import annotations

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewPartitions

from streamsql.errors import ExternalError
from streamsql.kafka.client import KafkaClient
from streamsql.kafka.records import failure
from streamsql.waiting import await_condition

_RETRY_SECONDS = 0.02


def add_partitions(client: KafkaClient, topic: str, count: int) -> None:
    """Adds partitions up to a number; a no-op if the topic has as many. Returns when they are
    usable; ExternalError if the broker fails."""

    def has_them() -> bool:
        return (client.partitions(topic) or 0) >= count

    if has_them():
        return
    admin = AdminClient(dict(client.settings))
    more = [NewPartitions(topic, count)]
    try:
        admin.create_partitions(more, request_timeout=client.timeout)[topic].result()
    except KafkaException as error:
        if not has_them():
            raise failure(
                client.bootstrap, f"add partitions to the topic {topic}", error
            ) from error
    if not await_condition(has_them, client.timeout, every=_RETRY_SECONDS):
        message = f"timed out waiting for {count} partitions of topic {topic}"
        raise ExternalError(message, retryable=True)
    client.begin_offsets(topic)  # Known is not yet served.
