"""How statements are parsed for requests: once, off the event loop, and not without a bound."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from streamsql.engine import Engine, EngineConfig
from streamsql.parser import script
from streamsql.server.app import build_app
from streamsql.server.settings.config import ServerConfig
from streamsql.server.state.server_state import ServerState

LARGE = "SELECT " + ", ".join(f"a{i} + {i} AS b{i}" for i in range(11_000)) + " FROM t;"
"""About 240 kB."""
LIMIT = 2_000
PATHS = ("/query", "/query-stream", "/ksql", "/streamsql/execute")


class Follower(Engine):
    """One of several servers of a service, that does not lead."""

    leads = False


@pytest.fixture(params=[Engine, Follower])
def state(request: pytest.FixtureRequest, tmp_path: Path) -> ServerState:
    """Over an engine that has not been started."""
    return ServerState(request.param(EngineConfig(data_dir=tmp_path)), ServerConfig())


@pytest.fixture
def usable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine takes statements nevertheless; they fail where they need more than a catalog."""
    monkeypatch.setattr("streamsql.server.endpoints.forward.TAKE_OVER_SECONDS", 0.0)
    monkeypatch.setattr(Engine, "_check_usable", lambda engine: None)
    monkeypatch.setattr("streamsql.engine.Service.get", lambda service, timeout=None: None)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The rules that statements are parsed from, one for each time."""
    found: list[str] = []
    run = script.run

    def counted(tokens: Any, start: str, *more: Any) -> Any:
        found.append(start)
        return run(tokens, start, *more)

    monkeypatch.setattr(script, "run", counted)
    return found


def client_of(state: ServerState) -> TestClient:
    return TestClient(build_app(state), base_url="http://localhost")


@pytest.mark.usefixtures("usable")
@pytest.mark.parametrize(
    ("state", "path"),
    [(Engine, "/query"), (Engine, "/streamsql/execute"), (Follower, "/ksql")],
    indirect=["state"],
)
def test_other_requests_do_not_wait_while_a_statement_is_parsed(
    state: ServerState, path: str
) -> None:
    state.engine.parse("SHOW STREAMS;")  # loads the grammar
    took, checks = asyncio.run(_checks(state, path))
    # Measured against each other, whatever else the machine has to do. (The slowest check may
    # have met a garbage collection.)
    assert len(checks) > 10
    assert median(checks) < took / 20


async def _checks(state: ServerState, path: str) -> tuple[float, list[float]]:
    """How long a large statement took, and each health check meanwhile; in seconds."""
    transport = httpx2.ASGITransport(build_app(state))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        await client.get("/chc/live")
        begin = time.monotonic()
        large = asyncio.create_task(client.post(path, json={"sql": LARGE}))
        checks = []
        while not large.done():
            asked = time.monotonic()
            assert (await client.get("/chc/live")).status_code == 200
            checks.append(time.monotonic() - asked)
            await asyncio.sleep(0.01)
        await large
        return time.monotonic() - begin, checks


@pytest.mark.usefixtures("usable")
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM t WHERE a > 1;",
        "SELECT * FROM t WHERE a = 1;",
        "SELECT * FROM t EMIT CHANGES;",
        "PRINT t;",
        "DROP STREAM ${s};",
    ],
)
def test_a_statement_is_parsed_once(
    state: ServerState, parsed: list[str], path: str, sql: str
) -> None:
    with client_of(state) as client:
        client.post(path, json={"sql": sql, "sessionVariables": {"s": "t"}})
    assert parsed == ["statement"]


def test_a_statement_over_a_websocket_is_parsed_once_too(
    state: ServerState, parsed: list[str]
) -> None:
    request = json.dumps({"sql": "SELECT * FROM t;"})
    with client_of(state).websocket_connect(f"ws://localhost/ws/query?request={request}") as socket:
        assert "the engine is not running" in socket.receive_text()
    assert parsed == ["statement"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("kind", [Engine, Follower])
def test_statements_have_a_bound_of_their_own(
    tmp_path: Path, kind: type[Engine], path: str, parsed: list[str]
) -> None:
    config = ServerConfig(max_statement_bytes=LIMIT)
    state = ServerState(kind(EngineConfig(data_dir=tmp_path)), config)
    sql = "SELECT " + "a, " * LIMIT + "b FROM t;"
    client = client_of(state)
    answer = client.post(path, json={"sql": sql})
    assert answer.status_code == 413
    assert answer.json() == {
        "@type": "generic_error",
        "error_code": 41300,
        "message": f"the request has more than {LIMIT} bytes\n"
        "Hint: Send the statements in several requests, and rows to /inserts-stream.",
    }
    assert parsed == []
    rows = json.dumps({"target": "t"}) + "\n" + json.dumps({"a": "x" * LIMIT}) + "\n"
    assert client.post("/inserts-stream", content=rows).json()["error_code"] != 41300


def test_statements_over_a_websocket_have_the_same(tmp_path: Path) -> None:
    config = ServerConfig(max_statement_bytes=LIMIT)
    state = ServerState(Engine(EngineConfig(data_dir=tmp_path)), config)
    request = json.dumps({"sql": "SELECT '" + "x" * LIMIT + "';"})
    with client_of(state).websocket_connect(f"ws://localhost/ws/query?request={request}") as socket:
        assert socket.receive_json()["error"]["error_code"] == 41300
        with pytest.raises(WebSocketDisconnect):
            socket.receive_text()
