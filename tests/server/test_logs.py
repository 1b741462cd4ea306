"""The log's lines: readable by people and machines, by none for secrets."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from streamsql.masking import mask
from streamsql.roles import Role
from streamsql.server.middleware.request_log import Paths, RequestLog
from streamsql.server.middleware.stack import security
from streamsql.server.settings.config import ServerConfig
from streamsql.server.telemetry.http_metrics import HttpMetrics
from streamsql.server.telemetry.logs import announce, configure_logging
from streamsql.users.accounts import add_user


class Lines:
    """What has been logged."""

    def __init__(self) -> None:
        self.stream = io.StringIO()

    def text(self) -> str:
        return self.stream.getvalue()

    def json(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text().splitlines()]


@pytest.fixture
def lines() -> Iterator[Lines]:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    try:
        yield Lines()
    finally:
        root.handlers = handlers
        root.setLevel(level)


def test_lines_of_text(lines: Lines) -> None:
    configure_logging("text", "info", lines.stream)
    logging.getLogger("streamsql.x").info("a %s", "message", extra={"query": "Q_1"})
    logging.getLogger("streamsql.x").debug("hidden")
    line = lines.text().rstrip("\n")
    time, _, rest = line.partition(" ")
    assert time.endswith("Z") and "T" in time
    assert rest == "INFO    streamsql.x: a message query=Q_1"


def test_lines_of_json(lines: Lines) -> None:
    configure_logging("json", "info", lines.stream)
    log = logging.getLogger("streamsql.x")
    log.warning("with 'ssl.key.password' = 'sesame'", extra={"status": 400, "sql": "x\ny"})
    try:
        raise ValueError('bad "sasl.jaas.config": "sesame"')
    except ValueError:
        log.exception("it failed")
    announce("Listening")
    first, second, third = lines.json()
    assert first.pop("time").endswith("Z")
    assert first == {
        "level": "warning",
        "logger": "streamsql.x",
        "message": "with 'ssl.key.password' = '[hidden]'",
        "status": 400,
        "sql": "x\ny",
    }
    assert "ValueError" in second["exception"]
    assert third["message"] == "Listening"
    assert "sesame" not in lines.text()


async def work(request: Request) -> Response:
    logging.getLogger("streamsql.work").info("busy")
    return PlainTextResponse("done")


async def refuse(request: Request) -> Response:
    return PlainTextResponse("no", 500)


def client(log_all: bool) -> TestClient:
    routes = [Route("/work", work), Route("/refuse", refuse)]
    middleware = Middleware(RequestLog, metrics=HttpMetrics(), paths=Paths(routes), log_all=log_all)
    return TestClient(Starlette(routes=routes, middleware=[middleware]))


def test_requests_are_logged_without_what_they_carry(lines: Lines) -> None:
    configure_logging("json", "info", lines.stream)
    auth = {"Authorization": "Basic c2VzYW1l", "X-Request-ID": "id-1"}
    client(True).get("/work?request=sesame", headers=auth)
    inner, outer = (line for line in lines.json() if line["logger"].startswith("streamsql"))
    assert (inner["message"], inner["request_id"]) == ("busy", "id-1")
    assert (outer["message"], outer["request_id"]) == ("GET /work", "id-1")
    assert outer["status"] == 200 and outer["client"] == "testclient" and outer["ms"] >= 0
    assert "sesame" not in lines.text() and "c2VzYW1l" not in lines.text()


def test_what_fails_is_always_logged(lines: Lines) -> None:
    configure_logging("json", "info", lines.stream)
    one = client(False)
    one.get("/work")
    one.get("/refuse")
    (line,) = (line for line in lines.json() if line["logger"] == "streamsql.access")
    assert (line["level"], line["message"], line["status"]) == ("error", "GET /refuse", 500)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (
            "CREATE SOURCE CONNECTOR c WITH ('connection.password'='it''s', 'name'='x');",
            "CREATE SOURCE CONNECTOR c WITH ('connection.password'='[hidden]', 'name'='x');",
        ),
        (
            "CREATE SINK CONNECTOR c WITH (API_KEY = 'k', \"aws.secret\" = 's', url='u');",
            "CREATE SINK CONNECTOR c WITH (API_KEY = '[hidden]', \"aws.secret\" = '[hidden]', "
            "url='u');",
        ),
        (
            "CREATE SOURCE TABLE t (a INT) WITH (CONNECTION='JDBC', PASSWORD = 'p', USER='u');",
            "CREATE SOURCE TABLE t (a INT) WITH (CONNECTION='JDBC', PASSWORD = '[hidden]', "
            "USER='u');",
        ),
        (
            "CREATE SOURCE TABLE t (a INT) WITH (connection='jdbc', password='${env:SECRET}');",
            "CREATE SOURCE TABLE t (a INT) WITH (connection='jdbc', password='${env:SECRET}');",
        ),
        (
            "SET 'ksql.schema.registry.basic.auth.user.info' = 'me:pass';",
            "SET 'ksql.schema.registry.basic.auth.user.info' = '[hidden]';",
        ),
        ('{"sasl.jaas.config": "a \\"b\\""}', '{"sasl.jaas.config": "[hidden]"}'),
        ("see http://me:pass@host:8081/x", "see http://me:[hidden]@host:8081/x"),
        ("see http://host:8081/a@b", "see http://host:8081/a@b"),
        ("SELECT * FROM s WHERE token = 'x';", "SELECT * FROM s WHERE token = 'x';"),
        ("CREATE STREAM s (password STRING) WITH (kafka_topic='t');",) * 2,
    ],
)
def test_secrets_in_texts(text: str, masked: str) -> None:
    assert mask(text) == masked


def test_a_log_line_knows_the_user(lines: Lines, tmp_path: Path) -> None:
    configure_logging("json", "info", lines.stream)
    add_user(tmp_path / "users", "ann", Role.READ_ONLY, "pw")
    routes = [Route("/work", work)]
    middleware = security(ServerConfig(users_file=tmp_path / "users"))
    one = TestClient(Starlette(routes=routes, middleware=middleware))
    one.get("/work", auth=("ann", "pw"))
    one.get("/work", auth=("ann", "sesame"))
    inner, refused = (line for line in lines.json() if line["logger"].startswith("streamsql"))
    assert (inner["message"], inner["user"]) == ("busy", "ann")
    assert (refused["message"], refused["level"]) == ("login failed", "warning")
    assert refused["client"] == "testclient" and "user" not in refused
    assert "sesame" not in lines.text()
