"""Tables of a real PostgreSQL, captured by the embedded Connect worker, joined, and written to
another database."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path

import psutil
import psycopg
import pytest
from awaiting import await_until
from background import repeated
from engine.live import PATIENCE, Live
from engine.postgresql import PASSWORD, USER, Database, database

from streamsql.connectors.embedded.worker import worker_status
from streamsql.errors import CatalogError, ConfigError, ExternalError, StreamSQLError
from streamsql.results import Answer, Message
from streamsql.run_script import NamedText

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


@pytest.fixture(scope="module")
def shop() -> Iterator[Database]:
    with database("wal_level=logical") as found:
        found.execute(f"ALTER ROLE {USER} REPLICATION")
        found.execute("CREATE DATABASE reports")
        found.execute(f"GRANT CREATE ON DATABASE postgres TO {USER}")
        yield found


TABLES = """
CREATE TABLE customers (id INT PRIMARY KEY, name VARCHAR(40) NOT NULL, credit NUMERIC(10, 2));
CREATE TABLE orders (id BIGINT PRIMARY KEY, customer INT, placed TIMESTAMPTZ, paid BOOLEAN);
INSERT INTO customers VALUES (1, 'Ann', 10.50), (2, 'Bob', NULL);
INSERT INTO orders VALUES (10, 1, '2026-01-02 03:04:05+00', true), (11, 2, NULL, false);
"""
CHANGES = """
UPDATE customers SET name = 'Anne', credit = 99.99 WHERE id = 1;
INSERT INTO customers VALUES (3, 'Cem', 0);
INSERT INTO orders
  SELECT n, 3, date_trunc('milliseconds', now()), n % 2 = 0 FROM generate_series(20, 29) n;
UPDATE orders SET customer = 1 WHERE id = 11;
DELETE FROM orders WHERE id = 10;
"""
JOINED = """SELECT o.id, c.name, c.credit, o.placed, o.paid
FROM orders o JOIN customers c ON o.customer = c.id"""


class Captured:
    """Statements over the tables of a database."""

    def __init__(self, live: Live, shop: Database, secrets: Path) -> None:
        self.live, self.shop, self._secrets = live, shop, secrets

    def sql(
        self, name: str, table: str, columns: str = "", *, kind: str = "TABLE", key: str = "db"
    ) -> str:
        url = f"postgres://{USER}@127.0.0.1:{self.shop.port}/postgres"
        # `$` marks names of the test's own elsewhere.
        return (
            f"CREATE {kind} {self.live.name(name)} {columns} WITH (CONNECTION='POSTGRES', "
            f"URL='{url}', TABLE='{table}', PASSWORD='${{file:{self._secrets}:{key}}}');"
        )

    def create(self, name: str, table: str, *, kind: str = "TABLE", key: str = "db") -> list[str]:
        sql = self.sql(name, table, kind=kind, key=key)
        results = self.live.engine.execute(sql, self.live.session)
        return [result.text for result in results if isinstance(result, Message)]

    def create_source(self) -> None:
        """Named SHOP."""
        url = f"postgres://{USER}@127.0.0.1:{self.shop.port}/postgres"
        sql = (
            f"CREATE SOURCE {self.live.name('SHOP')} WITH (CONNECTION='POSTGRES', URL='{url}', "
            f"PASSWORD='${{file:{self._secrets}:db}}');"
        )
        list(self.live.engine.execute(sql, self.live.session))

    def add(self, name: str, table: str, *, kind: str = "TABLE") -> None:
        """A table of the source, of which a query keeps the rows."""
        sql = f"CREATE {kind} ${name} FROM SOURCE $shop TABLE '{table}';"
        assert self.live.texts(sql) == [f"{kind.capitalize()} created"]
        if kind == "TABLE":
            self.live.run(f"CREATE TABLE $held{name} AS SELECT * FROM ${name};")

    def await_rows(self, name: str, table: str, columns: str) -> None:
        """Waits until a table of the source has what the database has."""

        def are_equal() -> bool:
            wanted[:] = rows(self.shop.conninfo, f"SELECT {columns} FROM {table}")
            (result,) = self.live.run(f"SELECT {columns} FROM $held{name};")
            assert isinstance(result, Answer)
            found[:] = sorted((row.values for row in result.rows), key=str)
            return found == wanted

        wanted: list[tuple[object, ...]] = []
        found: list[tuple[object, ...]] = []
        try:
            await_until(are_equal, f"the rows of {table}", PATIENCE, every=0.5)
        except AssertionError:
            assert found == wanted
            raise

    def traces(self) -> int:
        """Slots, publications and schemas in the database."""
        with psycopg.connect(self.shop.conninfo) as connection:
            (count,) = connection.execute(
                "SELECT (SELECT count(*) FROM pg_replication_slots)"
                " + (SELECT count(*) FROM pg_publication)"
                " + (SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'streamsql%')"
            ).fetchone() or (0,)
        return int(count)


@pytest.fixture
def captured(live: Live, shop: Database, tmp_path: Path) -> Captured:
    secrets = tmp_path / "secrets.properties"
    secrets.write_text(f"db={PASSWORD}\n", "utf-8")
    return Captured(live, shop, secrets)


def rows(conninfo: str, sql: str) -> list[tuple[object, ...]]:
    with psycopg.connect(conninfo) as connection:
        try:
            return sorted(connection.execute(sql.encode()).fetchall(), key=str)
        except psycopg.errors.UndefinedTable:
            return []


def await_equal(shop: Database, reports: str) -> None:
    """Waits until the table of the result has what a join in the database gives."""

    def are_equal() -> bool:
        wanted[:] = rows(shop.conninfo, JOINED)
        found[:] = rows(reports, "SELECT id, name, credit, placed, paid FROM paid")
        return found == wanted

    wanted: list[tuple[object, ...]] = []
    found: list[tuple[object, ...]] = []
    try:
        await_until(are_equal, "the rows", PATIENCE, every=0.2)
    except AssertionError:
        assert found == wanted
        raise


def test_two_tables_are_joined_live_and_written_to_another_database(
    captured: Captured, shop: Database
) -> None:
    live = captured.live
    for statement in TABLES.split(";"):
        shop.execute(statement)
    for table in ("customers", "orders"):
        shop.execute(f"ALTER TABLE {table} OWNER TO {USER}")
        assert captured.create(table.upper(), table) == ["Table created"]
    live.run(
        "CREATE TABLE $paid AS SELECT o.id AS id, c.name AS name, c.credit AS credit, "
        "o.placed AS placed, o.paid AS paid "
        "FROM $orders o JOIN $customers c ON o.customer = c.id;"
    )
    reports = shop.conninfo.replace("dbname=postgres", "dbname=reports")
    sql = (
        f"CREATE SINK {live.name('OUT')} FROM {live.name('PAID')} WITH (CONNECTION='JDBC', "
        f"URL='{shop.url.replace('/postgres', '/reports')}', TABLE='public.paid', USER='admin');"
    )
    list(live.engine.execute(sql, live.session))

    await_equal(shop, reports)
    for statement in CHANGES.split(";"):
        shop.execute(statement)
    await_equal(shop, reports)
    live.drop_all()
    assert captured.traces() == 0


KINDS = """
CREATE TYPE mood AS ENUM ('glad', 'sad');
CREATE DOMAIN positive AS INT CHECK (VALUE > 0);
CREATE TABLE kinds (id UUID, "Part" SMALLINT, big BIGINT, yes BOOLEAN, f REAL, d DOUBLE PRECISION,
  price NUMERIC(12, 3), any_number NUMERIC, t TEXT, v VARCHAR(9), c CHAR(3), raw BYTEA, day DATE,
  at TIME, stamp TIMESTAMP, zoned TIMESTAMPTZ, document JSONB, m mood, p positive, tags TEXT[],
  numbers INT[], span INTERVAL, PRIMARY KEY (id, "Part"));
INSERT INTO kinds VALUES ('7d444840-9dc0-11d1-b245-5ffdce74fad2', 7, 9007199254740993, true, 1.5,
  2.25, '-12345.670', 1e30, 'é', 'vv', 'c', '\\x00ff', '1969-12-31', '23:59:58.123',
  '2026-01-02 03:04:05.678', '2026-01-02 03:04:05.678+02',
  '{"a": [1]}', 'glad', 3, '{a,NULL}', '{1,2}', '1 day 2 hours');
INSERT INTO kinds (id, "Part") VALUES ('7d444840-9dc0-11d1-b245-5ffdce74fad2', 8);
"""


def test_values_of_each_type(captured: Captured, shop: Database) -> None:
    for statement in KINDS.split(";"):
        shop.execute(statement)
    shop.execute(f"ALTER TABLE kinds OWNER TO {USER}")
    captured.create("KINDS", "kinds")
    id = "7d444840-9dc0-11d1-b245-5ffdce74fad2"
    rows = captured.live.rows("SELECT * FROM $kinds EMIT CHANGES;", 2)
    assert rows == [
        (
            *(id, 7, 9007199254740993, True, 1.5, 2.25, Decimal("-12345.670")),
            *("1000000000000000000000000000000", "é", "vv", "c  ", b"\x00\xff"),
            *(date(1969, 12, 31), time(23, 59, 58, 123_000)),
            *(datetime(2026, 1, 2, 3, 4, 5, 678_000), datetime(2026, 1, 2, 1, 4, 5, 678_000)),
            *('{"a": [1]}', "glad", 3, ["a", None], [1, 2], "P0Y0M1DT2H0M0S"),
        ),
        (id, 8, *[None] * 20),
    ]


def test_a_table_of_a_pipeline_file(captured: Captured, shop: Database) -> None:
    shop.execute("CREATE TABLE applied (id INT PRIMARY KEY, name TEXT, other TEXT)")
    shop.execute("INSERT INTO applied VALUES (1, 'one', 'x')")
    shop.execute(f"ALTER TABLE applied OWNER TO {USER}")
    live, sql = captured.live, captured.sql("APPLIED", "applied", "(id INT PRIMARY KEY, name TEXT)")
    live.engine.changes.apply([NamedText("f.sql", sql)], partial=True)
    assert live.rows("SELECT * FROM $applied EMIT CHANGES;", 1) == [(1, "one")]
    live.engine.changes.apply([NamedText("f.sql", sql)], partial=True)
    assert captured.traces() == 2
    moved = sql.replace("'applied'", "'orders'")
    with pytest.raises(StreamSQLError, match=r"\(refused\): CONNECTION: .* public.applied, now"):
        live.engine.changes.apply([NamedText("f.sql", moved)], partial=True)


def test_what_the_database_refuses(captured: Captured, shop: Database) -> None:
    with pytest.raises(ConfigError, match="the database postgres has no table public.nowhere"):
        captured.create("NOWHERE", "nowhere")
    with pytest.raises(ExternalError) as raised:
        captured.create("NOWHERE", "nowhere", key="other")
    assert raised.value.message.startswith("the database postgres at 127.0.0.1:")
    assert raised.value.detail and "has no entry other" in raised.value.detail
    shop.execute("CREATE TABLE kept (id INT PRIMARY KEY)")
    captured.live.run(
        "CREATE STREAM $kept (id INT KEY) WITH (KAFKA_TOPIC='$kept', VALUE_FORMAT='JSON',"
        " PARTITIONS=1); INSERT INTO $kept VALUES (1); DROP STREAM $kept;"
    )
    with pytest.raises(ConfigError, match="has records, and changes are written to a topic of"):
        captured.create("KEPT", "kept")
    assert captured.traces() == 0


SHARED = """
CREATE TABLE towns (id INT PRIMARY KEY, name TEXT);
CREATE TABLE people (id INT PRIMARY KEY, town INT, bio TEXT);
CREATE TABLE pets (id INT, "Kind" TEXT, n INT, PRIMARY KEY (id, "Kind"));
ALTER TABLE people ALTER bio SET STORAGE EXTERNAL;
INSERT INTO towns SELECT n, 'town ' || n FROM generate_series(1, 9) n;
INSERT INTO people SELECT n, n % 9, repeat(md5(n::text), 200) FROM generate_series(1, 2000) n;
INSERT INTO pets SELECT n, 'cat', n FROM generate_series(1, 50) n;
"""


def test_tables_of_a_source_share_a_slot(captured: Captured, shop: Database) -> None:
    live = captured.live
    for statement in SHARED.split(";"):
        shop.execute(statement)
    for table in ("towns", "people", "pets"):
        shop.execute(f"ALTER TABLE {table} OWNER TO {USER}")
    captured.create_source()
    changes = 0

    def change() -> None:
        """Values that are stored out of line stay as they are, and are not in the log."""
        nonlocal changes
        changes += 1
        shop.execute(f"UPDATE people SET town = town + 1 WHERE id % 50 = {changes % 50}")
        shop.execute(f"DELETE FROM people WHERE id = {1000 + changes}")
        shop.execute(f"INSERT INTO people VALUES ({5000 + changes}, 1, 'new')")

    captured.add("TOWNS", "towns")
    with repeated(change, 0.02):
        captured.add("PEOPLE", "people")
        least = changes + 50
        await_until(lambda: changes > least, "changes", PATIENCE)
    captured.await_rows("PEOPLE", "people", "id, town, bio")
    captured.await_rows("TOWNS", "towns", "id, name")
    assert captured.traces() == 3

    captured.add("PETS", "pets", kind="STREAM")
    live.run('CREATE STREAM $ops AS SELECT id, "Kind", op, after->n AS n FROM $pets;')
    read = live.rows("SELECT * FROM $ops EMIT CHANGES;", 50)
    assert sorted(read) == [(n, "cat", "r", n) for n in range(1, 51)]
    shop.execute("UPDATE pets SET n = -n WHERE id = 1")
    assert live.rows("SELECT * FROM $ops EMIT CHANGES;", 51)[-1] == (1, "cat", "u", -1)

    with pytest.raises(CatalogError, match="PEOPLE.*, .*TOWNS.* are captured from it"):
        live.run("DROP SOURCE $shop;")
    live.run("DROP STREAM $ops; DROP STREAM $pets DELETE TOPIC;")
    shop.execute("INSERT INTO people VALUES (0, 0, 'last')")
    captured.await_rows("PEOPLE", "people", "id, town, bio")
    facts = live.texts("DESCRIBE SOURCE $shop;")
    name = live.name("TOWNS")
    assert f"{name} | TABLE | public.towns | {name} | COMPLETE" in facts
    assert not any("PETS" in line for line in facts)
    (connector,) = (line.partition(": ")[2] for line in facts if line.startswith("Connector"))
    described = live.texts(f"DESCRIBE CONNECTOR `{connector}`;")
    (lag,) = (line.partition(": ")[2] for line in described if line.startswith("Lag"))
    assert re.fullmatch(r"\d+ bytes of the database's log", lag)
    live.drop_all()
    live.run("DROP SOURCE $shop;")
    assert captured.traces() == 0


def test_columns_that_are_added_and_dropped_in_the_database(
    captured: Captured, shop: Database
) -> None:
    live = captured.live
    shop.execute("CREATE TABLE goods (id INT PRIMARY KEY, name TEXT, old INT)")
    shop.execute("INSERT INTO goods VALUES (1, 'a', 1)")
    shop.execute(f"ALTER TABLE goods OWNER TO {USER}")
    captured.create("GOODS", "goods")
    captured.create("ALSO", "goods")
    assert live.rows("SELECT * FROM $goods EMIT CHANGES;", 1) == [(1, "a", 1)]
    shop.execute("ALTER TABLE goods ADD COLUMN size INT")
    shop.execute("INSERT INTO goods VALUES (2, 'b', 2, 20)")
    shop.execute("ALTER TABLE goods DROP COLUMN old")
    shop.execute("INSERT INTO goods VALUES (3, 'c', 30)")
    described = live.texts("DESCRIBE $goods EXTENDED;")
    missing = "public.goods no longer has the column OLD: its values are null in new rows."
    assert {missing, "Columns of public.goods that are left out: SIZE"} <= set(described)
    # Rows of the time before the column was known here have it too.
    live.run("ALTER TABLE $goods ADD COLUMN size INT;")
    assert sorted(live.rows("SELECT id, name, old, size FROM $goods EMIT CHANGES;", 3)) == [
        (1, "a", 1, None),
        (2, "b", 2, 20),
        (3, "c", None, 30),
    ]
    sql = captured.sql("ALSO", "goods", "(id INT PRIMARY KEY, name TEXT, old INT, size INT)")
    live.engine.changes.apply([NamedText("f.sql", sql)], partial=True)
    found = sorted(live.rows("SELECT id, size FROM $also EMIT CHANGES;", 3))
    assert found == [(1, None), (2, 20), (3, 30)]


def test_an_idle_table_does_not_hold_back_the_log(captured: Captured, shop: Database) -> None:
    for table in ("idle", "busy"):
        shop.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, text TEXT)")
    shop.execute(f"ALTER TABLE idle OWNER TO {USER}")
    captured.create("IDLE", "idle")

    def lag() -> int:
        query = "SELECT pg_current_wal_lsn() - confirmed_flush_lsn FROM pg_replication_slots"
        return max((int(str(size)) for (size,) in rows(shop.conninfo, query)), default=0)

    await_until(lambda: captured.traces() == 2, "the slot to be created", PATIENCE, every=0.2)
    shop.execute("INSERT INTO busy SELECT n, repeat('x', 1000) FROM generate_series(1, 5000) n")
    assert lag() > 5_000_000
    await_until(lambda: lag() < 500_000, "the log to be confirmed", PATIENCE, every=0.5)
    kafka = captured.live.engine._state.services.kafka.get()
    assert sum(kafka.end_offsets(captured.live.name("IDLE")).values()) == 0


def counted(live: Live, name: str) -> dict[int, list[int]]:
    """The values of each key in the topic, in their order."""
    kafka = live.engine._state.services.kafka.get()
    topic, found = live.name(name), defaultdict[int, list[int]](list)
    for record in kafka.consume(topic, until=kafka.end_offsets(topic)):
        change = json.loads(record.value or b"null")
        found[change["after"]["id"]].append(change["after"]["n"])
    return found


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True])
def test_each_change_arrives_once_across_kills_on_both_ends(
    captured: Captured, shop: Database, shared: bool
) -> None:
    live, added = captured.live, False
    for table, count in (("counters", 10), ("grown", 30_000)):
        shop.execute(f"DROP TABLE IF EXISTS {table}")
        shop.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, n INT)")
        shop.execute(f"INSERT INTO {table} SELECT id, 0 FROM generate_series(1, {count}) id")
        shop.execute(f"ALTER TABLE {table} OWNER TO {USER}")
    if shared:
        captured.create_source()
        captured.add("COUNTERS", "counters", kind="STREAM")
    else:
        captured.create("COUNTERS", "counters", kind="STREAM")
    rounds = 0

    def change() -> None:
        """Each row by one, and some of the larger table, unless the database is away."""
        nonlocal rounds
        with suppress(psycopg.OperationalError):
            shop.execute("UPDATE counters SET n = n + 1")
            shop.execute(f"UPDATE grown SET n = n + 1 WHERE id % 500 = {rounds % 500}")
            rounds += 1

    def kill_worker() -> None:
        status = worker_status(live.engine._state.data)
        assert status is not None
        psutil.Process(status.pid).kill()

    def restart_database() -> None:
        shop.stop()
        shop.start()

    def await_more() -> None:
        least = rounds + 100
        await_until(lambda: rounds > least, "changes", PATIENCE)

    await_until(lambda: len(counted(live, "COUNTERS")) == 10, "the snapshot", PATIENCE, every=0.5)
    for disturb in (kill_worker, restart_database, live.restart) * 2:
        with repeated(change, 0.01):
            await_more()
            if shared and not added:
                captured.add("GROWN", "grown", kind="STREAM")
                added = True
            disturb()
            await_more()

    ((last,),) = rows(shop.conninfo, "SELECT DISTINCT n FROM counters")
    assert isinstance(last, int)
    await_until(
        lambda: len(counted(live, "COUNTERS")[1]) > last, "all changes", PATIENCE, every=1.0
    )
    assert counted(live, "COUNTERS") == {id: list(range(last + 1)) for id in range(1, 11)}
    if shared:
        await_snapshot(captured, shop)


def await_snapshot(captured: Captured, shop: Database) -> None:
    """The table that was added has its rows, and each of them in the order of its values."""
    wanted = dict(rows(shop.conninfo, "SELECT id, n FROM grown"))

    def latest() -> dict[object, object]:
        return {id: values[-1] for id, values in counted(captured.live, "GROWN").items()}

    await_until(lambda: latest() == wanted, "the added table", PATIENCE, every=1.0)
    for values in counted(captured.live, "GROWN").values():
        assert values == sorted(values)


@pytest.mark.slow
def test_a_drop_without_the_database_is_completed_with_it(
    captured: Captured, shop: Database
) -> None:
    shop.execute("CREATE TABLE gone (id INT PRIMARY KEY)")
    shop.execute(f"ALTER TABLE gone OWNER TO {USER}")
    captured.create("GONE", "gone")
    await_until(lambda: captured.traces() == 2, "the slot to be created", PATIENCE, every=0.2)
    shop.stop()
    dropped = captured.live.texts("DROP TABLE $gone;")
    shop.start()
    assert "are not removed yet, which is retried" in dropped[-1]
    await_until(lambda: captured.traces() == 0, "the slot to be removed", PATIENCE, every=0.5)
    # The connector goes last, so that all is repeated after a failure.
    await_until(lambda: not captured.live.texts("SHOW CONNECTORS;"), "no connector", PATIENCE)
