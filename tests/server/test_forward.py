"""What a server sends to the leader, and what it does where there is none. No Kafka, no Spark.

The leader is an HTTP server of the test; soak/test_server_kill.py has two real ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, cast

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from streamsql.api.script import parse_script
from streamsql.engine import Engine, Script, Session
from streamsql.server.endpoints import forward
from streamsql.server.endpoints.forward import FORWARDED, Forward
from streamsql.server.settings.config import ServerConfig
from streamsql.server.state.server_state import TOKEN_HEADER, TOKEN_PROPERTY, ServerState


class Follower:
    """Of an engine what Forward asks."""

    def __init__(self, leader_url: str | None) -> None:
        self.leads = False
        self.leader_url = leader_url
        self.session = Session()
        self.synced = 0

    def parse(self, sql: str, session: Session) -> Script:
        return parse_script(sql, session)

    def needs_leader(self, script: Script) -> bool:
        return any(statement.node.effect.logged for statement in script.statements)

    def sync(self, timeout: float) -> bool:
        self.synced += 1
        return True


class Leader(ThreadingHTTPServer):
    """Answers what it was sent; with `dies`, not at all."""

    def __init__(self, *, dies: bool = False) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.dies = dies
        self.seen: list[tuple[str, dict[str, str], bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Answer(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        leader = cast(Leader, self.server)
        body = self.rfile.read(int(self.headers["content-length"]))
        leader.seen.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
        if leader.dies:
            return
        self.send_response(418)
        self.send_header("Content-Type", "application/vnd.ksql.v1+json")
        self.end_headers()
        self.wfile.write(b'{"answer": "of the leader"}')

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def serving(leader: Leader) -> Iterator[Leader]:
    thread = Thread(target=leader.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield leader
    finally:
        leader.shutdown()
        thread.join()
        leader.server_close()


@pytest.fixture
def leader() -> Iterator[Leader]:
    with serving(Leader()) as found:
        yield found


async def here(request: Request) -> Response:
    """The endpoint of the server that was asked."""
    return JSONResponse({"here": (await request.body()).decode()})


def client(engine: Follower) -> TestClient:
    state = ServerState(cast(Engine, engine), ServerConfig())
    paths = ("/ksql", "/ksql/terminate", "/query", "/streamsql/execute")
    routes = [Route(path, here, methods=["POST"]) for path in paths]
    return TestClient(Starlette(routes=routes, middleware=[Middleware(Forward, state=state)]))


def body(sql: str, **more: Any) -> dict[str, Any]:
    return {"ksql": sql, **more}


def test_what_changes_things_goes_to_the_leader(leader: Leader) -> None:
    engine = Follower(leader.url)
    given = body("SHOW STREAMS; DROP STREAM s;")
    of_a_page = {"Origin": "http://testserver", "Sec-Fetch-Site": "same-origin"}
    of_a_page |= {"Cookie": "streamsql_8088=x", "streamsql-console": "1"}
    sent_along = {"authorization": "Basic eA==", **of_a_page}
    asking = client(engine)
    del asking.headers["accept-encoding"]
    answer = asking.post("/ksql", json=given, headers=sent_along)
    assert answer.status_code == 418 and answer.json() == {"answer": "of the leader"}
    assert answer.headers["content-type"] == "application/vnd.ksql.v1+json"
    ((path, headers, sent),) = leader.seen
    assert path == "/ksql" and json.loads(sent) == given
    assert headers["authorization"] == "Basic eA==" and FORWARDED in headers
    assert not {name.lower() for name in of_a_page} & headers.keys(), "they are of another server"
    assert "accept-encoding" not in headers, "nothing is asked for that the client did not"
    assert engine.synced == 1, "what the answer tells of is known here"


@pytest.mark.parametrize(
    ("path", "given"),
    [
        ("/ksql", body("SHOW STREAMS;")),
        ("/ksql", body("INSERT INTO s VALUES (1);")),
        ("/ksql", body("DROP STRAEM s;")),
        ("/ksql", {"sql": 1}),
        ("/query", body("DROP STREAM s;")),
    ],
)
def test_the_rest_is_answered_here(leader: Leader, path: str, given: dict[str, Any]) -> None:
    answer = client(Follower(leader.url)).post(path, json=given)
    assert json.loads(answer.json()["here"]) == given and leader.seen == []


def test_variables_are_the_requests(leader: Leader) -> None:
    given = body("DROP STREAM ${s};", sessionVariables={"s": "t"})
    assert client(Follower(leader.url)).post("/ksql", json=given).status_code == 418


def test_the_end_of_the_service_is_the_leaders(leader: Leader) -> None:
    assert client(Follower(leader.url)).post("/ksql/terminate", json={}).status_code == 418


@pytest.mark.parametrize("path", ["/query", "/streamsql/execute"])
def test_what_is_to_see_what_was_written_before_goes_to_who_knows(
    leader: Leader, path: str
) -> None:
    given = {"sql": "SELECT * FROM t WHERE k = 1;"}
    token = {TOKEN_HEADER: "e30"}
    assert client(Follower(leader.url)).post(path, json=given, headers=token).status_code == 418
    given_as_property = {**given, "properties": {TOKEN_PROPERTY: "e30"}}
    assert client(Follower(leader.url)).post(path, json=given_as_property).status_code == 418
    assert "here" in client(Follower(leader.url)).post(path, json=given).json()


def test_the_shells_statements_go_there_too(leader: Leader) -> None:
    given = {"sql": "CREATE STREAM t AS SELECT * FROM s;"}
    assert client(Follower(leader.url)).post("/streamsql/execute", json=given).status_code == 418


def test_what_was_sent_here_by_another_server_goes_no_further(leader: Leader) -> None:
    headers = {FORWARDED: "1"}
    answer = client(Follower(leader.url)).post(
        "/ksql", json=body("DROP STREAM s;"), headers=headers
    )
    assert "here" in answer.json() and leader.seen == []


def test_the_leader_answers_itself(leader: Leader) -> None:
    engine = Follower(leader.url)
    engine.leads = True
    assert "here" in client(engine).post("/ksql", json=body("DROP STREAM s;")).json()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forward, "TAKE_OVER_SECONDS", 0.1)
    monkeypatch.setattr(forward, "LOOK_SECONDS", 0.02)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("url", [None, "http://127.0.0.1:1"])
def test_without_a_leader(url: str | None) -> None:
    answer = client(Follower(url)).post("/ksql", json=body("DROP STREAM s;"))
    assert answer.status_code == 503
    assert answer.json()["message"] == "no server of the service is the leader"


@pytest.mark.usefixtures("impatient")
def test_this_server_comes_to_lead_meanwhile() -> None:
    class Heir(Follower):
        """Leads at the third look."""

        looks = 0

        @property
        def leads(self) -> bool:
            self.looks += 1
            return self.looks > 2

        @leads.setter
        def leads(self, value: bool) -> None:
            pass

    answer = client(Heir(None)).post("/ksql", json=body("DROP STREAM s;"))
    assert "DROP STREAM s" in answer.json()["here"]


def test_a_leader_that_fails_is_not_asked_again() -> None:
    with serving(Leader(dies=True)) as leader:
        answer = client(Follower(leader.url)).post("/ksql", json=body("DROP STREAM s;"))
        assert answer.status_code == 503
        assert "Whether the statement has taken effect is not known" in answer.json()["message"]
        assert len(leader.seen) == 1
