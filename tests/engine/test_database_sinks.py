"""Sinks in a real PostgreSQL, which is also gone for some time, as is Spark's JVM."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from time import time_ns
from typing import Any

import psycopg
import pytest
from awaiting import await_until
from background import repeated
from engine.live import PATIENCE, Live
from engine.postgresql import PASSWORD, USER, Database, writable_database

from streamsql.engine import QueryState
from streamsql.kafka.client import KafkaClient
from streamsql.kafka.records import NewRecord
from streamsql.results import Rows

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

EVENTS = """
CREATE STREAM $s (k INT KEY, id BIGINT) WITH (KAFKA_TOPIC='$s', VALUE_FORMAT='JSON', PARTITIONS=2);
"""


@pytest.fixture(scope="module")
def postgresql() -> Iterator[Database]:
    with writable_database() as found:
        yield found


class Target:
    """A sink and its table."""

    def __init__(self, live: Live, postgresql: Database, folder: Path) -> None:
        self.live, self.postgresql = live, postgresql
        self.table = f"public.{live.name('target').lower()}"
        self.secrets = folder / "secrets.properties"
        self.secrets.write_text(f"db={PASSWORD}\n", "utf-8")

    def execute(self, sql: str) -> None:
        self.postgresql.execute(sql.replace("{0}", self.table))

    def create(self, source: str, *more: str, verb: str = "CREATE", table: str = "") -> str:
        """The id of the query."""
        given = (
            "CONNECTION='JDBC'",
            f"URL='{self.postgresql.url}'",
            f"TABLE='{table or self.table}'",
            f"USER='{USER}'",
            f"PASSWORD='${{file:{self.secrets}:db}}'",
            *more,
        )
        name = self.live.name("O")
        # `$` marks names of the test's own elsewhere.
        sql = f"{verb} SINK {name} FROM {self.live.name(source)} WITH ({', '.join(given)});"
        list(self.live.engine.execute(sql, self.live.session))
        (query,) = (q for q in self.live.engine.queries() if q.sink == name)
        return query.id

    def rows(self, columns: str = "*", table: str = "") -> list[tuple[Any, ...]]:
        """Sorted as texts, since some are null; none without the table."""
        with psycopg.connect(self.postgresql.conninfo) as connection:
            try:
                found = connection.execute(f"SELECT {columns} FROM {table or self.table}")
            except psycopg.errors.UndefinedTable:
                return []
            return sorted(found.fetchall(), key=str)

    def await_rows(self, expected: list[tuple[Any, ...]], columns: str = "*") -> None:
        def arrived() -> bool:
            found[:] = self.rows(columns)
            return found == wanted

        found: list[tuple[Any, ...]] = []
        wanted = sorted(expected, key=str)
        try:
            await_until(arrived, "the rows", PATIENCE, every=0.2)
        except AssertionError:
            assert found == wanted
            raise

    def await_more_than(self, count: int) -> None:
        await_until(lambda: len(self.rows()) > count, "more rows", PATIENCE, every=0.05)


@pytest.fixture
def target(live: Live, postgresql: Database, tmp_path: Path) -> Target:
    return Target(live, postgresql, tmp_path)


def produce(live: Live, ids: range) -> None:
    """A record for each of the ids."""
    client = live.engine._state.services.kafka.get()
    assert isinstance(client, KafkaClient)
    now = time_ns() // 1_000_000
    records = [NewRecord(n.to_bytes(4, "big"), f'{{"ID": {n}}}'.encode(), now) for n in ids]
    client.produce(live.name("S"), records)


@contextmanager
def load(live: Live) -> Iterator[list[int]]:
    """Records while the block runs; their number, at the end."""
    sent = [0]

    def send() -> None:
        produce(live, range(sent[0], sent[0] + 50))
        sent[0] += 50

    with repeated(send, 0.1):
        yield sent


def test_every_type(target: Target) -> None:
    live = target.live
    live.run("""
        CREATE STREAM $s (id INT KEY, big BIGINT, text STRING, flag BOOLEAN, share DOUBLE,
            price DECIMAL(8, 2), at TIMESTAMP, day DATE, hour TIME, raw BYTES, tags ARRAY<STRING>,
            counts MAP<STRING, INT>, place STRUCT<city STRING, open TIME>, `Odd "name"` STRING)
          WITH (KAFKA_TOPIC='$s', VALUE_FORMAT='JSON', PARTITIONS=2);
        INSERT INTO $s VALUES (1, 9007199254740993, 'it''s', TRUE, 0.1, 123456.78,
            '2024-02-29T23:59:59.123', '1066-10-14', '12:34:56', TO_BYTES('c3bf', 'hex'),
            ARRAY['x', NULL], MAP('a' := 1), STRUCT(city := 'York', open := '07:30'), 'odd');
        INSERT INTO $s (id) VALUES (2);
    """)
    target.create("S")
    full = (
        *(1, 9007199254740993, "it's", True, 0.1, Decimal("123456.78")),
        datetime(2024, 2, 29, 23, 59, 59, 123000, UTC),
        *(date(1066, 10, 14), time(12, 34, 56), b"\xc3\xbf", ["x", None], {"a": 1}),
        *({"CITY": "York", "OPEN": "07:30:00.000"}, "odd"),
    )
    target.await_rows([full, (2, *[None] * 13)])
    names = target.rows(
        "ordinal_position, column_name, data_type",
        f"information_schema.columns WHERE 'public.' || table_name = '{target.table}'",
    )
    names.sort()
    assert [name for _, name, _ in names] == [
        *("id", "big", "text", "flag", "share", "price", "at", "day", "hour", "raw"),
        *("tags", "counts", "place", 'Odd "name"'),
    ]
    assert [kind for _, _, kind in names] == [
        *("integer", "bigint", "text", "boolean", "double precision", "numeric"),
        *("timestamp with time zone", "date", "time without time zone", "bytea"),
        *("jsonb", "jsonb", "jsonb", "text"),
    ]


def test_a_table_is_upserted_and_deleted_from_through_a_restart(target: Target) -> None:
    live = target.live
    live.run("CREATE TABLE $s (id INT PRIMARY KEY, name TEXT, at TIMESTAMP);")
    live.run("INSERT INTO $s VALUES (1, 'one', NULL), (2, 'two', NULL), (3, NULL, '2024-01-01');")
    query = target.create("S")
    at = datetime(2024, 1, 1, tzinfo=UTC)
    target.await_rows([(1, "one", None), (2, "two", None), (3, None, at)])
    live.run("DELETE FROM $s WHERE id = 2; UPDATE $s SET name = 'uno' WHERE id = 1;")
    target.await_rows([(1, "uno", None), (3, None, at)])

    live.run(f"PAUSE {query};")
    # Of a batch, only the last change of a key counts.
    live.run("INSERT INTO $s VALUES (4, 'four', NULL), (5, 'five', NULL);")
    live.run("UPDATE $s SET name = 'cinq' WHERE id = 5; DELETE FROM $s WHERE id = 4;")
    live.run("DELETE FROM $s WHERE id = 1; INSERT INTO $s VALUES (1, 'again', NULL);")
    live.restart()
    live.run(f"RESUME {query};")
    target.await_rows([(1, "again", None), (3, None, at), (5, "cinq", None)])
    live.await_state(query, QueryState.RUNNING)


def test_a_view_with_a_hidden_key(target: Target) -> None:
    live = target.live
    live.run("""
        CREATE TABLE $t (id INT PRIMARY KEY, town TEXT);
        CREATE MATERIALIZED VIEW $s AS SELECT town, COUNT(*) AS n FROM $t GROUP BY town;
        INSERT INTO $t VALUES (1, 'Oslo'), (2, 'Oslo'), (3, NULL), (4, 'Lagos');
    """)
    target.create("S")
    target.await_rows([("Lagos", 1), ("Oslo", 2), (None, 1)], "town, n")
    live.run("UPDATE $t SET town = 'Lagos' WHERE id < 4;")
    target.await_rows([("Lagos", 4)], "town, n")


def test_a_windowed_table_and_a_stream_by_key(target: Target) -> None:
    live = target.live
    live.run("""
        CREATE STREAM $e (k STRING KEY, v INT)
          WITH (KAFKA_TOPIC='$e', VALUE_FORMAT='JSON', PARTITIONS=1);
        CREATE TABLE $s AS SELECT k, COUNT(*) AS n FROM $e
          WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY k;
        INSERT INTO $e (k, v, ROWTIME) VALUES ('a', 1, 0), ('a', 2, 1), ('a', 3, 60000);
    """)
    target.create("S")
    target.await_rows([("a", 0, 60000, 2), ("a", 60000, 120000, 1)], "k, windowstart, windowend, n")
    live.run("DROP SINK $o;")
    other = f"{target.table}_keyed"
    target.create("E", "MODE='upsert'", table=other)
    await_until(lambda: target.rows(table=other) == [("a", 3)], "the last row", PATIENCE)


def test_what_the_database_refuses_is_in_the_processing_log(target: Target) -> None:
    live = target.live
    live.run(EVENTS)
    target.execute("CREATE TABLE {0} (k INT, id SMALLINT CHECK (id <> 7))")
    produce(live, range(40_000 - 20, 40_000))
    produce(live, range(20))
    query = target.create("S")
    target.await_rows([(n, n) for n in range(20) if n != 7])
    await_until(lambda: live.engine.query_metrics()[query].errors == 21, "21 entries", PATIENCE)
    entries = live.rows(
        "SELECT message->productionError->errorMessage AS why, topic, `PARTITION`, `OFFSET` "
        f"FROM KSQL_PROCESSING_LOG WHERE queryId = '{query}' EMIT CHANGES;",
        21,
    )
    (checked,) = (entry for entry in entries if "check constraint" in entry[0])
    assert checked[1] == live.name("S") and checked[2] is not None and checked[3] is not None
    assert all("out of range" in why for why, *_ in entries if why != checked[0])
    assert len({place[1:] for place in entries}) == 21
    produce(live, range(20, 30))
    target.await_rows([(n, n) for n in range(30) if n != 7])
    live.await_state(query, QueryState.RUNNING)


@pytest.mark.slow
def test_a_table_that_cannot_hold_the_rows_is_said(target: Target) -> None:
    live = target.live
    live.run(EVENTS)
    produce(live, range(3))
    target.execute("CREATE TABLE {0} (k INT PRIMARY KEY)")
    query = target.create("S", "MODE='UPSERT'")

    def await_reason(words: str) -> None:
        live.run(f"RESUME {query};")
        await_until(lambda: words in (live.query(query).error or ""), words, PATIENCE)

    await_reason(f'the table {target.table} has no column "id", which would be bigint')
    target.execute("ALTER TABLE {0} ADD COLUMN id BOOLEAN")
    await_reason(f'the column "id" of the table {target.table} is bool, which cannot hold BIGINT')
    target.execute("DROP TABLE {0}")
    target.execute("CREATE TABLE {0} (k INT, id NUMERIC, more TEXT DEFAULT 'x')")
    await_reason("there is no unique or exclusion constraint matching the ON CONFLICT")
    target.execute("ALTER TABLE {0} ADD PRIMARY KEY (k)")
    live.run(f"RESUME {query};")
    target.await_rows([(n, n, "x") for n in range(3)])


def test_it_is_described_replaced_and_dropped(target: Target) -> None:
    live = target.live
    live.run(EVENTS)
    produce(live, range(10))
    query = target.create("S")
    target.await_rows([(n, n) for n in range(10)])
    (listed,) = live.run("SHOW SINKS;")
    assert isinstance(listed, Rows)
    url, name = target.postgresql.url, live.name("O")
    assert (name, live.name("S"), "JDBC", f"{url} {target.table}", "APPEND", query) in listed.rows
    shown = "\n".join(live.texts("DESCRIBE SINK $o;") + live.texts(f"EXPLAIN {query};"))
    assert "${file:" in shown and target.table in shown and PASSWORD not in shown

    other = f"{target.table}_other"
    target.create("S", verb="CREATE OR REPLACE", table=other)
    produce(live, range(10, 20))
    there = [(n, n) for n in range(10, 20)]
    await_until(lambda: target.rows(table=other) == there, "the rows after", PATIENCE)
    target.await_rows([(n, n) for n in range(10)])
    assert live.texts("DROP SINK $o;") == [
        f"Sink `{name}` was dropped. What it has written is kept."
    ]
    # A new one begins at the start, whatever offsets the one before has left.
    target.create("S")
    target.await_rows([(n, n) for n in [*range(10), *range(20)]])


def test_while_the_database_is_gone_the_query_waits_and_says_so(target: Target) -> None:
    live = target.live
    live.run(EVENTS)
    query = target.create("S")
    with load(live) as sent:
        target.await_more_than(100)
        target.postgresql.stop()
        try:
            says = f"the destination of the sink is out of reach: {live.name('O')} in "
            await_until(
                lambda: (
                    live.query(query).state is QueryState.WAITING
                    and says in live.query(query).reason
                ),
                "the query to say why it waits",
                PATIENCE,
            )
        finally:
            target.postgresql.start()
        live.await_state(query, QueryState.RUNNING)
    target.await_rows([(n, n) for n in range(sent[0])])


@pytest.mark.slow
def test_each_row_is_there_once_though_spark_is_killed(target: Target) -> None:
    live = target.live
    live.run(EVENTS)
    query = target.create("S", "BATCH_ROWS=20")
    with load(live) as sent:
        for _ in range(2):
            before = len(target.rows())
            target.await_more_than(before)
            live.kill_spark()
    target.await_rows([(n, n) for n in range(sent[0])])
    live.await_state(query, QueryState.RUNNING)
