"""Tables of a real PostgreSQL's changes, as its log tells them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

import psycopg
import pytest
from awaiting import await_until
from capture.changes import Changes
from capture.reader import Reader
from capture.tables import QUERIES, SOURCE, Tables
from engine.live import PATIENCE, Live
from engine.postgresql import Database, database

from streamsql.engine import QueryInfo, QueryState
from streamsql.kafka.client import KafkaClient
from streamsql.results import Answer

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

ROWS, TRANSACTIONS = 150, 60
KEEP = ", UNAVAILABLE_VALUES='KEEP'"


@pytest.fixture(scope="module")
def postgresql() -> Iterator[Database]:
    with database("wal_level=logical") as found:
        yield found


@dataclass
class Captured:
    """A table of the database whose changes are read into a topic."""

    changes: Changes
    reader: Reader
    tables: Tables
    connection: psycopg.Connection
    name: str

    def read(self) -> None:
        """All that has been committed."""
        while self.reader.step():
            self.reader.advance()

    def await_equal(self) -> None:
        self.read()
        self.tables.await_equal(PATIENCE)

    def bodies(self) -> dict[int, str | None]:
        """What the database has of the column that may be stored out of line."""
        return dict(self.connection.execute(f"SELECT id, body FROM {self.name}".encode()))


@contextmanager
def captured(
    live: Live, postgresql: Database, kafka: KafkaClient, *, full: bool
) -> Iterator[Captured]:
    name, where = live.name("items").lower(), postgresql.conninfo
    topics = [live.name("COPIED"), live.name("GROUPED")]
    with (
        closing(Changes(where, name, 7, full=full)) as changes,
        closing(Reader(where, name, kafka.bootstrap, live.name("ITEMS"))) as reader,
        psycopg.connect(where, autocommit=True) as connection,
    ):
        tables = Tables(connection, name, kafka, topics)
        yield Captured(changes, reader, tables, connection, name)


@pytest.mark.variants
@pytest.mark.parametrize(
    ("full", "mode"), [(True, "realtime"), (False, "realtime"), (False, "microbatch")]
)
def test_tables_are_what_the_database_has(
    live: Live, postgresql: Database, kafka: KafkaClient, full: bool, mode: str
) -> None:
    source = SOURCE.format("" if full else KEEP)
    live.run(f"SET 'processing.mode' = '{mode}';" + source + QUERIES)
    with captured(live, postgresql, kafka, full=full) as table:
        table.changes.fill(ROWS)
        table.read()
        for number in range(TRANSACTIONS):
            table.changes.transaction()
            if number % 10 == 9:
                # As if it were killed before it has noted how far it has come.
                table.reader.step()
                table.reader.forget()
            if number % 15 == 14:
                table.read()
        table.await_equal()
        await_until(lambda: served(live) == table.bodies(), "the served rows", PATIENCE)


def test_a_truncated_table_stops_the_query_until_it_may_continue(
    live: Live, postgresql: Database, kafka: KafkaClient
) -> None:
    live.run(SOURCE.format("") + QUERIES)
    with captured(live, postgresql, kafka, full=True) as table:
        table.changes.fill(20)
        table.await_equal()
        before = table.bodies()
        table.changes.truncate()
        table.changes.fill(5)
        table.read()
        for sink in ("COPIED", "GROUPED"):
            assert "the table was truncated in the database" in stopped(live, sink)
        live.run("SET 'streamsql.on.truncate' = 'continue';")
        queries = [_query(live, sink).id for sink in ("COPIED", "GROUPED")]
        for query in queries:
            live.run(f"RESUME {query};")
        rows = live.table("COPIED", lambda rows: len(rows) == 25)
        assert {key: row[-1] for key, row in rows.items()} == {**before, **table.bodies()}
        log = live.rows(
            "SELECT queryId, message->deserializationError->errorMessage FROM KSQL_PROCESSING_LOG "
            f"WHERE `TOPIC` = '{live.name('ITEMS')}' AND message->`TYPE` = 0 EMIT CHANGES;",
            4,
        )
        # When they stopped, and when they went on.
        assert sorted(id for id, _ in log) == sorted([*queries, *queries])
        assert all("the table was truncated" in text for _, text in log)


def served(live: Live) -> dict[int, str | None]:
    """What a pull query has of the column that may be stored out of line."""
    (result,) = live.run("SELECT id, body FROM $copied;")
    assert isinstance(result, Answer)
    return dict(row.values for row in result.rows)


def stopped(live: Live, sink: str) -> str:
    """Why the query has stopped, once it has."""
    infos: list[QueryInfo] = []

    def found() -> bool:
        infos.append(_query(live, sink))
        return infos[-1].state is QueryState.ERROR

    await_until(found, "the query to stop", PATIENCE)
    return infos[-1].error or ""


def _query(live: Live, sink: str) -> QueryInfo:
    (found,) = (q for q in live.engine.queries() if q.sink == live.name(sink))
    return found
