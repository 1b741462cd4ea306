"""Sinks in files of SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from awaiting import await_until
from engine.live import PATIENCE, Live

from streamsql.engine import QueryState

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


EVENTS = """
CREATE STREAM $s (k INT KEY, id BIGINT) WITH (KAFKA_TOPIC='$s', VALUE_FORMAT='JSON', PARTITIONS=2);
"""


class File:
    """A database, and the sinks that write it."""

    def __init__(self, live: Live, path: Path) -> None:
        self.live, self.path = live, path

    @contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            yield connection

    def create(self, source: str, *more: str) -> str:
        """The id of the query of a sink into the table `target`."""
        name, url = self.live.name("O"), f"jdbc:sqlite:{self.path}"
        given = ", ".join(("CONNECTION='JDBC'", f"URL='{url}'", "TABLE='target'", *more))
        self.live.run(f"CREATE SINK {name} FROM ${source} WITH ({given});")
        (query,) = (q for q in self.live.engine.queries() if q.sink == name)
        return query.id

    def rows(self) -> list[tuple[Any, ...]]:
        with self.open() as connection:
            try:
                return sorted(connection.execute("SELECT * FROM target"), key=str)
            except sqlite3.OperationalError:
                return []

    def await_rows(self, *expected: tuple[Any, ...]) -> None:
        wanted = sorted(expected, key=str)
        try:
            await_until(lambda: self.rows() == wanted, "the rows", PATIENCE, every=0.2)
        except AssertionError:
            assert self.rows() == wanted
            raise


@pytest.fixture
def file(live: Live, tmp_path: Path) -> File:
    return File(live, tmp_path / "shop.db")


def test_a_table_is_upserted_with_every_type(file: File) -> None:
    live = file.live
    live.run("""
        CREATE TABLE $s (id INT PRIMARY KEY, name TEXT, at TIMESTAMP, price DECIMAL(8, 2),
            exact DECIMAL(30, 2), yes BOOLEAN, d DOUBLE, day DATE, raw BYTEA, big BIGINT);
        INSERT INTO $s VALUES (1, 'one', '2024-02-29 23:59:59.123', 12.50, 1234567890123456789.01,
            TRUE, 0.1, '1066-10-14', NULL, 9007199254740993), (2, 'two', NULL, NULL, NULL, NULL,
            NULL, NULL, NULL, NULL);
    """)
    file.create("S")
    one = ("2024-02-29 23:59:59.123", 12.5, "1234567890123456789.01", 1, 0.1, "1066-10-14")
    file.await_rows((1, "one", *one, None, 9007199254740993), (2, "two", *[None] * 8))
    live.run("DELETE FROM $s WHERE id = 2; UPDATE $s SET name = 'uno' WHERE id = 1;")
    file.await_rows((1, "uno", *one, None, 9007199254740993))


def test_rows_are_appended_once_and_refused_ones_are_in_the_processing_log(file: File) -> None:
    live = file.live
    with file.open() as connection:
        connection.execute("CREATE TABLE target (K TEXT, id INT CHECK (id <> 7), more DEFAULT 'x')")
    live.run(EVENTS)
    values = ", ".join(f"({n}, {n})" for n in range(20))
    live.run(f"INSERT INTO $s VALUES {values};")
    query = file.create("S", "BATCH_ROWS=3")
    kept = [(str(n), n, "x") for n in range(20) if n != 7]
    file.await_rows(*kept)
    await_until(lambda: live.engine.query_metrics()[query].errors == 1, "an entry", PATIENCE)
    ((why,),) = live.rows(
        "SELECT message->productionError->errorMessage AS why FROM KSQL_PROCESSING_LOG "
        f"WHERE queryId = '{query}' EMIT CHANGES;",
        1,
    )
    assert "CHECK constraint failed" in why


@pytest.mark.slow
def test_each_row_is_there_once_though_the_file_is_held_and_spark_is_killed(file: File) -> None:
    live = file.live
    live.run(EVENTS)
    live.run("INSERT INTO $s VALUES (1, 1), (2, 2);")
    query = file.create("S")
    file.await_rows((1, 1), (2, 2))
    with file.open() as connection:
        connection.execute("BEGIN IMMEDIATE")
        live.run("INSERT INTO $s VALUES (3, 3), (4, 4);")
        live.await_state(query, QueryState.WAITING)
        assert "database is locked" in live.query(query).reason
        live.kill_spark()
        connection.execute("ROLLBACK")
    file.await_rows(*((n, n) for n in range(1, 5)))
    live.await_state(query, QueryState.RUNNING)
