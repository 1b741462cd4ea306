"""What the server says to requests that it refuses, and of itself: nothing of it needs Kafka."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient

from streamsql.engine import Engine, EngineConfig
from streamsql.server.app import build_app, routes
from streamsql.server.endpoints.openapi import PATHS
from streamsql.server.http.errors import Failure
from streamsql.server.settings.config import ServerConfig, listen_address
from streamsql.server.state.server_state import ServerState

LIMIT = 1000


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A server whose engine has not been started."""
    engine = Engine(EngineConfig(data_dir=tmp_path_factory.mktemp("app")))
    # By that name the clients of tests ask.
    config = ServerConfig(
        max_request_bytes=LIMIT, max_statement_bytes=LIMIT, allowed_hosts=("testserver",)
    )
    with TestClient(build_app(ServerState(engine, config))) as client:
        yield client


@pytest.mark.parametrize(
    ("method", "path", "headers", "body", "code"),
    [
        ("GET", "/nowhere", {}, "", 40400),
        ("GET", "/ksql", {}, "", 40500),
        ("POST", "/info", {}, "{}", 40500),
        ("POST", "/query", {"Accept": "text/html"}, "{}", 40600),
        ("POST", "/ksql", {"Accept": "application/vnd.ksql.v1+protobuf"}, "{}", 40600),
        ("POST", "/query", {"Content-Type": "text/xml"}, "{}", 41500),
        ("POST", "/query", {}, "x" * (LIMIT + 1), 41300),
        ("POST", "/query", {}, "", 40000),
        ("POST", "/query", {}, "[]", 40000),
        ("POST", "/query", {}, '{"ksql": ', 40000),
        ("POST", "/query", {}, '{"ksql": 1}', 40000),
        ("POST", "/query", {}, '{"ksql": "SELECT 1;", "streamsProperties": []}', 40000),
        ("POST", "/query", {}, '{"ksql": "X;", "streamsProperties": {"nonsense": "1"}}', 40000),
        ("POST", "/query", {}, '{"ksql": "' + "[" * 200 + '"}', 40001),
        ("POST", "/query", {}, "[" * 200, 40000),
        ("POST", "/query", {}, '{"ksql": "SELECT 1"}\x00', 40000),
        ("POST", "/query", {}, '{"ksql": "SELEC;"}', 40001),
        ("POST", "/query", {}, '{"ksql": "SHOW STREAMS;"}', 40001),
        ("POST", "/query", {}, '{"ksql": "PRINT a; PRINT b;"}', 40000),
        ("POST", "/query-stream", {}, '{"sql": "SELEC;"}', 40001),
        ("POST", "/close-query", {}, '{"queryId": "nothing"}', 40000),
        ("POST", "/close-query", {}, "{}", 40000),
        ("POST", "/inserts-stream", {}, "", 40000),
        ("POST", "/inserts-stream", {}, '{"table": "x"}\n{}', 40000),
        ("POST", "/inserts-stream", {}, '{"target": "x", "properties": ""}\n{}', 40000),
        (
            "POST",
            "/streamsql/plan",
            {},
            '{"files": [{"name": "a", "sql": ""}], "properties": ""}',
            40000,
        ),
        ("POST", "/streamsql/apply", {}, '{"undo": true, "sessionVariables": []}', 40000),
        ("POST", "/streamsql/apply", {}, '{"undo": true, "promote": true}', 40000),
        ("POST", "/streamsql/plan", {}, '{"discard": true}', 40000),
        ("POST", "/heartbeat", {}, '{"hostInfo": {"host": 1}}', 40000),
        ("GET", "/is_valid_property/nonsense", {}, "", 40000),
        ("GET", "/status/stream/X/create", {}, "", 40400),
        ("GET", "/chc/ready", {}, "", 50302),
    ],
)
def test_refused(
    client: TestClient, method: str, path: str, headers: dict[str, str], body: str, code: int
) -> None:
    answer = client.request(method, path, content=body, headers=headers)
    assert answer.status_code == code // 100
    found = answer.json()
    assert found["error_code"] == code
    assert found["@type"] in ("generic_error", "statement_error")
    assert found["message"] and "Traceback" not in found["message"]


def test_statement_errors_tell_the_statement(client: TestClient) -> None:
    found = client.post("/query", json={"ksql": "SELECT WHERE x;"}).json()
    assert found["@type"] == "statement_error"
    assert found["statementText"] == "SELECT WHERE x;"
    assert found["message"].startswith("line 1:8: ")


def test_a_statement_may_have_several_lines_as_people_write_them(client: TestClient) -> None:
    found = client.post("/query", content='{"ksql": "SELECT\n\tWHERE x;"}').json()
    assert found["message"].startswith("line 2:2: ")


def test_what_a_starting_server_tells(client: TestClient) -> None:
    about = client.get("/", follow_redirects=True).json()["KsqlServerInfo"]
    assert about["serverStatus"] == "STARTING"
    assert about["ksqlServiceId"] == "default_"
    health = client.get("/healthcheck").json()
    assert not health["isHealthy"]
    assert health["details"]["kafka"] == {"isHealthy": False}
    assert client.get("/chc/live").status_code == 200
    assert client.get("/v1/metadata/id").json()["scope"]["path"] == []


@pytest.mark.parametrize("name", ["auto.offset.reset", "ksql.streams.auto.offset.reset", "acks"])
def test_properties_that_a_client_may_set(client: TestClient, name: str) -> None:
    assert client.get(f"/is_valid_property/{name}").json() is True


def test_reported_hosts_are_passed_on(client: TestClient) -> None:
    host = {"host": "other", "port": 8088}
    assert client.post("/heartbeat", json={"hostInfo": host}).json() == {"isOk": True}
    lags = {"stateStoreLags": {"T": {}}, "updateTimeMs": 5}
    assert client.post("/lag", json={"ksqlHost": host, "hostStoreLags": lags}).status_code == 200
    found = client.get("/clusterStatus").json()["clusterStatus"]
    assert found["other:8088"]["hostAlive"] is True
    assert found["other:8088"]["hostStoreLags"] == lags
    assert "127.0.0.1:8088" in found


def test_a_server_that_stops_takes_nothing_more(tmp_path: Path) -> None:
    state = ServerState(Engine(EngineConfig(data_dir=tmp_path)), ServerConfig())
    client = TestClient(build_app(state), state.config.url)
    state.stopping = True
    answer = client.get("/info")
    assert (answer.status_code, answer.json()["error_code"]) == (503, 50303)


def test_every_route_is_described_and_every_description_is_of_a_route() -> None:
    found = {
        (route.path, method.lower())
        for route in routes()
        if isinstance(route, Route)
        for method in (route.methods or {"GET"}) - {"HEAD"}
    }
    described = {(path, method) for path, operations in PATHS.items() for method in operations}
    assert found == described
    assert [r.path for r in routes() if isinstance(r, WebSocketRoute)] == ["/ws/query"]


def test_malformed_requests(client: TestClient) -> None:
    """A hundred here; tests/soak has ten thousand, for a server with all behind it."""
    # What makes them takes a second to import, in every process that collects tests.
    import schemathesis
    from server.malformed import ask

    schema = schemathesis.openapi.from_asgi("/openapi.json", client.app)
    # It would wait for the statement log of an engine that never starts.
    assert ask(schema, 5, besides=("/ksql/terminate",)) > 100


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("0.0.0.0:9000", ("0.0.0.0", 9000)),
        (":9000", ("0.0.0.0", 9000)),
        ("example", ("example", 8088)),
        ("http://0.0.0.0:8088", ("0.0.0.0", 8088)),
        ("[::1]:80", ("::1", 80)),
    ],
)
def test_addresses(text: str, address: tuple[str, int]) -> None:
    assert listen_address(text) == address


def test_codes_are_http_status_times_a_hundred() -> None:
    assert Failure(40603, "x").status == 406
