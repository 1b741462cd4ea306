"""Lookups in a real PostgreSQL, which is also gone for some time."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from awaiting import await_until
from engine.live import PATIENCE, Live
from engine.postgresql import PASSWORD, USER, Database, database
from engine.test_lookups import query_id

from streamsql.engine import QueryState
from streamsql.kafka.client import KafkaClient
from streamsql.kafka.records import NewRecord

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

STREAM = """
CREATE STREAM $s (k INT KEY, id BIGINT) WITH (KAFKA_TOPIC='$s', VALUE_FORMAT='JSON', PARTITIONS=2);
"""


@pytest.fixture(scope="module")
def postgresql() -> Iterator[Database]:
    with database() as found:
        yield found


class Items:
    """A table of the database, and the lookup table over it."""

    def __init__(self, live: Live, postgresql: Database, folder: Path) -> None:
        self.live, self.postgresql = live, postgresql
        self.name = live.name("items").lower()
        self.secrets = folder / "secrets.properties"
        self.secrets.write_text(f"db={PASSWORD}\n", "utf-8")
        self.execute("CREATE TABLE {0} (id BIGINT PRIMARY KEY, label TEXT)")

    def execute(self, sql: str) -> None:
        self.postgresql.execute(sql.replace("{0}", f"public.{self.name}"))

    def declare(self, *more: str, columns: str = "id BIGINT PRIMARY KEY, label STRING") -> None:
        given = (
            "CONNECTION='JDBC'",
            f"URL='{self.postgresql.url}'",
            f"DBTABLE='public.{self.name}'",
            f"USER='{USER}'",
            f"PASSWORD='${{file:{self.secrets}:db}}'",
            *more,
        )
        # `$` marks names of the test's own elsewhere.
        sql = f"CREATE SOURCE TABLE {self.live.name('T')} ({columns}) WITH ({', '.join(given)});"
        list(self.live.engine.execute(sql, self.live.session))


@pytest.fixture
def items(live: Live, postgresql: Database, tmp_path: Path) -> Items:
    return Items(live, postgresql, tmp_path)


def produce(live: Live, ids: list[int], first: int = 0) -> None:
    """A record for each of the ids, whose keys are numbers from the first on."""
    client = live.engine._state.services.kafka.get()
    assert isinstance(client, KafkaClient)
    now = time.time_ns() // 1_000_000
    records = [
        NewRecord((first + n).to_bytes(4, "big"), f'{{"ID": {id}}}'.encode(), now)
        for n, id in enumerate(ids)
    ]
    client.produce(live.name("S"), records)


@pytest.mark.variants
@pytest.mark.parametrize("mode", ["realtime", "microbatch"])
def test_rows_are_found_and_then_known_for_some_time(items: Items, mode: str) -> None:
    live = items.live
    items.execute("INSERT INTO {0} VALUES (1, 'one'), (2, NULL), (4, 'four')")
    live.run(f"SET 'processing.mode' = '{mode}';" + STREAM)
    items.declare("CACHE_TTL='2 SECONDS'")
    query = query_id(
        live, "CREATE STREAM $o AS SELECT k, t.id, label FROM $s s LEFT JOIN $t t ON s.id = t.id;"
    )
    produce(live, [1, 2, 3])
    rows = live.rows("SELECT * FROM $o EMIT CHANGES;", 3)
    assert set(rows) == {(0, 1, "one"), (1, 2, None), (2, None, None)}
    live.await_state(query, QueryState.RUNNING)
    stream = live.stream("SELECT * FROM $o EMIT CHANGES;")
    live.take(stream, 3)
    number = 3

    def seen(id: int) -> str | None:
        nonlocal number
        produce(live, [id], number)
        (row,) = live.take(stream, 1)
        assert row.values[0] == number
        number += 1
        label: str | None = row.values[2]
        return label

    # A cached row, or its absence, stays cached until the time is over. Nothing was asked for these
    # two before.
    began = time.monotonic()
    seen(4), seen(5)
    items.execute("UPDATE {0} SET label = 'fourth' WHERE id = 4")
    items.execute("INSERT INTO {0} VALUES (5, 'five')")
    known = seen(4), seen(5)
    assert known == ("four", None) or time.monotonic() - began > 2
    await_until(lambda: seen(4) == "fourth", "the new row to be seen", PATIENCE, every=0.2)
    await_until(lambda: seen(5) == "five", "the row to be seen", PATIENCE, every=0.2)
    stream.cancel()


def test_every_type(items: Items) -> None:
    live = items.live
    items.execute("DROP TABLE {0}")
    items.execute("""CREATE TABLE {0} (code TEXT, day DATE, flag BOOLEAN,
        small SMALLINT, share REAL, price NUMERIC(8, 2), at TIMESTAMPTZ, local TIMESTAMP,
        hour TIME, raw BYTEA, text UUID, big NUMERIC, PRIMARY KEY (code, day))""")
    items.execute("""INSERT INTO {0} VALUES ('a''b', '2024-02-29', TRUE, -3, 0.5, 123456.78,
        '2024-02-29T23:59:59.123+01', '2024-02-29T23:59:59.123', '12:34:56', '\\xc3bf',
        '00000000-0000-0000-0000-000000000001', 1)""")
    items.execute("INSERT INTO {0} VALUES ('null', '2024-02-29'), ('wide', '2024-02-29')")
    items.execute("UPDATE {0} SET big = 1e30 WHERE code = 'wide'")
    live.run("""
        CREATE STREAM $s (k INT KEY, code STRING, day DATE)
          WITH (KAFKA_TOPIC='$s', VALUE_FORMAT='JSON', PARTITIONS=1);
    """)
    items.declare(
        columns="code STRING PRIMARY KEY, day DATE PRIMARY KEY, flag BOOLEAN, small INT, share "
        "DOUBLE, price DECIMAL(8, 2), at TIMESTAMP, local TIMESTAMP, hour TIME, raw BYTES, text "
        "STRING, big DECIMAL(10, 0)"
    )
    live.run("""
        CREATE STREAM $o AS SELECT k, flag, small, share, CAST(price AS STRING) AS price,
            UNIX_TIMESTAMP(at) AS at, UNIX_TIMESTAMP(local) AS local, CAST(hour AS STRING) AS hour,
            FROM_BYTES(raw, 'hex') AS raw, text
          FROM $s s LEFT JOIN $t t ON s.code = t.code AND s.day = t.day;
        INSERT INTO $s VALUES (1, 'a''b', '2024-02-29');
        INSERT INTO $s VALUES (2, 'null', '2024-02-29');
        INSERT INTO $s VALUES (3, 'null', '2024-03-01');
        INSERT INTO $s VALUES (4, 'wide', '2024-02-29');
    """)
    rows = live.rows("SELECT * FROM $o EMIT CHANGES;", 4)
    at, uuid = 1709251199123, "00000000-0000-0000-0000-000000000001"
    hour = 3_600_000
    assert rows[0] == (1, True, -3, 0.5, "123456.78", at - hour, at, "12:34:56", "C3BF", uuid)
    assert [row[1:] for row in rows[1:]] == [(None,) * 9] * 3
    # The one that does not fit is in the log.
    (entry,) = live.rows(
        "SELECT message->recordProcessingError->errorMessage FROM KSQL_PROCESSING_LOG "
        f"WHERE INSTR(message->recordProcessingError->errorMessage, '{live.name('T')}') > 0 "
        "EMIT CHANGES;",
        1,
    )
    assert "$.BIG: expected DECIMAL(10,0)" in entry[0]


@pytest.mark.variants
@pytest.mark.parametrize("mode", ["realtime", "microbatch"])
@pytest.mark.parametrize("seconds", [4, pytest.param(25, marks=pytest.mark.slow)])
def test_while_the_database_is_gone_the_query_waits_and_loses_nothing(
    items: Items, mode: str, seconds: int
) -> None:
    live = items.live
    items.execute("INSERT INTO {0} SELECT n, 'label ' || n FROM generate_series(0, 999) n")
    live.run(f"SET 'processing.mode' = '{mode}';" + STREAM)
    items.declare("CACHE_TTL='0 SECONDS'")
    query = query_id(
        live, "CREATE STREAM $o AS SELECT k, label FROM $s s JOIN $t t ON s.id = t.id;"
    )
    live.await_state(query, QueryState.RUNNING)
    sent = 0
    ended = threading.Event()

    def load() -> None:
        nonlocal sent
        while not ended.wait(0.1):
            produce(live, [(sent + n) % 1000 for n in range(20)], sent)
            sent += 20

    loading = threading.Thread(target=load)
    loading.start()
    try:
        time.sleep(2)
        items.postgresql.stop()
        if seconds > 15:
            says = "what is looked up is out of reach: " + live.name("T")
            await_until(
                lambda: (
                    live.query(query).state is QueryState.WAITING
                    and says in live.query(query).reason
                ),
                "the query to say why it waits",
                PATIENCE,
            )
        else:
            time.sleep(seconds)
            assert live.query(query).state is not QueryState.ERROR
    finally:
        items.postgresql.start()
        time.sleep(2)
        ended.set()
        loading.join()
    found: dict[int, str] = {}
    stream = live.stream("SELECT k, label FROM $o EMIT CHANGES;")
    doubled = 0
    late = threading.Timer(PATIENCE, stream.cancel)
    late.start()
    for row in stream.rows:
        doubled += row.values[0] in found
        found[row.values[0]] = row.values[1]
        if len(found) == sent:
            break
    late.cancel()
    stream.cancel()
    assert found == {n: f"label {n % 1000}" for n in range(sent)}
    # For so short a time the tasks themselves have waited: nothing has run again.
    assert doubled == 0 or seconds > 5
    live.await_state(query, QueryState.RUNNING)


def test_a_database_is_asked_no_more_often_than_it_may(items: Items) -> None:
    live = items.live
    items.execute("INSERT INTO {0} SELECT n, 'label ' || n FROM generate_series(0, 999) n")
    live.run(STREAM)
    items.declare("MAX_LOOKUPS_PER_SECOND=50")
    produce(live, [*range(200), *range(200)])
    began = time.monotonic()
    live.run("CREATE STREAM $o AS SELECT k, label FROM $s s JOIN $t t ON s.id = t.id;")
    assert len(live.rows("SELECT * FROM $o EMIT CHANGES;", 400)) == 400
    # 200 keys, each asked for once; of the first a tenth of a second's are free.
    assert 3.5 < time.monotonic() - began < 30


def test_a_wrong_password_is_said(items: Items) -> None:
    live = items.live
    items.secrets.write_text("db=wrong\n", "utf-8")
    items.execute("INSERT INTO {0} VALUES (1, 'one')")
    live.run(STREAM)
    items.declare()
    query = query_id(
        live, "CREATE STREAM $o AS SELECT k, label FROM $s s JOIN $t t ON s.id = t.id;"
    )
    produce(live, [1])
    await_until(
        lambda: "password authentication failed" in live.query(query).reason,
        "the query to say what is wrong",
        PATIENCE,
    )
    items.secrets.write_text(f"db={PASSWORD}\n", "utf-8")
    assert live.rows("SELECT * FROM $o EMIT CHANGES;", 1) == [(0, "one")]
    shown = "\n".join(live.texts("DESCRIBE $t EXTENDED;"))
    assert PASSWORD not in shown
    assert "${file:" in shown
