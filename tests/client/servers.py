"""The real HTTP server in a thread of the test, over any engine."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from awaiting import await_until
from engine.offline import Offline
from ports import free_port
from server.offline_server import OfflineRunner

from streamsql.api.inspection import Inspection
from streamsql.api.script import PreparedStatement, Script, parse_script
from streamsql.catalog import Catalog
from streamsql.results import Field, Result, Row, RowStream
from streamsql.server.run import serve
from streamsql.server.security.sessions import Sessions
from streamsql.server.settings.config import ServerConfig
from streamsql.server.state.server_state import ServerState
from streamsql.session import Session
from streamsql.status import QueryInfo, StartupStatus, StartupStep, StepState
from streamsql.types import INT, STRING

SECONDS = 60.0


@contextmanager
def running(
    engine: Any,
    config: ServerConfig | None = None,
    port: int | None = None,
    sessions: Sessions | None = None,
) -> Iterator[str]:
    """The URL of a server over the engine, which is not closed with it; at a free port if none
    is given. `sessions`: those of its console, whose token a test is to know."""
    config = replace(config or ServerConfig(), port=port or free_port())
    loops: list[asyncio.AbstractEventLoop] = []
    stop = asyncio.Event()

    async def main() -> None:
        loops.append(asyncio.get_running_loop())
        state = ServerState(engine, config)
        state.sessions = sessions or state.sessions
        await serve(state, stop=stop)

    # Not by a loop of our own: `run` also ends the tasks that are left.
    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    try:
        await_until(lambda: _listens(config.port), "the server listens", SECONDS)
        yield config.url
    finally:
        for loop in loops:
            loop.call_soon_threadsafe(stop.set)
        thread.join(SECONDS)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class OfflineEngine:
    """What of an engine answers without Kafka and Spark, and numbers instead of a push query."""

    def __init__(self, folder: Path) -> None:
        self.offline = Offline(folder)
        self.session = self.offline.state.session
        self.numbers: Numbers | None = None
        self.leads = True
        self.leader_url: str | None = None

    def execute(self, sql: str, session: Session | None = None) -> Iterator[Result]:
        if sql.startswith("SELECT * FROM numbers"):
            self.numbers = Numbers()
            fields = (Field("N", INT), Field("TEXT", STRING))
            yield RowStream("numbers_1", fields, iter(self.numbers), self.numbers)
            return
        yield from self.offline.results(sql, session)

    def catalog(self) -> Catalog:
        return self.offline.state.catalog

    def queries(self) -> list[QueryInfo]:
        return []

    def startup(self) -> StartupStatus:
        return StartupStatus((StartupStep("kafka", StepState.DONE),))


class Numbers:
    """All numbers, as rows of a kilobyte, until cancelled."""

    def __init__(self) -> None:
        self.made = 0
        self.cancelled = threading.Event()
        self.ended = threading.Event()

    def cancel(self) -> None:
        self.cancelled.set()

    def __iter__(self) -> Iterator[Row]:
        try:
            while not self.cancelled.is_set():
                self.made += 1
                yield Row((self.made, "x" * 1000))
        finally:
            self.ended.set()


class WatchedEngine(OfflineEngine):
    """Notes what it is asked to do: `ran` are the texts that have come as far as here."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._runner = OfflineRunner(self.offline)
        self.ran: list[str] = []

    @property
    def inspection(self) -> Inspection:
        return self._runner.inspection

    def parse(self, sql: str, session: Session | None = None) -> Script:
        return parse_script(sql, session or self.session)

    def execute(self, sql: str | Script, session: Session | None = None) -> Iterator[Result]:
        text = sql if isinstance(sql, str) else sql.text
        self.ran.append(text)
        return super().execute(text, session)

    def each(
        self, sql: Script, session: Session | None = None
    ) -> Iterator[tuple[PreparedStatement, Iterator[Result]]]:
        self.ran.append(sql.text)
        return self._runner.each(sql, session)

    def lookup_soon(self, sql: str, session: Session) -> None:
        self.ran.append(sql)

    def lookup(self, sql: str | Script, session: Session) -> None:
        self.ran.append(sql if isinstance(sql, str) else sql.text)
