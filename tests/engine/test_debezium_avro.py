"""Debezium's changes in Avro over a schema registry, as a table and as a stream."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import pytest
from capture.debezium_avro import COLUMNS, UNAVAILABLE, Envelopes
from engine.live import Live

from streamsql.kafka.client import KafkaClient
from streamsql.kafka.records import NewRecord
from streamsql.registry.client import RegistryClient

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

_MADE_MICROS = 1_700_000_000_123_456
MADE = datetime(2023, 11, 14, 22, 13, 20, 123_000)
SEEN = datetime(2024, 1, 1, 12, 0, 0, 500_000)


def good(number: int, name: str | None, price: str, **others: object) -> dict[str, object]:
    """A row of the database's table."""
    seen = "2024-01-01T12:00:00.5Z"
    row = {"id": number, "name": name, "price": Decimal(price), "made": _MADE_MICROS, "seen": seen}
    return {**row, **others}


def write(kafka: KafkaClient, envelopes: Envelopes, topic: str) -> None:
    """What becomes of a few rows, of which one moves to another key, and of the table, which gets
    another column."""
    key, change = envelopes.key, envelopes.change
    pen, ink = good(1, "pen", "4.98"), good(2, "ink", "-5.00", made=None)
    records: list[tuple[bytes, bytes | None]] = [
        (key(1), change("r", None, pen)),
        (key(2), change("c", None, ink)),
        (key(1), change("u", None, good(1, "pencil", "0.00"))),
        (key(2), change("d", {"id": 2}, None)),
        (key(2), None),
        (key(3), change("c", None, good(3, "cap", "1.50", seen=None))),
        (key(3), change("d", {"id": 3}, None)),
        (key(3), None),
        (key(4), change("c", None, good(4, "cap", "1.50", seen=None))),
    ]
    envelopes.columns((*COLUMNS, ("stock", "int")))
    records += [
        (key(1), change("u", None, good(1, UNAVAILABLE, "2.00", stock=7))),
        (key(5), change("c", None, good(5, None, "0.01", stock=8))),
    ]
    kafka.produce(topic, [NewRecord(k, v, number) for number, (k, v) in enumerate(records, 1)])


@pytest.mark.variants
@pytest.mark.parametrize("mode", ["realtime", "microbatch"])
def test_a_table(live: Live, registry: RegistryClient, kafka: KafkaClient, mode: str) -> None:
    live.run(
        f"SET 'processing.mode' = '{mode}';"
        "CREATE TABLE $SHOP (ID INT PRIMARY KEY, NAME STRING, PRICE DECIMAL(8, 2), MADE TIMESTAMP,"
        " SEEN TIMESTAMP, STOCK INT) WITH (KAFKA_TOPIC='$SHOP', PARTITIONS=1,"
        " VALUE_FORMAT='DEBEZIUM_AVRO', UNAVAILABLE_VALUES='KEEP');"
        "CREATE TABLE $OUT AS SELECT * FROM $SHOP;"
        "CREATE TABLE $NAMES AS SELECT NAME, COUNT(*) AS N, SUM(PRICE) AS TOTAL FROM $SHOP"
        " GROUP BY NAME HAVING COUNT(*) > 0;"
    )
    topic = live.name("SHOP")
    write(kafka, Envelopes(registry, topic), topic)
    expected = {
        1: ("pencil", Decimal("2.00"), MADE, SEEN, 7),
        4: ("cap", Decimal("1.50"), MADE, None, None),
        5: (None, Decimal("0.01"), MADE, SEEN, 8),
    }
    assert live.table("OUT", lambda rows: rows == expected) == expected
    names = {"pencil": (1, Decimal("2.00")), "cap": (1, Decimal("1.50"))}
    assert live.table("NAMES", lambda rows: rows == names) == names
    assert f"{live.name('OUT')}-value" in registry.subjects()


def test_a_stream(live: Live, registry: RegistryClient, kafka: KafkaClient) -> None:
    live.run(
        "CREATE STREAM $SHOP (ID INT KEY, OP STRING, BEFORE STRUCT<ID INT, NAME STRING>,"
        " AFTER STRUCT<ID INT, NAME STRING>, SOURCE STRUCT<DB STRING, LSN BIGINT>, TS_MS BIGINT)"
        " WITH (KAFKA_TOPIC='$SHOP', PARTITIONS=1, VALUE_FORMAT='DEBEZIUM_AVRO');"
        "CREATE STREAM $OUT AS SELECT ID, OP, BEFORE, AFTER, SOURCE->LSN AS LSN, TS_MS FROM $SHOP"
        " WHERE SOURCE->DB = 'shop';"
    )
    topic = live.name("SHOP")
    write(kafka, Envelopes(registry, topic), topic)

    def after(op: str, number: int, name: str | None) -> tuple[object, ...]:
        return (number, op, None, {"ID": number, "NAME": name}, number, 5)

    def deleted(number: int) -> tuple[object, ...]:
        return (number, "d", {"ID": number, "NAME": None}, None, number, 5)

    assert live.rows("SELECT * FROM $OUT EMIT CHANGES;", 9) == [
        after("r", 1, "pen"),
        after("c", 2, "ink"),
        after("u", 1, "pencil"),
        deleted(2),
        after("c", 3, "cap"),
        deleted(3),
        after("c", 4, "cap"),
        after("u", 1, UNAVAILABLE),
        after("c", 5, None),
    ]
