"""What is deleted from Kafka with a query or a topic."""

from __future__ import annotations

import threading
import uuid

import pytest
from awaiting import await_until
from confluent_kafka import Producer

from streamsql.kafka.client import KafkaClient, NewRecord
from streamsql.kafka.commit_tokens import retire_tokens

pytestmark = pytest.mark.kafka

SECONDS = 20.0


def newest(kafka: KafkaClient, topic: str) -> dict[bytes | None, bytes | None]:
    """The last record of each key."""
    records = kafka.consume(topic, until=kafka.end_offsets(topic))
    return {record.key: record.value for record in records}


def test_a_recreated_topic_has_another_id(kafka: KafkaClient, topic_name: str) -> None:
    kafka.create_topic(topic_name)
    other = f"{topic_name}-other"
    first = kafka.topic_ids([topic_name, other])
    assert first.keys() == {topic_name} and first == kafka.topic_ids([topic_name])
    kafka.delete_topic(topic_name)
    kafka.create_topic(topic_name)
    await_until(
        lambda: kafka.topic_ids([topic_name]).get(topic_name) not in (None, first[topic_name]),
        "the new topic's id",
    )
    assert kafka.topic_ids([]) == {}


def test_tokens_of_some_checkpoints_are_taken_out(kafka: KafkaClient, topic_name: str) -> None:
    assert retire_tokens(kafka, topic_name, ["gone"]) == 0, "there is no topic"
    kafka.create_topic(topic_name, 1, 1, {"cleanup.policy": "compact"})
    assert retire_tokens(kafka, topic_name, ["gone"]) == 0, "there are no tokens"
    tokens = [f"{found}/{task}".encode() for found in ("gone", "kept", "gone2") for task in (0, 1)]
    kafka.produce(topic_name, (NewRecord(key, b"{}") for key in [*tokens, *tokens]))
    # One that is open must not be waited for: another query's batch may take long.
    open_one = Producer({**kafka.settings, "transactional.id": f"t-{uuid.uuid4().hex}"})
    open_one.init_transactions()
    open_one.begin_transaction()
    open_one.produce(topic_name, b"{}", b"gone/2", partition=0)
    open_one.flush()
    assert retire_tokens(kafka, topic_name, ["gone"]) == 3
    assert retire_tokens(kafka, topic_name, ["gone"]) == 0, "twice is as good as once"
    open_one.abort_transaction()
    left = {key for key, value in newest(kafka, topic_name).items() if value is not None}
    assert left == {key for key in tokens if not key.startswith(b"gone/")}


def test_tokens_are_taken_out_while_others_come_all_the_time(
    kafka: KafkaClient, topic_name: str
) -> None:
    kafka.create_topic(topic_name)
    kafka.produce(topic_name, [NewRecord(b"gone/0", b"{}")])
    ended, flowing = threading.Event(), threading.Event()

    def flow() -> None:
        producer = Producer({**kafka.settings, "linger.ms": 0})
        while not ended.is_set():
            for _ in range(1_000):
                producer.produce(topic_name, b"{}", b"kept/0")
            producer.flush()
            flowing.set()

    retired: list[int] = []
    writers = [threading.Thread(target=flow) for _ in range(4)]
    reader = threading.Thread(
        target=lambda: retired.append(retire_tokens(kafka, topic_name, ["gone"])), daemon=True
    )
    for writer in writers:
        writer.start()
    try:
        assert flowing.wait(SECONDS)
        reader.start()
        reader.join(SECONDS)
        assert retired == [1]
    finally:
        ended.set()
        for writer in writers:
            writer.join()
