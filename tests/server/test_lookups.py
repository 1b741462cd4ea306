"""The short way of lookups: it answers as the endpoints do, and what guards them guards it."""

from __future__ import annotations

import json
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from streamsql.engine import Engine, EngineConfig
from streamsql.errors import ExternalError
from streamsql.results import Answer, Row
from streamsql.roles import Role
from streamsql.schema import Column, Schema
from streamsql.server.app import build_app
from streamsql.server.settings.config import ServerConfig
from streamsql.server.state.server_state import ServerState
from streamsql.session import Session
from streamsql.types import BIGINT, STRING
from streamsql.users.accounts import add_user

SQL = "SELECT id, n FROM t WHERE id = 'é';"
JSON = "application/json"
KSQL = "application/vnd.ksql.v1+json"
SCHEMA = Schema((Column("ID", STRING), Column("N", BIGINT)))


class Looking(Engine):
    """Answers SQL; `asked` are the texts that have come as far as here."""

    def __init__(self, config: EngineConfig) -> None:
        super().__init__(config)
        self.asked: list[str] = []
        self.rows = 1

    def lookup_soon(
        self, sql: str, session: Session | None = None
    ) -> Coroutine[object, object, Answer] | None:
        self.asked.append(sql)
        return self._answer() if sql == SQL else None

    async def _answer(self) -> Answer:
        if self.rows < 0:
            raise ExternalError("the table cannot be read at present", retryable=True)
        return Answer("query_1", SCHEMA, [Row(("é", i)) for i in range(self.rows)])


@pytest.fixture
def engine(tmp_path: Path) -> Looking:
    return Looking(EngineConfig(data_dir=tmp_path))


def client_of(engine: Looking, **settings: Any) -> TestClient:
    return TestClient(build_app(ServerState(engine, ServerConfig(**settings))), "http://localhost")


@pytest.fixture
def only_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """No endpoint reads a body."""

    async def refuse(request: object) -> None:
        raise AssertionError("an endpoint was asked")

    monkeypatch.setattr("streamsql.server.endpoints.queries.statement_request", refuse)


@pytest.mark.usefixtures("only_short")
@pytest.mark.parametrize(
    "body",
    [
        {"sql": SQL},
        {"ksql": SQL},
        {"ksql": SQL, "streamsProperties": {}, "sessionVariables": {}},
        {"sql": SQL, "properties": None},
    ],
)
@pytest.mark.parametrize(
    ("path", "accept"), [("/query-stream", JSON), ("/query-stream", KSQL), ("/query", "*/*")]
)
def test_plain_lookups_take_the_short_way(
    engine: Looking, path: str, accept: str, body: dict[str, Any]
) -> None:
    answer = client_of(engine).post(path, json=body, headers={"Accept": accept})
    assert (answer.status_code, engine.asked) == (200, [SQL])
    assert "é" in answer.text


@pytest.mark.parametrize("rows", [0, 1, 20_000, -1])
@pytest.mark.parametrize(
    ("path", "accept"), [("/query-stream", JSON), ("/query-stream", KSQL), ("/query", JSON)]
)
def test_both_ways_answer_alike(engine: Looking, path: str, accept: str, rows: int) -> None:
    engine.rows = rows
    headers = {"Accept": accept, "X-Request-ID": "same"}
    bodies = ({"sql": SQL}, {"sql": SQL, "streamsProperties": {"auto.offset.reset": "earliest"}})
    short, long = (client_of(engine).post(path, json=b, headers=headers) for b in bodies)
    assert short.content == long.content
    assert (short.status_code, short.headers) == (long.status_code, long.headers)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"sql": 1}',
        b'{"ksql": "", "sql": "SELECT 1;"}',
        json.dumps({"sql": SQL, "properties": False}).encode(),
        json.dumps({"sql": SQL, "properties": {"no.such": "1"}}).encode(),
        b'{"sql": ' + b"[" * 5_000,
        b'{"sql": "\xff"}',
    ],
)
def test_what_is_wrong_is_said_by_the_endpoints(engine: Looking, body: bytes) -> None:
    answer = client_of(engine).post("/query", content=body, headers={"Content-Type": JSON})
    assert answer.status_code == 400
    assert answer.json()["error_code"] == 40000
    assert engine.asked == []


@pytest.mark.parametrize(
    ("headers", "settings", "status"),
    [
        ({"Host": "evil.example"}, {}, 421),
        ({"Origin": "http://evil.example"}, {}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "null"}, {}, 403),
        ({"Sec-Fetch-Site": "same-origin", "Content-Type": "text/plain"}, {}, 415),
        ({"Content-Type": "text/html"}, {}, 415),
        ({"Accept": "text/html"}, {}, 406),
        ({}, {"max_statement_bytes": 20}, 413),
    ],
)
def test_guards_hold(
    engine: Looking, headers: dict[str, str], settings: dict[str, Any], status: int
) -> None:
    given = {"Content-Type": JSON, **headers}
    body = json.dumps({"sql": SQL})
    answer = client_of(engine, **settings).post("/query-stream", content=body, headers=given)
    assert (answer.status_code, engine.asked) == (status, [])


def test_users_log_in(engine: Looking, tmp_path: Path) -> None:
    users = tmp_path / "users"
    add_user(users, "ann", Role.READ_ONLY, "a password")
    client = client_of(engine, users_file=users)
    assert client.post("/query", json={"sql": SQL}).status_code == 401
    assert engine.asked == []
    answer = client.post("/query", json={"sql": SQL}, auth=("ann", "a password"))
    assert (answer.status_code, engine.asked) == (200, [SQL])


def test_requests_are_counted_and_bounded(engine: Looking) -> None:
    client = client_of(engine, max_requests_per_second=0.001)
    found = [client.post("/query", json={"sql": SQL}).status_code for _ in range(3)]
    assert found[0] == 200
    assert found[-1] == 429
