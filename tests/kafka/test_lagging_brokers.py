"""A topic that has just been made, where not every broker knows of it yet."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

from confluent_kafka import KafkaError, TopicPartition

from streamsql.kafka.client import KafkaClient


class Lagging:
    """Kafka's admin client of a cluster where one broker knows a topic, and the next one asked
    does not."""

    def __init__(self) -> None:
        self.asked = 0

    def create_topics(self, topics: list[Any], **_: object) -> dict[str, Future[None]]:
        return {topic.topic: _done(None) for topic in topics}

    def list_topics(self, topic: str, **_: object) -> SimpleNamespace:
        self.asked += 1
        knows = self.asked == 2
        replicas = SimpleNamespace(replicas=[1, 2, 3])
        error = None if knows else KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
        found = SimpleNamespace(error=error, partitions={0: replicas} if knows else {})
        return SimpleNamespace(topics={topic: found})

    def list_offsets(
        self, wanted: dict[TopicPartition, object], **_: object
    ) -> dict[TopicPartition, Future[SimpleNamespace]]:
        return {place: _done(SimpleNamespace(offset=0)) for place in wanted}


def _done(result: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(result)
    return future


def test_a_topic_that_one_broker_knows_is_made() -> None:
    client = KafkaClient("127.0.0.1:1", timeout=1.0)
    client._admin = Lagging()  # type: ignore[assignment]
    assert client.create_topic("made", 1)
