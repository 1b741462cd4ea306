"""Real clients, on rows made up: types both ways, catalogs, COPY, cursors."""

from __future__ import annotations

import asyncio
import io
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import asyncpg
import pg8000.native
import psycopg
import pytest
import sqlalchemy
from postgres.live import psql
from postgres.stand_in import ROWS, StandInListener
from psycopg.rows import dict_row

MOMENT = datetime(2024, 2, 29, 12, 0, 0, 123_000, tzinfo=UTC)
FIRST = tuple(MOMENT if isinstance(cell, datetime) else cell for cell in ROWS[0])
QUERY = "SELECT n FROM readings WHERE n = %s AND seen > %s AND tags = %s AND price < %s"
VALUES = (5, MOMENT, ["a", None], Decimal("3.50"))
RAN = (
    "SELECT n FROM readings WHERE n = 5 AND seen > '2024-02-29T12:00:00.123' "
    "AND tags = ARRAY['a', NULL] AND price < 3.50"
)


@pytest.mark.parametrize("binary", [False, True])
def test_psycopg_reads_every_type(stand_in: StandInListener, binary: bool) -> None:
    with psycopg.connect(stand_in.where) as connection:
        cursor = connection.cursor(binary=binary)
        assert cursor.execute("SELECT * FROM readings").fetchone() == FIRST
        shown = [str(column.type_display) for column in cursor.description or ()]
        assert shown[:5] == ["text", "int4", "int8", "numeric(6,2)", "float8"]
        assert cursor.execute(QUERY, VALUES).fetchall() == [(1,), (None,)]
        assert stand_in.engine.ran[-1] == RAN
        with connection.cursor("c", row_factory=dict_row, binary=binary) as named:
            named.execute("SELECT sensor, price FROM readings")
            assert named.fetchone() == {"sensor": "a", "price": Decimal("1.50")}


def test_psycopg_prepares_and_says_what_is_wrong(stand_in: StandInListener) -> None:
    with psycopg.connect(stand_in.where, autocommit=True, prepare_threshold=0) as connection:
        for _ in range(3):
            assert connection.execute(QUERY, VALUES).fetchall() == [(1,), (None,)]
        with pytest.raises(psycopg.errors.UndefinedColumn) as caught:
            connection.execute("SELECT n,\n nope FROM public.readings WHERE n = %s", [5])
        assert caught.value.diag.statement_position == "12"
        assert "READINGS has the columns" in (caught.value.diag.message_hint or "")
        with pytest.raises(psycopg.errors.UndefinedTable):
            connection.execute("SELECT * FROM missing")
        with pytest.raises(psycopg.errors.SyntaxError):
            connection.execute("SELEC 1")
        with pytest.raises(psycopg.errors.InvalidTextRepresentation):
            connection.execute("SELECT n FROM readings WHERE n = %s", ["five"])


def test_psycopg_copies(stand_in: StandInListener) -> None:
    with psycopg.connect(stand_in.where) as connection, connection.cursor() as cursor:
        with cursor.copy("COPY (SELECT sensor, tags, n FROM readings) TO STDOUT") as copy:
            copy.set_types(["text", "text[]", "int4"])
            assert list(copy.rows()) == [("a", ["x", None, 'y "z"', ""], 1), ("b", None, None)]
        with cursor.copy("COPY readings (sensor, n) TO STDOUT (FORMAT binary)") as copy:
            copy.set_types(["text", "int4"])
            assert list(copy.rows()) == [("a", 1), ("b", None)]


def test_asyncpg(stand_in: StandInListener) -> None:
    async def talk() -> None:
        where = {"host": "127.0.0.1", "port": stand_in.port, "user": "ann"}
        connection = await asyncpg.connect(**where)
        (first, _) = await connection.fetch("SELECT sensor, price, tags, seen FROM readings")
        assert tuple(first) == ("a", Decimal("1.50"), ["x", None, 'y "z"', ""], MOMENT)
        query = QUERY.replace("%s", "${}").format(1, 2, 3, 4)
        assert [tuple(row) for row in await connection.fetch(query, *VALUES)] == [(1,), (None,)]
        assert stand_in.engine.ran[-1] == RAN
        inserted = "INSERT INTO readings (sensor, day, raw, good) VALUES ($1, $2, $3, $4)"
        assert await connection.execute(inserted, "a", date(2024, 1, 2), b"x", True) == "INSERT 0 1"
        async with connection.transaction():
            cursor = await connection.cursor("SELECT n FROM readings EMIT CHANGES")
            assert [len(await cursor.fetch(10)), len(await cursor.fetch(5))] == [10, 5]
        copied = io.BytesIO()
        await connection.copy_from_query(
            "SELECT sensor, n FROM readings", output=copied, format="csv"
        )
        assert copied.getvalue() == b"a,1\nb,\n"
        endless = asyncio.create_task(connection.fetch("SELECT n FROM readings EMIT CHANGES"))
        await asyncio.sleep(0)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(endless, 0.2)
        assert await connection.fetchval("SELECT $1::int", 2) == 2
        await connection.reset()
        await connection.close()

    asyncio.run(talk())


def test_pg8000(stand_in: StandInListener) -> None:
    connection = pg8000.native.Connection("ann", host="127.0.0.1", port=stand_in.port)
    try:
        assert tuple(connection.run("SELECT * FROM readings")[0]) == FIRST
        assert connection.run("SELECT sensor FROM readings WHERE n = :n", n=3) == [["a"], ["b"]]
        assert connection.run("SELECT 1") == [[1]]
    finally:
        connection.close()


def test_sqlalchemy_reflects(stand_in: StandInListener) -> None:
    url = f"postgresql+psycopg://ann@127.0.0.1:{stand_in.port}/streamsql"
    engine = sqlalchemy.create_engine(url)
    metadata = sqlalchemy.MetaData()
    metadata.reflect(engine)
    assert {"readings", "totals", "Mixed"} <= metadata.tables.keys()
    readings, totals = metadata.tables["readings"], metadata.tables["totals"]
    kinds: dict[str, Any] = {column.name: str(column.type) for column in readings.c}
    assert [kinds[name] for name in ("sensor", "big", "price", "seen", "tags")] == [
        *("TEXT", "BIGINT", "NUMERIC(6, 2)", "TIMESTAMP", "ARRAY"),
    ]
    assert [column.name for column in totals.primary_key] == ["sensor"]
    assert totals.comment == "Table over the topic TOTALS"
    with engine.connect() as connection:
        asked = sqlalchemy.select(readings.c.sensor, readings.c.n).where(readings.c.n > 3).limit(5)
        assert connection.execute(asked).fetchall() == [("a", 1), ("b", None)]
        small = {"name": "small", "sqltext": "LOWER BETWEEN 0 AND 9", "comment": None}
        assert sqlalchemy.inspect(engine).get_check_constraints("Mixed") == [small]
        mixed = sqlalchemy.select(metadata.tables["Mixed"].c.Key)
        assert "`" not in stand_in.engine.ran[-1]
        assert len(connection.execute(mixed).fetchall()) == 2
    engine.dispose()


def test_a_window_is_part_of_the_key(stand_in: StandInListener) -> None:
    """So that clients see the columns of `SELECT *`, and take no two windows for one row."""
    engine = sqlalchemy.create_engine(f"postgresql+psycopg://ann@127.0.0.1:{stand_in.port}/x")
    hourly = sqlalchemy.Table("hourly", sqlalchemy.MetaData(), autoload_with=engine)
    columns = ["sensor", "windowstart", "windowend", "n"]
    assert [column.name for column in hourly.columns] == columns
    assert [column.name for column in hourly.primary_key] == columns[:3]
    assert isinstance(hourly.c.windowstart.type, sqlalchemy.BigInteger)
    with engine.connect() as connection:
        found = connection.exec_driver_sql("SELECT * FROM hourly")
        assert list(found.keys()) == columns
        asked = sqlalchemy.select(hourly).where(hourly.c.windowstart > 1_000)
        assert list(connection.execute(asked).keys()) == columns
    engine.dispose()


def test_psql_describes(stand_in: StandInListener) -> None:
    listed = psql(stand_in.port, r"\dt+", r"\dn", r"\l", r"\du", r"\di", r"\df", r"\dx", r"\dp")
    assert "ERROR" not in listed
    for line in (
        "| readings | table | streamsql",
        "| Table over the topic TOTALS",
        "| totals_pkey | index | streamsql | totals",
    ):
        assert line in " ".join(listed.split()), listed
    described = psql(stand_in.port, r"\d+ totals", r"\d readings", r'\d "Mixed"', r"\d")
    assert "ERROR" not in described
    for line in (
        "price  | numeric(6,2)",
        "seen   | timestamp with time zone",
        "tags   | text[]",
        "counts | jsonb",
        '"totals_pkey" PRIMARY KEY, btree (sensor)',
        "Key    | text",
        'Check constraints:\n    "small" CHECK (LOWER BETWEEN 0 AND 9)',
    ):
        assert line in described, described


def test_constraints_are_checks(stand_in: StandInListener) -> None:
    schema = "information_schema"
    with psycopg.connect(stand_in.where, autocommit=True) as connection:
        for query, rows in {
            f"SELECT constraint_name, check_clause FROM {schema}.check_constraints": [
                ("small", "(LOWER BETWEEN 0 AND 9)")
            ],
            f"SELECT table_name FROM {schema}.table_constraints WHERE constraint_type = 'CHECK'": [
                ("Mixed",)
            ],
            "SELECT pg_get_expr(conbin, conrelid) FROM pg_constraint WHERE contype = 'c'": [
                ("LOWER BETWEEN 0 AND 9",)
            ],
            "SELECT relname FROM pg_class WHERE relchecks > 0": [("Mixed",)],
        }.items():
            assert connection.execute(query).fetchall() == rows


def test_psql_points_at_what_is_wrong(stand_in: StandInListener) -> None:
    shown = psql(stand_in.port, "SELECT n FROM readings WHERE nope = 1")
    assert "LINE 1: SELECT n FROM readings WHERE nope = 1\n" in shown
    assert shown.splitlines()[2].index("^") == len("LINE 1: SELECT n FROM readings WHERE ")


def test_what_the_system_catalog_cannot_answer_says_so(stand_in: StandInListener) -> None:
    with psycopg.connect(stand_in.where, autocommit=True) as connection:
        for query in (
            "SELECT * FROM pg_class c JOIN readings r ON r.sensor = c.relname",
            "SELECT pg_sleep(1)",
            "SELECT * FROM pg_stat_replication",
            "SELECT nope FROM pg_class",
            "WITH x AS (DELETE FROM pg_class RETURNING 1) SELECT * FROM x",
            "SELECT pg_read_file('/etc/passwd')",
            "SELECT * FROM pg_class, read_text('/etc/passwd')",
            "SELECT * FROM pg_class, duckdb_settings()",
            "SELECT relname INTO x FROM pg_class",
            "COPY (SELECT read_text('/etc/passwd') FROM pg_class) TO STDOUT",
        ):
            with pytest.raises(psycopg.errors.FeatureNotSupported):
                connection.execute(query)
        with pytest.raises(psycopg.errors.UndefinedTable):
            connection.execute("SELECT 'missing'::regclass FROM pg_class")
        # A name like the system's is a user's where a user has made it.
        assert len(connection.execute("SELECT n FROM pg_totals").fetchall()) == 2
        named = "SELECT 'totals'::regclass::oid = oid FROM pg_class WHERE relname = 'totals'"
        assert connection.execute(named).fetchone() == (True,)
