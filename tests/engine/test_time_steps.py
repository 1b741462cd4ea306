"""A query over several topics that catches up in many batches gives what one batch would give."""

from __future__ import annotations

import json

import pytest
from awaiting import await_until
from engine.live import PATIENCE, Live

from streamsql.kafka.client import KafkaClient, NewRecord

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

SECOND = 1_000
BEGIN = 1_700_000_000 * SECOND
MANY, FEW = 12_000, 1_200
"""Of the one stream and of the other, over the same time."""


@pytest.fixture
def client(live: Live) -> KafkaClient:
    client: KafkaClient = live.engine._state.services.kafka.get()
    return client


def fill(client: KafkaClient, topic: str, count: int, *, dated: bool) -> None:
    """Records a second apart or more; `dated`: by Kafka too, which else has the time of writing."""
    every = MANY // count
    records = []
    for i in range(count):
        time = BEGIN + i * every * SECOND
        value = json.dumps({"K": "k", "ID": i * every, "TS": time}).encode()
        records.append(NewRecord(None, value, time if dated else None, i % 2))
    client.produce(topic, records)


PAIRS = """SELECT m.k, m.id AS m, f.id AS f FROM $many m JOIN $few f
           WITHIN 2 SECONDS GRACE PERIOD 1 SECOND ON m.k = f.k"""
WANTED = {(m, f) for f in range(0, MANY, 10) for m in range(f - 2, f + 3) if 0 <= m < MANY}


def history(live: Live, client: KafkaClient, column: str) -> None:
    """Two streams with far more records than a batch takes; `column`: which has their times."""
    for stream in ("MANY", "FEW"):
        client.create_topic(live.name(stream), 2, -1)
        live.run(
            f"CREATE STREAM ${stream} (k STRING, id INT, ts BIGINT)"
            f" WITH (KAFKA_TOPIC='${stream}', VALUE_FORMAT='JSON'{column});"
        )
    fill(client, live.name("MANY"), MANY, dated=not column)
    fill(client, live.name("FEW"), FEW, dated=not column)
    live.run("SET 'streamsql.records.per.batch' = '1000';")


@pytest.mark.parametrize(
    ("column", "mode"),
    [
        ("", "realtime"),
        (", TIMESTAMP='ts'", "microbatch"),
        pytest.param(", TIMESTAMP='ts'", "realtime", marks=pytest.mark.slow),
    ],
)
def test_streams_meet_whose_history_takes_many_batches(
    live: Live, client: KafkaClient, column: str, mode: str
) -> None:
    history(live, client, column)
    live.run(f"SET 'processing.mode' = '{mode}';")
    live.run(f"CREATE STREAM $pairs AS {PAIRS};")

    def written() -> int:
        return sum(client.end_offsets(live.name("PAIRS")).values())

    await_until(lambda: written() >= len(WANTED), "all pairs", PATIENCE)
    assert written() == len(WANTED)


@pytest.mark.variants
@pytest.mark.parametrize("column", [", TIMESTAMP='ts'", ""])
def test_a_push_query_has_them_meet_too(live: Live, client: KafkaClient, column: str) -> None:
    history(live, client, column)
    live.run("SET 'auto.offset.reset' = 'earliest';")
    rows = live.rows(f"{PAIRS} EMIT CHANGES;", len(WANTED))
    assert {(m, f) for _, m, f in rows} == WANTED
