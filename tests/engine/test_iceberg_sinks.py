"""Sinks in tables of Iceberg, read by others: at each moment a snapshot has the records up to the
offsets that it names, whatever is killed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from awaiting import await_until
from background import repeated
from engine.lake import Seen, appended, records, seen_by_duckdb, table_in, upserted
from engine.live import PATIENCE, Live
from engine.postgresql import PASSWORD, USER, Database, writable_database
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table
from sqlalchemy.exc import SQLAlchemyError

from streamsql.engine import QueryState
from streamsql.errors import CatalogError
from streamsql.kafka.client import KafkaClient
from streamsql.kafka.records import NewRecord

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

EVENTS = """
CREATE STREAM $s (k INT KEY, id BIGINT) WITH (KAFKA_TOPIC='$s', VALUE_FORMAT='JSON', PARTITIONS=2);
"""


class Lake:
    """A warehouse with one table."""

    def __init__(self, live: Live, folder: Path) -> None:
        self.live, self.warehouse = live, folder / "lake"

    @property
    def sink(self) -> str:
        return self.live.name("O")

    @property
    def folder(self) -> Path:
        return self.warehouse / "shop" / "t"

    def create(self, source: str, *more: str, verb: str = "CREATE") -> str:
        """The id of the query."""
        place = f"CONNECTION='ICEBERG', WAREHOUSE='{self.warehouse}', TABLE='shop.t'"
        given = ", ".join([place, "COMMIT_INTERVAL='1 SECOND'", *more])
        # `$` marks names of the test's own elsewhere.
        sql = f"{verb} SINK {self.sink} FROM {self.live.name(source)} WITH ({given});"
        list(self.live.engine.execute(sql, self.live.session))
        (query,) = (q for q in self.live.engine.queries() if q.sink == self.sink)
        return query.id

    def appended(self) -> Seen:
        return appended(table_in(self.folder), self.sink)

    def upserted(self, *keys: str) -> Seen:
        return upserted(table_in(self.folder), self.sink, *keys)


def await_rows(read: Callable[[], Seen], expected: list[tuple[Any, ...]]) -> Seen:
    def arrived() -> bool:
        found[:] = [read()]
        return found[0].rows == wanted

    found: list[Seen] = []
    wanted = sorted(expected, key=str)
    try:
        await_until(arrived, "the rows", PATIENCE, every=0.2)
    except AssertionError:
        assert found[0].rows == wanted
        raise
    return found[0]


@pytest.fixture
def lake(live: Live, tmp_path: Path) -> Lake:
    return Lake(live, tmp_path)


@pytest.fixture(scope="module")
def postgresql() -> Iterator[Database]:
    with writable_database() as found:
        yield found


def produce(live: Live, ids: range, keys: int) -> None:
    """A record for each of the ids, of as many keys in turn."""
    client = live.engine._state.services.kafka.get()
    assert isinstance(client, KafkaClient)
    now = time.time_ns() // 1_000_000
    made = [
        NewRecord((n % keys).to_bytes(4, "big"), json.dumps({"ID": n}).encode(), now) for n in ids
    ]
    client.produce(live.name("S"), made)


def test_a_stream_of_every_type_is_appended_once(lake: Lake) -> None:
    live = lake.live
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
    query = lake.create("S", "PARTITION_BY='days(at), bucket(4, id)'")
    full = (
        *(1, 9007199254740993, "it's", True, 0.1, Decimal("123456.78")),
        datetime(2024, 2, 29, 23, 59, 59, 123000, UTC),
        *(date(1066, 10, 14), datetime(1, 1, 1, 12, 34, 56).time(), b"\xc3\xbf", ["x", None]),
        *([("a", 1)], {"city": "York", "open": datetime(1, 1, 1, 7, 30).time()}, "odd"),
    )
    empty = (2, *[None] * 13)
    seen = await_rows(lake.appended, [full, empty])
    assert sum(seen.offsets.values()) == 2
    table = table_in(lake.folder)
    assert table is not None
    assert [str(field.transform) for field in table.spec().fields] == ["day", "bucket[4]"]
    assert [field.name for field in table.schema().fields][-4:] == [
        *("tags", "counts", "place", 'Odd "name"')
    ]
    shown = "\n".join(live.texts("DESCRIBE SINK $o;") + live.texts(f"EXPLAIN {query};"))
    assert "ICEBERG" in shown and str(lake.warehouse) in shown

    # A new sink, with a checkpoint of its own, continues behind the offsets of the table.
    live.run("DROP SINK $o;")
    live.run("INSERT INTO $s (id) VALUES (3);")
    lake.create("S")
    await_rows(lake.appended, [full, empty, (3, *[None] * 13)])


def test_a_table_is_upserted_and_deleted_from(lake: Lake) -> None:
    live = lake.live
    live.run("CREATE TABLE $s (id INT PRIMARY KEY, name TEXT);")
    live.run("INSERT INTO $s VALUES (1, 'one'), (2, 'two'), (3, NULL);")
    query = lake.create("S", "PARTITION_BY='bucket(4, id)'")

    def read() -> Seen:
        return lake.upserted("id")

    await_rows(read, [(1, "one"), (2, "two"), (3, None)])
    live.run("DELETE FROM $s WHERE id = 2; UPDATE $s SET name = 'uno' WHERE id = 1;")
    await_rows(read, [(1, "uno"), (3, None)])
    live.run(f"PAUSE {query};")
    # Of a batch, only the last change of a key counts.
    live.run("INSERT INTO $s VALUES (4, 'four'), (5, 'five');")
    live.run("UPDATE $s SET name = 'cinq' WHERE id = 5; DELETE FROM $s WHERE id = 4;")
    live.run("DELETE FROM $s WHERE id = 1; INSERT INTO $s VALUES (1, 'again');")
    live.run(f"RESUME {query};")
    await_rows(read, [(1, "again"), (3, None), (5, "cinq")])
    table = table_in(lake.folder)
    assert table is not None and table.schema().identifier_field_names() == {"id"}
    live.await_state(query, QueryState.RUNNING)


@pytest.mark.slow
def test_duckdb_reads_what_was_replaced_deleted_and_renamed(lake: Lake) -> None:
    live = lake.live

    def read() -> Seen:
        table = table_in(lake.folder)
        has_rows = table is not None and table.current_snapshot() is not None
        return seen_by_duckdb(table, lake.sink) if table and has_rows else Seen({}, [])

    live.run("CREATE TABLE $s (id INT PRIMARY KEY, name TEXT);")
    live.run("INSERT INTO $s VALUES (1, 'one'), (2, 'two'), (3, NULL);")
    lake.create("S", "PARTITION_BY='bucket(4, id)'")
    await_rows(read, [(1, "one"), (2, "two"), (3, None)])
    live.run("DELETE FROM $s WHERE id = 2; UPDATE $s SET name = 'uno' WHERE id = 1;")
    await_rows(read, [(1, "uno"), (3, None)])
    given = "PARTITION_BY='bucket(4, id)'", "COLUMNS='id AS number, name AS word'"
    lake.create("S", *given, verb="CREATE OR REPLACE")
    live.run("INSERT INTO $s VALUES (2, 'again'); UPDATE $s SET name = 'eins' WHERE id = 1;")
    seen = await_rows(read, [(1, "eins"), (2, "again"), (3, None)])
    assert sum(seen.offsets.values()) >= 7
    assert set(_columns(lake)) == {"number", "word"}


def test_columns_are_renamed_and_dropped_with_their_rows(lake: Lake) -> None:
    live = lake.live
    live.run("""
        CREATE STREAM $s (k INT KEY, name STRING, town STRING)
          WITH (KAFKA_TOPIC='$s', VALUE_FORMAT='JSON', PARTITIONS=2);
        INSERT INTO $s VALUES (1, 'Ada', 'York');
    """)
    lake.create("S")
    await_rows(lake.appended, [(1, "Ada", "York")])
    before = _columns(lake)
    given = "COLUMNS='k, name AS customer'", "DROP_COLUMNS='town'"
    query = lake.create("S", *given, verb="CREATE OR REPLACE")
    live.run("INSERT INTO $s VALUES (2, 'Bob', 'Bath');")
    await_rows(lake.appended, [(1, "Ada"), (2, "Bob")])
    assert _columns(lake) == {"k": before["k"], "customer": before["name"]}
    live.run("DROP SINK $o;")
    live.run("INSERT INTO $s VALUES (3, 'Cyd', 'Ely');")
    query = lake.create("S", "COLUMNS='k, town'")
    says = "no longer writes customer, and adds TOWN"
    await_until(lambda: says in (live.query(query).error or ""), "the refusal", PATIENCE)
    lake.create("S", "COLUMNS='k, town'", "KEEP_COLUMNS='customer'", verb="CREATE OR REPLACE")
    await_rows(lake.appended, [(1, "Ada", None), (2, "Bob", None), (3, None, "Ely")])


def _columns(lake: Lake) -> dict[str, int]:
    table = table_in(lake.folder)
    assert table is not None
    return {field.name: field.field_id for field in table.schema().fields}


def test_all_tables_are_in_the_lake_and_later_ones_follow(lake: Lake) -> None:
    live, engine = lake.live, lake.live.engine
    whole = live.name("W")

    def table(name: str) -> Table | None:
        return table_in(lake.warehouse / "shop" / live.name(name).lower())

    def sink(name: str) -> str:
        return f"{whole}_{live.name(name)}"

    live.run("CREATE TABLE $s (id INT PRIMARY KEY, name TEXT); INSERT INTO $s VALUES (1, 'one');")
    live.run(
        "CREATE TABLE $d (share DOUBLE PRIMARY KEY) WITH (KAFKA_TOPIC='$d', "
        "VALUE_FORMAT='JSON', PARTITIONS=1);"
    )
    given = f"CONNECTION='ICEBERG', WAREHOUSE='{lake.warehouse}', TABLE='shop.*'"
    created = f"CREATE SINK {whole} FROM ALL TABLES WITH ({given}, COMMIT_INTERVAL='1 SECOND');"
    list(engine.execute(created, live.session))
    await_rows(lambda: upserted(table("S"), sink("S"), "id"), [(1, "one")])
    live.run(
        "CREATE STREAM $t (k INT KEY, v INT) WITH (KAFKA_TOPIC='$t', VALUE_FORMAT='JSON', "
        "PARTITIONS=1); INSERT INTO $t VALUES (1, 10);"
    )
    await_rows(lambda: appended(table("T"), sink("T")), [(1, 10)])
    live.run("ALTER STREAM $t ADD COLUMN w INT;")
    await_until(lambda: "`W` INT" in _plan(live, sink("T")), "the column to follow", PATIENCE)
    live.run("INSERT INTO $t VALUES (2, 20, 30);")
    await_rows(lambda: appended(table("T"), sink("T")), [(1, 10, None), (2, 20, 30)])
    shown = "\n".join(live.texts(f"DESCRIBE SINK {whole};"))
    assert f"Not {live.name('D')}" in shown and "of type DOUBLE" in shown
    with pytest.raises(CatalogError, match="is a part of the sink"):
        live.run(f"DROP SINK {sink('T')};")
    live.run("DROP TABLE $s;")
    assert sink("S") not in engine.catalog().sinks
    live.run(f"DROP SINK {whole};")
    assert not [name for name in engine.catalog().sinks if name.startswith(whole)]


@pytest.mark.slow
def test_a_sink_of_all_tables_continues_after_a_restart(lake: Lake) -> None:
    live = lake.live
    whole = live.name("W")
    live.run("CREATE TABLE $s (id INT PRIMARY KEY, name TEXT); INSERT INTO $s VALUES (1, 'one');")
    given = f"CONNECTION='ICEBERG', WAREHOUSE='{lake.warehouse}', TABLE='shop.*'"
    created = f"CREATE SINK {whole} FROM ALL TABLES WITH ({given}, COMMIT_INTERVAL='1 SECOND');"
    list(live.engine.execute(created, live.session))

    def read(name: str) -> Seen:
        table = table_in(lake.warehouse / "shop" / live.name(name).lower())
        return upserted(table, f"{whole}_{live.name(name)}", "id")

    await_rows(lambda: read("S"), [(1, "one")])
    before = live.engine.catalog().sinks
    live.restart()
    live.run("CREATE TABLE $t (id INT PRIMARY KEY, n INT); INSERT INTO $t VALUES (1, 10);")
    live.run("INSERT INTO $s VALUES (2, 'two');")
    await_rows(lambda: read("T"), [(1, 10)])
    await_rows(lambda: read("S"), [(1, "one"), (2, "two")])
    after = live.engine.catalog().sinks
    assert {name: after[name] for name in before} == before
    assert after.keys() - before.keys() == {f"{whole}_{live.name('T')}"}
    shown = live.texts("SHOW SINKS;")
    assert any("ALL TABLES" in line for line in shown), shown


def _plan(live: Live, sink: str) -> str:
    found = live.engine.catalog().sinks[sink]
    return "\n".join(live.texts(f"EXPLAIN {found.query_id};"))


@pytest.mark.slow
def test_a_catalog_in_postgresql_which_is_gone_for_a_while(
    lake: Lake, postgresql: Database, tmp_path: Path
) -> None:
    live = lake.live
    secrets = tmp_path / "secrets.properties"
    secrets.write_text(f"db={PASSWORD}\n", "utf-8")
    live.run(EVENTS)
    produce(live, range(50), 10)
    login = f"USER='{USER}', PASSWORD='${{file:{secrets}:db}}'"
    query = lake.create("S", "CATALOG='JDBC'", f"URL='{postgresql.url}'", login)

    def read() -> Seen:
        uri = f"postgresql+psycopg://admin@127.0.0.1:{postgresql.port}/postgres"
        with closing(SqlCatalog("streamsql", uri=uri, init_catalog_tables="false")) as catalog:
            try:
                return appended(catalog.load_table("shop.t"), lake.sink)
            except (NoSuchTableError, SQLAlchemyError):
                return Seen({}, [])

    await_rows(read, [(n % 10, n) for n in range(50)])
    postgresql.stop()
    try:
        produce(live, range(50, 60), 10)
        says = f"the destination of the sink is out of reach: {lake.sink} in jdbc:postgresql:"
        await_until(
            lambda: (
                live.query(query).state is QueryState.WAITING and says in live.query(query).reason
            ),
            "the query to say why it waits",
            PATIENCE,
        )
    finally:
        postgresql.start()
    await_rows(read, [(n % 10, n) for n in range(60)])
    live.await_state(query, QueryState.RUNNING)


KILLING_SECONDS = 240.0


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["APPEND", "UPSERT"])
def test_each_snapshot_has_the_records_before_its_offsets_though_spark_is_killed(
    lake: Lake, mode: str
) -> None:
    """Kills at any time of a commit, for as many as there is time."""
    live = lake.live
    live.run(EVENTS)
    query = lake.create("S", f"MODE='{mode}'")
    sent, kills = [0], 0

    def send() -> None:
        produce(live, range(sent[0], sent[0] + 50), 97)
        sent[0] += 50

    def read() -> Seen:
        return lake.appended() if mode == "APPEND" else lake.upserted("k")

    def check(seen: Seen) -> None:
        assert seen.rows == _expected(live, seen.offsets, mode)

    def await_snapshot() -> None:
        before = read().offsets
        await_until(lambda: read().offsets != before, "a snapshot", PATIENCE, every=0.05)

    end = time.monotonic() + KILLING_SECONDS / 2
    with repeated(send, 0.1):
        while time.monotonic() < end:
            await_snapshot()
            # Somewhere between this commit and the one after the next.
            moment = time.monotonic() + kills * 0.37 % 2.3
            await_until(lambda: time.monotonic() >= moment, "the moment", 5.0, every=0.01)  # noqa: B023
            live.kill_spark()
            kills += 1
            check(read())
    assert kills >= 3
    total = [(n % 97, n) for n in range(sent[0])]
    last = total if mode == "APPEND" else list({k: (k, n) for k, n in total}.values())
    check(await_rows(read, last))
    live.await_state(query, QueryState.RUNNING)
    print(f"{mode}: {kills} kills, {sent[0]} records")


def _expected(live: Live, offsets: Any, mode: str) -> list[tuple[int, int]]:
    rows: dict[Any, tuple[int, int]] = {}
    for record in records(live, live.name("S")):
        if record.offset < offsets.get(record.partition, 0):
            assert record.key is not None and record.value is not None
            key, n = int.from_bytes(record.key, "big"), json.loads(record.value)["ID"]
            rows[n if mode == "APPEND" else key] = key, n
    return sorted(rows.values(), key=str)
