"""Removes the commit tokens of dropped queries from their topic. The sink defines their content
(io.streamsql.delivery); the key is a checkpoint id and a task number."""

from __future__ import annotations

import uuid
from collections.abc import Collection

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from streamsql.kafka.client import KafkaClient, NewRecord
from streamsql.kafka.records import failure

_BATCH = 5_000


def retire_tokens(client: KafkaClient, topic: str, checkpoints: Collection[str]) -> int:
    """Take out all tokens of these checkpoints, given by their ids; how many there were.

    May be done again. ExternalError where Kafka fails: some are then still there.
    """
    if not checkpoints or client.partitions(topic) is None:
        return 0
    try:
        keys = _keys(client, topic, checkpoints)
    except KafkaException as error:
        raise failure(client.bootstrap, f"read {topic}", error) from error
    return client.produce(topic, (NewRecord(key, None, partition=0) for key in sorted(keys)))


def _keys(client: KafkaClient, topic: str, checkpoints: Collection[str]) -> set[bytes]:
    """The keys of existing tokens, including those of open or aborted transactions: removing a
    missing key has no effect. Reads up to the current end, since other queries commit
    continuously."""
    consumer = Consumer(
        {
            "fetch.queue.backoff.ms": 5,
            **client.settings,
            # In no group: only assign is used.
            "group.id": f"streamsql-{uuid.uuid4().hex}",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_uncommitted",
            "auto.offset.reset": "earliest",
        }
    )
    wanted = set(checkpoints)
    keys: dict[bytes, bool] = {}
    try:
        position, end = client.begin_offsets(topic)[0], client.end_offsets(topic)[0]
        consumer.assign([TopicPartition(topic, 0, position)])
        while position < end:
            first = consumer.poll(client.timeout)
            if first is None:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
            for message in (first, *consumer.consume(_BATCH, timeout=0)):
                error = message.error()
                if error is None:
                    position = (message.offset() or 0) + 1
                    key = message.key() or b""
                    if key.decode("utf-8", "replace").rpartition("/")[0] in wanted:
                        keys[key] = message.value() is not None
                elif error.code() == KafkaError._PARTITION_EOF:
                    # Reached also where the last offsets hold no records, but commit markers.
                    position = end
                else:
                    raise KafkaException(error)
        return {key for key, is_there in keys.items() if is_there}
    finally:
        consumer.close()
