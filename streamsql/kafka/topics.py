"""Kafka's metadata of topics."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient


@dataclass(frozen=True)
class TopicInfo:
    """A topic and the settings that were made for it (not the broker's defaults)."""

    name: str
    partitions: int
    replicas: int
    config: Mapping[str, str] = field(default_factory=dict)


def topic_ids(admin: AdminClient, names: Collection[str], timeout: float) -> dict[str, str]:
    """Ids of the existing topics; raises KafkaException. `timeout` in seconds. Ids are unique: a
    recreated topic has another one."""
    if not names:
        return {}
    asked = TopicCollection(list(names))
    found = {}
    for name, future in admin.describe_topics(asked, request_timeout=timeout).items():
        try:
            found[name] = str(future.result().topic_id)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise
    return found
