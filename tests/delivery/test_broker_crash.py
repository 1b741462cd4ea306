"""The embedded broker is killed between the decision of a transaction and its markers."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from awaiting import await_until
from confluent_kafka import Producer
from delivery.broker import EndTxnProxy, KillableBroker, killable_broker

from streamsql.kafka.client import KafkaClient
from streamsql.kafka.transactions import transactions

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

STATES = "__transaction_state"
EPOCH, STATUS = 10, 16
"""Where these are in a record of that topic: a version in two bytes, the producer's id in eight,
its epoch in two, a timeout in four, the status in one. (Kafka, TransactionLogValue.json)"""
ONGOING, PREPARE_COMMIT = 1, 2
SECONDS = 60.0


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[KillableBroker]:
    with (
        closing(EndTxnProxy(0.0, seed=1)) as proxy,
        killable_broker(tmp_path / "broker", proxy) as broker,
    ):
        yield broker


def decide(kafka: KafkaClient, id: str) -> None:
    """Have the open transaction be committed by its coordinator, which dies before it says so."""
    records = kafka.consume(STATES, until=kafka.end_offsets(STATES))
    newest = [r for r in records if id.encode() in (r.key or b"")][-1]
    value = bytearray(newest.value or b"")
    assert value[STATUS] == ONGOING
    value[STATUS] = PREPARE_COMMIT
    (epoch,) = struct.unpack_from(">h", value, EPOCH)
    struct.pack_into(">h", value, EPOCH, epoch + 1)
    # By this name the broker knows who may write to its own topics.
    by_hand = Producer({**kafka.settings, "client.id": "__admin_client"})
    by_hand.produce(STATES, bytes(value), newest.key, partition=newest.partition)
    assert by_hand.flush(SECONDS) == 0


def test_what_was_committed_is_there_after_a_crash(broker: KillableBroker) -> None:
    kafka = KafkaClient(broker.bootstrap)
    kafka.create_topic("t", 1)
    producer = Producer({**kafka.settings, "transactional.id": "crashed"})
    producer.init_transactions(SECONDS)
    producer.begin_transaction()
    producer.produce("t", b"1")
    assert producer.flush(SECONDS) == 0
    decide(kafka, "crashed")
    broker.kill()
    broker.start()

    def ended() -> bool:
        found = transactions({"bootstrap.servers": broker.bootstrap})
        return [t.state for t in found] == ["CompleteCommit"]

    await_until(ended, "the transaction to end", SECONDS)
    plain = Producer(kafka.settings)
    plain.produce("t", b"2")
    assert plain.flush(SECONDS) == 0
    deadline = time.monotonic() + SECONDS
    ends, late = kafka.end_offsets("t"), lambda: time.monotonic() > deadline
    records = kafka.consume("t", until=ends, stop=late)
    assert [r.value for r in records] == [b"1", b"2"]
