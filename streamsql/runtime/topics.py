"""Topics of streams and tables: what the planner may know of them, and how new ones are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from streamsql.formats import FORMATS
from streamsql.kafka.partitions import add_partitions
from streamsql.planner.plans.statements import TopicInfo
from streamsql.schema import Kind

if TYPE_CHECKING:
    from streamsql.catalog import Source
    from streamsql.kafka.client import KafkaClient

TopicFacts = Mapping[str, "tuple[int, int] | None"]
"""What planning a statement was told: partitions and replicas, None for a topic that is not."""

_FOR_EVER = -1
"""Of `retention.ms`."""


class KafkaTopics:
    """Looks topics up in Kafka, waiting for it if need be, and remembers what it has told."""

    def __init__(self, client: Callable[[], KafkaClient], made: TopicFacts | None = None) -> None:
        """`made`: those that will be there before what is planned with it, if they are not yet."""
        self._client = client
        self._made = made or {}
        self.told: dict[str, tuple[int, int] | None] = {}

    def topic(self, name: str) -> TopicInfo | None:
        """The topic of that name, or None."""
        if name not in self.told:
            found = self._client().describe(name)
            made = self._made.get(name)
            self.told[name] = (found.partitions, found.replicas) if found else made
        facts = self.told[name]
        return None if facts is None else TopicInfo(*facts)


class RememberedTopics:
    """Tells again what was told when a statement was first planned: a replay needs no Kafka."""

    def __init__(self, facts: TopicFacts) -> None:
        self._facts = facts

    def topic(self, name: str) -> TopicInfo | None:
        """The topic as it was then."""
        facts = self._facts.get(name)
        return None if facts is None else TopicInfo(*facts)


def create_topic(client: KafkaClient, source: Source) -> None:
    """Make the topic of a source as its kind asks for; one that is there already is left."""
    topic = source.topic
    client.create_topic(
        topic.name,
        topic.partitions or 1,
        topic.replicas or -1,
        topic_config(source),
        exists_ok=True,
    )


def grow_topic(client: KafkaClient, source: Source, told: TopicFacts) -> bool:
    """Add the partitions that a source asks for and its topic had not when it was planned; whether
    there are any. That can be done again, and harms nobody if nothing follows."""
    then = grown_facts(source, told)
    if (facts := then.get(source.topic.name)) == told.get(source.topic.name) or facts is None:
        return False
    add_partitions(client, source.topic.name, facts[0])
    return True


def grown_facts(source: Source, told: TopicFacts) -> dict[str, tuple[int, int] | None]:
    """What planning it would be told once its topic has the partitions that it asks for. That is
    what the log remembers: planned again, it then asks for none that are not there."""
    found, wanted = told.get(source.topic.name), source.topic.partitions
    if found is None or wanted is None or wanted <= found[0]:
        return dict(told)
    return {**told, source.topic.name: (wanted, found[1])}


def topic_config(source: Source) -> dict[str, str]:
    """The topic settings that follow from what a source is."""
    retention = source.topic.retention_ms
    if retention is None and source.kind is Kind.TABLE and _tells_changes(source):
        retention = _FOR_EVER
    config = {"cleanup.policy": cleanup_policy(source)}
    if retention is not None and config["cleanup.policy"] != "compact":
        config["retention.ms"] = str(retention)
    return config


def cleanup_policy(source: Source) -> str:
    """A table's topic keeps the last record of each key, a windowed one's only for a time; one of
    a database's changes all of them: the last change of a key need not tell all of its row, and one
    of a whole table has no key."""
    if source.kind is Kind.STREAM or _tells_changes(source):
        return "delete"
    return "compact,delete" if source.is_windowed else "compact"


def _tells_changes(source: Source) -> bool:
    return FORMATS[source.topic.value_format.name].written_as is not None
