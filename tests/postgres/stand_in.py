"""What of an engine the protocol sees, without Kafka and Spark: a catalog, and rows made up."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

from client.servers import Numbers
from engine.offline import Offline
from server.offline_server import OfflineRunner

from streamsql.api.inspection import Inspection
from streamsql.api.script import Script, parse_script
from streamsql.catalog import Catalog
from streamsql.postgres.listener import Listener
from streamsql.postgres.relations.system import system
from streamsql.postgres.settings import PostgresConfig
from streamsql.results import Answer, Message, Result, Row, RowStream
from streamsql.runtime.state import Context
from streamsql.schema import Column, Schema
from streamsql.session import Session
from streamsql.statements.inserting.rows import RowInserts
from streamsql.status import StartupStatus, StartupStep, StepState
from streamsql.users.accounts import Users

SECONDS = 60.0
PREPARE = """
CREATE STREAM readings (sensor STRING KEY, n INT, big BIGINT, price DECIMAL(6, 2), share DOUBLE,
    good BOOLEAN, raw BYTES, day DATE, clock TIME, seen TIMESTAMP, tags ARRAY<STRING>,
    counts MAP<STRING, INT>, place STRUCT<city STRING, zip INT>)
  WITH (KAFKA_TOPIC='readings', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE totals AS SELECT sensor, COUNT(*) AS n FROM readings GROUP BY sensor;
CREATE TABLE pg_totals AS SELECT n, COUNT(*) AS c FROM readings GROUP BY n;
CREATE TABLE hourly AS SELECT sensor, COUNT(*) AS n FROM readings WINDOW TUMBLING (SIZE 1 HOUR)
  GROUP BY sensor;
CREATE STREAM `Mixed` (`Key` STRING KEY, lower INT,
    CONSTRAINT small EXPECT (lower BETWEEN 0 AND 9) ON VIOLATION DROP ROW)
  WITH (KAFKA_TOPIC='mixed', VALUE_FORMAT='JSON', PARTITIONS=1);
"""
ROWS: list[tuple[Any, ...]] = [
    (
        *("a", 1, 2**40, Decimal("1.50"), 0.25, True, b"\x00\xff", date(2024, 2, 29)),
        *(time(12, 30, 1, 500_000), datetime(2024, 2, 29, 12, 0, 0, 123_000)),
        *(["x", None, 'y "z"', ""], {"k": 1}, {"CITY": "Bergen", "ZIP": 5003}),
    ),
    ("b", *[None] * 12),
]


class StandIn:
    """Answers every SELECT from READINGS with ROWS, as far as its columns are the table's; `ran`
    are the texts that came to be executed."""

    def __init__(self, folder: Path, prepare: str = PREPARE) -> None:
        self.offline = Offline(folder)
        OfflineRunner(self.offline).given(prepare)
        self.session = self.offline.state.session
        self.leads = True
        self.leader_url: str | None = None
        self.ran: list[str] = []
        self.numbers: Numbers | None = None
        self.state = StepState.DONE
        self.open = threading.Event()
        """Cleared: pull queries from TOTALS wait."""
        self.open.set()

    def close(self) -> None:
        self.offline.close()

    def startup(self) -> StartupStatus:
        return StartupStatus((StartupStep("kafka", self.state),))

    @property
    def inspection(self) -> Inspection:
        return Inspection(self.offline.state)

    def catalog(self) -> Catalog:
        return self.offline.state.catalog

    def needs_leader(self, script: Script) -> bool:
        return any(each.logged for each in script.statements)

    def parse(self, sql: str, session: Session | None = None) -> Script:
        return parse_script(sql, session or self.session)

    def inserts(self, target: str, session: Session) -> RowInserts:
        return RowInserts(target, Context(self.offline.state, session, lambda path: ()))

    def lookup(self, sql: Script, session: Session) -> None:
        return None

    def lookup_soon(self, sql: str, session: Session) -> None:
        return None

    def execute(self, sql: Script, session: Session | None = None) -> Iterator[Result]:
        self.ran.append(sql.text)
        (statement,) = sql.statements
        session = session or self.session
        fields = self.inspection.columns(statement, session)
        if fields is None:
            if statement.kind in ("InsertValues", "CreateSource"):
                yield Message(f"{statement.kind} done")
                return
            yield from self.offline.results(sql.text, session)
        elif statement.continuous:
            self.numbers = Numbers()
            rows = (Row(tuple(row.values[: len(fields)])) for row in self.numbers)
            yield RowStream("numbers_1", fields, rows, self.numbers)
        else:
            yield self._answer(statement.text, fields)

    def _answer(self, text: str, fields: Any) -> Answer:
        if "TOTALS" in text.upper():
            self.open.wait(SECONDS)
        known = [column.name for column in self.catalog().get("READINGS").schema]
        places = [known.index(f.name) if f.name in known else None for f in fields]
        rows = [Row(tuple(1 if at is None else row[at] for at in places)) for row in ROWS]
        schema = Schema(tuple(Column(f.name, f.type) for f in fields))
        return Answer("query_1", schema, rows)


class StandInListener:
    """A listener over one."""

    def __init__(self, engine: StandIn, port: int) -> None:
        self.engine = engine
        self.port = port

    @property
    def where(self) -> str:
        return f"host=127.0.0.1 port={self.port} user=ann dbname=streamsql"


@contextmanager
def listening(
    engine: Any, config: PostgresConfig | None = None, users: Users | None = None
) -> Iterator[int]:
    """The port of a listener over an engine, on an event loop of its own."""
    begun: list[tuple[asyncio.AbstractEventLoop, int]] = []
    ready = threading.Event()
    stop = asyncio.Event()

    async def main() -> None:
        settings = replace(config or PostgresConfig(), port=0)
        listener = Listener(engine, settings, system(engine), users)
        try:
            await listener.start()
            begun.append((asyncio.get_running_loop(), listener.port))
        finally:
            ready.set()
        await stop.wait()
        await listener.close()

    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    ready.wait(SECONDS)
    (loop, port) = begun[0]
    try:
        yield port
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(SECONDS)
