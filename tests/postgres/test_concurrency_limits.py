"""How many threads all clients together may keep busy."""

from __future__ import annotations

import struct
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from awaiting import await_until
from postgres.raw import SYNC, Raw, message, parse
from postgres.stand_in import SECONDS, StandIn, listening
from postgres.test_protocol import code_of

from streamsql.postgres.settings import PostgresConfig
from streamsql.results import Answer, Row
from streamsql.users import work

LONG = "SELECT sensor FROM readings"
TOTALS = "SELECT sensor FROM totals"


class LongAnswers(StandIn):
    """Its pull queries have more rows than may wait for a client."""

    def _answer(self, text: str, fields: Any) -> Answer:
        found = super()._answer(text, fields)
        return Answer(found.query_id, found.schema, [Row(("x" * 1000,)) for _ in range(10_000)])


def _threads() -> int:
    return sum(thread.name == "postgres" for thread in threading.enumerate())


def _first_row(name: bytes) -> bytes:
    """The messages that begin a portal and take one row."""
    bind = message(b"B", name + b"\0" + name + b"\0" + bytes(6))
    return parse(LONG, name.decode()) + bind + message(b"E", name + b"\0" + struct.pack("!i", 1))


def test_results_that_wait_have_places(tmp_path: Path) -> None:
    engine = LongAnswers(tmp_path)
    config = PostgresConfig(max_push_queries=2, threads=3, max_scans=2, buffer_rows=10)
    with ExitStack() as stack:
        stack.callback(engine.close)
        port = stack.enter_context(listening(engine, config))
        raw = stack.enter_context(Raw(port))
        raw.send(message(b"Q", b"BEGIN\0"))
        raw.types()
        for name in (b"a", b"b"):
            raw.send(_first_row(name), SYNC)
            assert raw.types() == "12DsZ"
        raw.send(_first_row(b"c"), SYNC)
        refused = raw.until(b"Z")[-2]
        assert (refused[0], code_of(refused[1])) == (b"E", "53300")
        await_until(lambda: _threads() == 2, "the third thread's end", SECONDS)
        with Raw(port) as other:
            other.send(message(b"Q", b"SHOW STREAMS\0"))
            assert other.types()[-2:] == "CZ"
    await_until(lambda: _threads() == 0, "the threads' end", SECONDS)


def test_running_statements_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "WAIT_SECONDS", 0.3)
    engine = StandIn(tmp_path)
    engine.open.clear()
    config = PostgresConfig(threads=2, max_scans=4)
    with ExitStack() as stack:
        stack.callback(engine.close)
        port = stack.enter_context(listening(engine, config))
        clients = [stack.enter_context(Raw(port)) for _ in range(3)]
        for number, client in enumerate(clients[:2], 1):
            client.send(message(b"Q", TOTALS.encode() + b"\0"))
            await_until(lambda number=number: len(engine.ran) == number, "it runs", SECONDS)
        clients[2].send(message(b"Q", TOTALS.encode() + b"\0"))
        refused = clients[2].until(b"Z")[-2]
        assert (refused[0], code_of(refused[1])) == (b"E", "53300")
        assert b"2 statements are running" in refused[1]
        engine.open.set()
        assert [client.types()[-2:] for client in clients[:2]] == ["CZ", "CZ"]
        clients[2].send(message(b"Q", TOTALS.encode() + b"\0"))
        assert clients[2].types()[-2:] == "CZ"
