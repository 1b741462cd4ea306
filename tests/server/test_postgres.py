"""PostgreSQL's clients on a real engine: queries, push queries, COPY, cursors."""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal

import asyncpg
import pandas as pd
import psutil
import psycopg
import pytest
import sqlalchemy
from postgres.live import LiveListener, psql
from postgres.stand_in import listening
from server.live import LiveServer

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


@pytest.fixture(scope="module")
def live(server: LiveServer) -> Iterator[LiveListener]:
    """A listener beside HTTP, with a stream and a table that tests only read."""
    with listening(server.engine) as port:
        found = LiveListener(server.engine, port)
        found.prepare()
        yield found


MOMENT = datetime(2024, 2, 29, 12, tzinfo=UTC)
FLOW = "SELECT sensor, n FROM pg_readings EMIT CHANGES"
PAIRS = [("a", 1), ("b", 2), ("a", 3)]


def test_psql(live: LiveListener) -> None:
    shown = psql(
        live.port,
        "SELECT * FROM pg_counts WHERE sensor = 'a'",
        "SELECT sensor, price, seen, tags, place FROM pg_readings WHERE n = 1",
        "SELECT n, nope FROM pg_counts",
        f"{FLOW} LIMIT 3",
        r"\d+ pg_counts",
        r"\dt public.pg_*",
        r"\timing on",
        "SELECT n + 40 AS timed FROM pg_counts WHERE sensor = 'a'",
    )
    for line in (
        " sensor | n \n--------+---\n a      | 2\n(1 row)",
        ' a      |  1.50 | 2024-02-29 12:00:00+00 | {x,NULL} | {"CITY":"Bergen"}',
        "ERROR:  column NOPE does not exist\nLINE 1: SELECT n, nope FROM",
        " a      | 1\n b      | 2\n a      | 3\n(3 rows)",
        '"pg_counts_pkey" PRIMARY KEY, btree (sensor)',
        " public | pg_readings | table | streamsql",
    ):
        assert line in shown, shown
    assert re.search(r"Timing is on\.\n timed \n-+\n +42\n\(1 row\)\n\nTime: \d+\.\d+ ms", shown), (
        shown
    )


def test_lookups_and_parameters(live: LiveListener) -> None:
    with live.connect() as connection:
        query = "SELECT n FROM pg_counts WHERE sensor = %s"
        for binary in (False, True):
            for sensor, n in (("a", 2), ("b", 1)):
                cursor = connection.cursor(binary=binary).execute(query, [sensor])
                assert cursor.fetchall() == [(n,)]
        assert connection.execute(query, ["a'; --"]).fetchall() == []
        of_types = "SELECT n FROM pg_readings WHERE price = %s AND seen >= %s AND tags = %s"
        assert connection.execute(of_types, [Decimal("1.50"), MOMENT, ["x", None]]).fetchall() in (
            [(1,)],
            [],  # An array with a null equals none.
        )
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_transaction_reads_one_epoch(live: LiveListener) -> None:
    name = f"paid_{uuid.uuid4().hex[:8]}"
    with live.connect() as reader, live.connect() as writer:
        writer.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY, amount INT)")
        writer.execute(
            f"CREATE MATERIALIZED VIEW {name}_sum AS SELECT SUM(amount) AS total FROM {name}"
        )
        writer.execute(f"INSERT INTO {name} VALUES (1, 5), (2, 7)")
        writer.execute("FLUSH")
        total = f"SELECT total FROM {name}_sum"
        assert writer.execute(total).fetchone() == (12,)
        for begin in ("BEGIN READ ONLY", "BEGIN ISOLATION LEVEL REPEATABLE READ"):
            reader.execute(begin)
            before = reader.execute(total).fetchone()
            writer.execute(f"UPDATE {name} SET amount = amount + 1")
            writer.execute("FLUSH")
            assert writer.execute(total).fetchone() != before
            assert reader.execute(total).fetchone() == before
            reader.execute("COMMIT")
            assert reader.execute(total).fetchone() == writer.execute(total).fetchone()
        writer.execute(f"DROP MATERIALIZED VIEW {name}_sum")
        writer.execute(f"DROP TABLE {name}")


def test_a_push_query_comes_at_once_and_ends_when_cancelled(live: LiveListener) -> None:
    with live.connect() as connection:
        rows = connection.cursor().stream(FLOW)
        assert [next(rows) for _ in range(3)] == PAIRS
        assert live.push_queries() == 1
        rows.close()
        live.await_no_push_query()
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_cursor_over_a_push_query(live: LiveListener) -> None:
    with live.connect() as connection, connection.transaction():
        connection.execute(f"DECLARE c CURSOR FOR {FLOW}")
        fetch = "FETCH {} FROM c WITH (timeout='{}')"
        assert connection.execute(fetch.format(2, "60s")).fetchall() == PAIRS[:2]
        assert connection.execute(fetch.format("ALL", "2s")).fetchall() == PAIRS[2:]
        assert connection.execute(fetch.format(5, "10ms")).fetchall() == []
    live.await_no_push_query()


def test_copying(live: LiveListener) -> None:
    with live.connect() as connection, connection.cursor() as cursor:
        with cursor.copy(f"COPY ({FLOW} LIMIT 3) TO STDOUT (FORMAT csv, HEADER)") as copy:
            assert b"".join(copy) == b"sensor,n\na,1\nb,2\na,3\n"
        name = f"copied_{uuid.uuid4().hex[:8]}"
        cursor.execute(
            f"CREATE STREAM {name} (k BIGINT KEY, m MAP<STRING, INT>, b BYTES, d DATE, f DOUBLE) "
            f"WITH (KAFKA_TOPIC='{name}', VALUE_FORMAT='JSON', PARTITIONS=1)"
        )
        with cursor.copy(f"COPY {name} FROM STDIN (FORMAT csv)") as copy:
            copy.write('1,"{""x"": 1}",\\x00ff,2024-02-29,1.5\n2,,,,\n')
        assert cursor.statusmessage == "COPY 2"
        found = cursor.execute(f"SELECT * FROM {name} EMIT CHANGES LIMIT 2").fetchall()
        assert found[0] == (1, {"x": 1}, b"\x00\xff", datetime(2024, 2, 29).date(), 1.5)
        with (
            pytest.raises(psycopg.errors.InvalidTextRepresentation) as caught,
            cursor.copy(f"COPY {name} (k) FROM STDIN") as copy,
        ):
            copy.write("3\nthree\n")
        assert "line 2: 0 rows were written" in (caught.value.diag.message_detail or "")
        cursor.execute(f"INSERT INTO {name} (k, f) VALUES (%s, %s)", [4, 0.25])
        assert cursor.statusmessage == "INSERT 0 1"
        cursor.execute(f"DROP STREAM {name}")


def test_asyncpg_and_sqlalchemy(live: LiveListener) -> None:
    async def talk() -> list[tuple[object, ...]]:
        connection = await asyncpg.connect(host="127.0.0.1", port=live.port, user="ann")
        query = "SELECT sensor, n FROM pg_counts WHERE sensor IN ($1, $2) AND n < $3"
        found = [tuple(row) for row in await connection.fetch(query, "a", "b", 10)]
        await connection.close()
        return sorted(found)

    assert asyncio.run(talk()) == [("a", 2), ("b", 1)]
    engine = sqlalchemy.create_engine(f"postgresql+psycopg://ann@127.0.0.1:{live.port}/x")
    counts = sqlalchemy.Table("pg_counts", sqlalchemy.MetaData(), autoload_with=engine)
    with engine.connect() as connection:
        asked = sqlalchemy.select(counts.c.n).where(counts.c.sensor == "b")
        assert connection.execute(asked).scalar_one() == 1
    engine.dispose()


def test_pandas(live: LiveListener) -> None:
    """`read_sql` by statement with parameters, in chunks, and by the name of a table."""
    engine = sqlalchemy.create_engine(f"postgresql+psycopg://ann@127.0.0.1:{live.port}/x")
    asked = sqlalchemy.text("SELECT n, price, seen FROM pg_readings WHERE n <= :most ORDER BY n")
    found = pd.read_sql(asked, engine, params={"most": 1}, index_col="n")
    assert found.to_dict("index") == {
        1: {"price": Decimal("1.50"), "seen": pd.Timestamp("2024-02-29T12:00:00Z")}
    }
    table = pd.read_sql("pg_counts", engine, columns=["sensor", "n"])
    assert table.sort_values("sensor").values.tolist() == [["a", 2], ["b", 1]]
    assert table.dtypes["n"] == "int64"
    with engine.connect() as connection:
        chunks = pd.read_sql("SELECT sensor FROM pg_counts", connection, chunksize=1)
        assert sorted(len(chunk) for chunk in chunks) == [1, 1]
    engine.dispose()


@pytest.mark.slow
def test_a_slow_reader_holds_back_its_own_query_alone(live: LiveListener) -> None:
    """What one does not read waits in Kafka: neither others nor the server's memory have it."""
    count, size, name = 40_000, 1_500, f"pg_slow_{uuid.uuid4().hex[:8]}"
    flow = f"COPY (SELECT n, note FROM {name} EMIT CHANGES LIMIT {count}) TO STDOUT"

    def numbers(cursor: psycopg.Cursor) -> Iterator[int]:
        with cursor.copy(flow) as copy:
            for row in copy.rows():
                yield int(row[0])

    # Closed, which does not wait for what is still to be read.
    with (
        closing(live.connect()) as writes,
        closing(live.connect()) as slow,
        closing(live.connect()) as fast,
    ):
        writes.execute(
            f"CREATE STREAM {name} (n INT, note STRING)"
            f" WITH (KAFKA_TOPIC='{name}', VALUE_FORMAT='JSON', PARTITIONS=1)"
        )
        with writes.cursor().copy(f"COPY {name} FROM STDIN") as copy:
            for number in range(count):
                copy.write_row((number, "x" * size))
        waits = numbers(slow.cursor())
        assert next(waits) == 0
        before = psutil.Process().memory_info().rss
        assert list(numbers(fast.cursor())) == list(range(count))
        assert writes.execute("SELECT n FROM pg_counts WHERE sensor = 'a'").fetchone() == (2,)
        assert psutil.Process().memory_info().rss - before < count * size // 2
        assert list(waits) == list(range(1, count))
        writes.execute(f"DROP STREAM {name} DELETE TOPIC")
