"""Tables without WITH: statements change their rows, in transactions, and reads see them."""

from __future__ import annotations

from typing import Any

import pytest
from awaiting import await_until
from engine.live import Live

from streamsql.errors import BindError, CatalogError, PlanError, UnsupportedError
from streamsql.kafka.client import KafkaClient
from streamsql.results import Answer, Message

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

TABLE = "CREATE TABLE $t (v INT, id STRING PRIMARY KEY, price DECIMAL(8, 2), at TIMESTAMP);"
ROWS = """
INSERT INTO $t VALUES (1, 'a', 1.50, '2024-02-29T12:00:00'), (2, 'b', NULL, NULL), (3, 'c');
"""


def _rows(live: Live, sql: str) -> list[tuple[Any, ...]]:
    found = [part for part in live.run(sql) if isinstance(part, Answer)]
    return sorted((row.values for row in found[-1].rows), key=repr)


def _count(live: Live, sql: str) -> int | None:
    return [part for part in live.run(sql) if isinstance(part, Message)][-1].count


def test_rows_are_inserted_updated_and_deleted(live: Live, kafka: KafkaClient) -> None:
    live.run(TABLE)
    topic = live.name("T")
    assert kafka.describe(topic).config["cleanup.policy"] == "compact"  # type: ignore[union-attr]
    assert _count(live, ROWS) == 3
    assert _rows(live, "SELECT id, v, price FROM $t;") == [
        ("a", 1, pytest.approx(1.5)),
        ("b", 2, None),
        ("c", 3, None),
    ]
    assert _count(live, "UPDATE $t SET v = v + 10, price = v WHERE id <> 'a';") == 2
    assert _rows(live, "SELECT id, v, CAST(price AS INT) FROM $t;") == [
        ("a", 1, 1),
        ("b", 12, 2),
        ("c", 13, 3),
    ]
    assert _count(live, "DELETE FROM $t WHERE v > 12;") == 1
    assert _rows(live, "SELECT id FROM $t;") == [("a",), ("b",)]
    # A row with another key takes the place of the one it was.
    assert _count(live, "UPDATE $t SET id = id || 'x' WHERE v = 1;") == 1
    assert _rows(live, "SELECT id, v FROM $t;") == [("ax", 1), ("b", 12)]
    assert _count(live, "TRUNCATE $t;") == 2
    assert _rows(live, "SELECT id FROM $t;") == []
    live.run("DROP TABLE $t;")
    await_until(lambda: kafka.partitions(topic) is None, "the topic goes with its table", 30)


def test_a_table_without_a_key_keeps_equal_rows(live: Live) -> None:
    live.run("CREATE TABLE $t (a INT, b TEXT); INSERT INTO $t VALUES (1, 'x'), (1, 'x'), (NULL);")
    assert _rows(live, "SELECT * FROM $t;") == [(1, "x"), (1, "x"), (None, None)]
    assert _count(live, "UPDATE $t SET b = 'y' WHERE a = 1;") == 2
    assert _rows(live, "SELECT * FROM $t;") == [(1, "y"), (1, "y"), (None, None)]
    assert _count(live, "DELETE FROM $t WHERE a IS NULL;") == 1
    assert _count(live, "INSERT INTO $t (b, a) SELECT b || '2', a + 1 FROM $t;") == 2
    assert _rows(live, "SELECT * FROM $t;") == [(1, "y"), (1, "y"), (2, "y2"), (2, "y2")]


def test_returning_gives_the_rows_that_were_written(live: Live) -> None:
    live.run(TABLE)
    inserted = "INSERT INTO $t (id, v) VALUES ('a', 1), ('b', 2) RETURNING id, v * 2 AS w;"
    assert _rows(live, inserted) == [("a", 2), ("b", 4)]
    assert _rows(live, "UPDATE $t SET v = 7 WHERE id = 'b' RETURNING *;") == [(7, "b", None, None)]
    assert _rows(live, "DELETE FROM $t WHERE id = 'b' RETURNING v, id;") == [(7, "b")]
    assert _rows(live, "DELETE FROM $t WHERE id = 'z' RETURNING v, id;") == []
    with pytest.raises(BindError, match="NOTHING"):
        live.run("DELETE FROM $t RETURNING nothing;")
    assert _rows(live, "SELECT id FROM $t;") == [("a",)]


def test_a_query_follows_a_plain_table_and_flush_waits_for_it(live: Live) -> None:
    live.run(TABLE + ROWS)
    live.run("CREATE TABLE $u AS SELECT id, v * 2 AS w FROM $t WHERE v > 1;")
    live.run("FLUSH;")
    assert _rows(live, "SELECT id, w FROM $u;") == [("b", 4), ("c", 6)]
    live.run("UPDATE $t SET v = 5 WHERE id = 'a'; DELETE FROM $t WHERE id = 'c'; FLUSH;")
    assert _rows(live, "SELECT id, w FROM $u;") == [("a", 10), ("b", 4)]
    with pytest.raises(CatalogError, match="queries read from this source"):
        live.run("DROP TABLE $t;")


def test_a_statement_writes_all_of_its_rows_or_none(live: Live, kafka: KafkaClient) -> None:
    live.run(TABLE + ROWS)
    with pytest.raises(PlanError, match="null value in column ID"):
        live.run("UPDATE $t SET id = NULL, v = 9;")
    assert _rows(live, "SELECT v FROM $t;") == [(1,), (2,), (3,)]
    # Three rows and the mark that ends their transaction.
    assert sum(kafka.end_offsets(live.name("T")).values()) == 4


def test_what_is_no_plain_table_is_refused(live: Live, kafka: KafkaClient) -> None:
    live.run(
        "CREATE STREAM $s (id STRING KEY, v INT) WITH (FORMAT='JSON', PARTITIONS=1, "
        "KAFKA_TOPIC='$s');"
    )
    for change in ("UPDATE $s SET v = 1;", "DELETE FROM $s;", "TRUNCATE $s;"):
        with pytest.raises(UnsupportedError, match="which is not a plain table"):
            live.run(change)
    live.run(TABLE)
    with pytest.raises(BindError, match="column W of table"):
        live.run("UPDATE $t SET w = 1;")
    kafka.create_topic(live.name("W"), 1)
    with pytest.raises(CatalogError, match="A topic named"):
        live.run("CREATE TABLE $w (a INT);")
