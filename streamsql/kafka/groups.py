"""Readers of topics by Kafka's consumer groups. Spark's readers are in no group: the engine knows
its queries without Kafka."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient


@dataclass(frozen=True)
class Readers:
    """How many consumers read a topic, and in how many groups."""

    consumers: int
    groups: int


def readers(admin: AdminClient, timeout: float) -> dict[str, Readers]:
    """The readers of each topic that has any; raises KafkaException. `timeout` in seconds."""
    listed = admin.list_consumer_groups(request_timeout=timeout).result()
    for error in listed.errors or ():
        raise error  # The list is incomplete.
    names = [group.group_id for group in listed.valid or ()]
    if not names:
        return {}
    groups: dict[str, set[str]] = defaultdict(set)
    members: dict[str, set[str]] = defaultdict(set)
    described = admin.describe_consumer_groups(names, request_timeout=timeout)
    for name, future in described.items():
        for member in future.result().members:
            for partition in member.assignment.topic_partitions if member.assignment else ():
                groups[partition.topic].add(name)
                members[partition.topic].add(member.member_id)
    return {topic: Readers(len(members[topic]), len(groups[topic])) for topic in groups}


def group_offsets(admin: AdminClient, group: str, timeout: float) -> dict[str, dict[int, int]]:
    """The offsets that a group has committed; raises KafkaException."""
    asked = [ConsumerGroupTopicPartitions(group)]
    (future,) = admin.list_consumer_group_offsets(asked, request_timeout=timeout).values()
    found: dict[str, dict[int, int]] = {}
    for place in future.result().topic_partitions or ():
        if place.offset >= 0:
            found.setdefault(place.topic, {})[place.partition] = place.offset
    return found
