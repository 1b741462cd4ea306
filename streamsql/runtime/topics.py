"""Topics of streams and tables: lookup for the planner, and creation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from streamsql.formats import FORMATS
from streamsql.kafka.partitions import add_partitions
from streamsql.planner.plans.statements import TopicInfo
from streamsql.planner.recorded_topics import TopicFacts
from streamsql.schema import Kind

if TYPE_CHECKING:
    from streamsql.catalog import Source
    from streamsql.kafka.client import KafkaClient

_FOR_EVER = -1
"""Unlimited `retention.ms`."""


class KafkaTopics:
    """Looks up topics in Kafka, waits for Kafka if necessary, and records the results."""

    def __init__(self, client: Callable[[], KafkaClient], made: TopicFacts | None = None) -> None:
        """`made`: topics that will exist when the statement runs."""
        self._client = client
        self._made = made or {}
        self.facts: dict[str, tuple[int, int] | None] = {}

    def topic(self, name: str) -> TopicInfo | None:
        if name not in self.facts:
            found = self._client().describe(name)
            made = self._made.get(name)
            self.facts[name] = (found.partitions, found.replicas) if found else made
        facts = self.facts[name]
        return None if facts is None else TopicInfo(*facts)


def create_topic(client: KafkaClient, source: Source) -> None:
    """Creates a source's topic, unless it exists."""
    topic = source.topic
    client.create_topic(
        topic.name,
        topic.partitions or 1,
        topic.replicas or -1,
        topic_config(source),
        exists_ok=True,
    )


def grow_topic(client: KafkaClient, source: Source, before: TopicFacts) -> bool:
    """Adds the partitions that a source declares in addition to those at planning time; returns
    whether there are any. Idempotent."""
    then = grown_facts(source, before)
    if (facts := then.get(source.topic.name)) == before.get(source.topic.name) or facts is None:
        return False
    add_partitions(client, source.topic.name, facts[0])
    return True


def grown_facts(source: Source, before: TopicFacts) -> dict[str, tuple[int, int] | None]:
    """The lookups after its topic has been extended. The log stores these, so that planning again
    adds no partitions."""
    found, wanted = before.get(source.topic.name), source.topic.partitions
    if found is None or wanted is None or wanted <= found[0]:
        return dict(before)
    return {**before, source.topic.name: (wanted, found[1])}


def topic_config(source: Source) -> dict[str, str]:
    retention = source.topic.retention_ms
    if retention is None and source.kind is Kind.TABLE and _tells_changes(source):
        retention = _FOR_EVER
    config = {"cleanup.policy": cleanup_policy(source)}
    if retention is not None and config["cleanup.policy"] != "compact":
        config["retention.ms"] = str(retention)
    return config


def cleanup_policy(source: Source) -> str:
    """A table's topic keeps the last record of each key, a windowed one for a limited time. Change
    data is not compacted: the last change of a key may not contain the full row, and one of a whole
    table has no key."""
    if source.kind is Kind.STREAM or _tells_changes(source):
        return "delete"
    return "compact,delete" if source.is_windowed else "compact"


def _tells_changes(source: Source) -> bool:
    return FORMATS[source.topic.value_format.name].written_as is not None
