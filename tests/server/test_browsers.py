"""A web page must not reach the engine: the whole server, and the embedded schema registry, as
browsers speak to them. What exactly is taken is in tests/web; a real browser is in test_chromium.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from streamsql.client.remote import RemoteEngine
from streamsql.client.transport import Address
from streamsql.registry.embedded.app import app as registry_app
from streamsql.registry.embedded.server import HttpServer
from streamsql.registry.embedded.store import Store
from streamsql.roles import Role
from streamsql.server.app import build_app, routes
from streamsql.server.security.sessions import Sessions
from streamsql.server.settings.config import ServerConfig
from streamsql.server.state.server_state import ServerState
from streamsql.users.accounts import add_user
from streamsql.web.guard import HEADERS

if TYPE_CHECKING:
    from client.servers import WatchedEngine

AUTH = ("ann", "green tea")
HOST = "127.0.0.1:8088"
CODE = "CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON AS $$ return x $$;"
JSON = "application/json"
POSTS = sorted(r.path for r in routes() if isinstance(r, Route) and "POST" in (r.methods or ()))
GETS = sorted(r.path for r in routes() if isinstance(r, Route) and "GET" in (r.methods or ()))
ELSEWHERE = {"Origin": "http://evil.example"}
FORM = {**ELSEWHERE, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
NO_CORS = {**ELSEWHERE, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
REBOUND = {
    "Host": "evil.example:8088",
    "Origin": "http://evil.example:8088",
    "Sec-Fetch-Site": "same-origin",
    "Content-Type": JSON,
}
PAGES = [
    {**FORM, "Content-Type": "application/x-www-form-urlencoded"},
    {**FORM, "Content-Type": "text/plain"},
    {**FORM, "Content-Type": "multipart/form-data; boundary=x"},
    {**NO_CORS, "Content-Type": "text/plain;charset=UTF-8"},
    NO_CORS,
    ELSEWHERE,
    {**ELSEWHERE, "Content-Type": JSON},
    {"Origin": "null", "Sec-Fetch-Site": "cross-site", "Content-Type": "text/plain"},
    {"Origin": "http://127.0.0.1:3000", "Sec-Fetch-Site": "same-site", "Content-Type": JSON},
    REBOUND,
]


def client(engine: WatchedEngine, *, users: Path | None = None, **more: Any) -> TestClient:
    state = ServerState(engine, ServerConfig(users_file=users, **more))
    return TestClient(build_app(state, [Route("/broken", broken)]), f"http://{HOST}")


async def broken(request: Request) -> Response:
    raise ValueError("as bugs do")


@pytest.fixture
def users(tmp_path: Path) -> Path:
    add_user(tmp_path / "users", AUTH[0], Role.ADMIN, AUTH[1])
    return tmp_path / "users"


@pytest.mark.parametrize("headers", PAGES)
def test_pages_of_others_run_nothing(engine: WatchedEngine, headers: dict[str, str]) -> None:
    with client(engine) as server:
        for path in POSTS:
            answer = server.post(path, json={"ksql": CODE}, headers=_exactly(headers))
            assert answer.status_code in (403, 421), path
            assert answer.json()["error_code"] == answer.status_code * 100
            assert "--allowed-host" in answer.text or "--cors-origin" in answer.text
    assert engine.ran == []


def _exactly(headers: dict[str, str]) -> dict[str, Any]:
    """Without the content type that a client would add: browsers send a Blob with none."""
    return {"Content-Type": "", **headers}


def test_a_password_that_the_browser_knows_is_of_no_use(engine: WatchedEngine, users: Path) -> None:
    with client(engine, users=users) as server:
        for headers in PAGES:
            answer = server.post("/ksql", json={"ksql": CODE}, headers=headers, auth=AUTH)
            assert answer.status_code in (403, 421)
        allowed = server.post("/ksql", json={"ksql": "LIST VARIABLES;"}, auth=AUTH)
        assert allowed.status_code == 200
    assert engine.ran == ["LIST VARIABLES;"]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Content-Type": "application/x-www-form-urlencoded", "User-Agent": "curl/8.4"},
        {"Content-Type": JSON},
        {"Host": "localhost:8088"},
    ],
)
def test_programs_are_answered(engine: WatchedEngine, headers: dict[str, str]) -> None:
    with client(engine) as server:
        body = b'{"ksql": "LIST VARIABLES;"}'
        assert server.post("/ksql", content=body, headers=headers).status_code == 200
    assert engine.ran == ["LIST VARIABLES;"]


def test_own_pages_are_answered_once_they_have_a_session(engine: WatchedEngine) -> None:
    own = {"Content-Type": JSON, "Origin": f"http://{HOST}", "Sec-Fetch-Site": "same-origin"}
    state = ServerState(engine, ServerConfig())
    body = {"ksql": "LIST VARIABLES;"}
    with TestClient(build_app(state), f"http://{HOST}") as server:
        assert server.post("/ksql", json=body, headers=own).json()["error_code"] == 40101
        token = {"token": state.sessions.token}
        assert server.post("/streamsql/login", json=token, headers=own).status_code == 200
        assert server.post("/ksql", json=body, headers=own).status_code == 200
    assert engine.ran == ["LIST VARIABLES;"]


@pytest.mark.parametrize("path", GETS)
def test_a_rebound_name_reads_nothing(engine: WatchedEngine, path: str) -> None:
    with client(engine) as server:
        answer = server.get(path, headers={"Host": "evil.example:8088"}, follow_redirects=False)
        assert answer.status_code == 421
        assert answer.json()["message"].startswith("'evil.example:8088' is not a name of this")


def test_names_that_the_server_was_given(engine: WatchedEngine) -> None:
    names = {"allowed_hosts": ("proxy.example",), "advertised_url": "http://one.example:80"}
    with client(engine, **names) as server:
        for host in ("proxy.example", "one.example:8088", "localhost"):
            assert server.get("/chc/live", headers={"Host": host}).status_code == 200
        assert server.get("/chc/live", headers={"Host": "two.example"}).status_code == 421
    with client(engine, host="0.0.0.0") as server:
        # As Kubernetes and Prometheus ask, by the address of a pod, and HAProxy by nothing.
        for host in ("10.1.2.3:8088", ""):
            assert server.get("/chc/live", headers={"Host": host}).status_code == 200


def test_trusted_origins_are_let_in(engine: WatchedEngine, users: Path) -> None:
    origin = "https://app.example"
    page = {"Origin": origin, "Sec-Fetch-Site": "cross-site", "Content-Type": JSON}
    body = {"ksql": "LIST VARIABLES;"}
    with client(engine, cors_origins=(origin,), users=users) as server:
        answer = server.post("/ksql", json=body, headers=page, auth=AUTH)
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == origin
        form = {**page, "Content-Type": "text/plain"}
        assert server.post("/ksql", json=body, headers=form, auth=AUTH).status_code == 415
        other = {**page, "Origin": "https://other.example"}
        assert server.post("/ksql", json=body, headers=other, auth=AUTH).status_code == 403
    assert engine.ran == ["LIST VARIABLES;"]


def test_websockets_of_other_pages(engine: WatchedEngine, users: Path) -> None:
    path = "/ws/query?request=" + '{"ksql": "SELECT * FROM numbers EMIT CHANGES;"}'
    for given in (None, users):
        with client(engine, users=given, cors_origins=("*",)) as server:
            basic = {"Authorization": httpx2.BasicAuth(*AUTH)._auth_header}
            for headers in ({"Origin": "null"}, ELSEWHERE, REBOUND, {"Host": "evil.example"}):
                with (
                    pytest.raises(WebSocketDisconnect),
                    server.websocket_connect(path, headers={**basic, **headers}),
                ):
                    pass
    assert engine.ran == []


def test_every_answer_says_what_browsers_may_do_with_it(engine: WatchedEngine, users: Path) -> None:
    def check(answer: httpx2.Response, status: int) -> None:
        assert answer.status_code == status
        for name, value in HEADERS:
            assert answer.headers.get_list(name.decode()) == [value.decode()]

    with client(engine) as server:
        check(server.get("/chc/live"), 200)
        check(server.get("/openapi.json"), 200)
        check(server.get("/", follow_redirects=False), 307)
        check(server.get("/nowhere"), 404)
        check(server.get("/ksql"), 405)
        check(server.post("/ksql", json={"ksql": CODE}, headers=ELSEWHERE), 403)
        check(server.get("/info", headers={"Host": "evil.example"}), 421)
        check(server.get("/broken"), 500)
    with client(engine, users=users) as server:
        check(server.get("/info"), 401)


def test_over_the_network(engine: WatchedEngine) -> None:
    """HTTP/1.1, HTTP/2 and a WebSocket as they arrive through the HTTP server."""
    from client.servers import running

    sql = "SELECT * FROM numbers EMIT CHANGES;"
    sessions = Sessions()
    with running(engine, sessions=sessions) as url:
        body = {"ksql": CODE}
        for http2 in (False, True):
            with httpx2.Client(base_url=url, http1=not http2, http2=http2) as server:
                assert server.post("/ksql", json=body, headers=NO_CORS).status_code == 403
                assert server.post("/ksql", json=body, headers=REBOUND).status_code == 421
                assert server.get("/info", headers={"Host": "evil.example"}).status_code == 421
                assert server.get("/chc/live").status_code == 200
        request = quote(f'{{"ksql": "{sql}"}}')
        socket = f"{url.replace('http', 'ws')}/ws/query?request={request}"
        for origin in ("http://evil.example", "null"):
            with pytest.raises(InvalidStatus, match="403"), connect(socket, origin=origin):
                pass
        assert engine.ran == []
        with pytest.raises(InvalidStatus, match="403"), connect(socket, origin=url):
            pass  # A page of its own, without a session.
        body = {"token": sessions.token}
        answer = httpx2.post(f"{url}/streamsql/login", json=body, headers={"Origin": url})
        cookie = {"Cookie": answer.headers["set-cookie"].partition(";")[0]}
        for own, headers in ((None, {}), (url, cookie)):
            with connect(socket, origin=own, additional_headers=headers) as taken:
                assert '"N"' in taken.recv()
        assert engine.ran == [sql, sql]
        with RemoteEngine(Address.of(url.replace("127.0.0.1", "localhost"))) as remote:
            assert remote.startup().ready


def test_the_schema_registry() -> None:
    store = Store()
    server = HttpServer(registry_app(store))
    url = server.start()
    schema = {"schema": '"string"'}
    versions = "/subjects/s/versions"
    try:
        with httpx2.Client(base_url=url) as registry:
            for headers in PAGES:
                for path in (versions, "/subjects/s", f"/compatibility{versions}"):
                    answer = registry.post(path, json=schema, headers=_exactly(headers))
                    assert answer.status_code in (403, 421)
                    assert answer.json()["error_code"] == answer.status_code
            for path in ("/config", "/mode"):
                assert registry.put(path, json={}, headers=NO_CORS).status_code == 403
                assert registry.delete(f"{path}/s", headers=NO_CORS).status_code == 403
            assert store.subjects() == []
            assert registry.get("/subjects", headers={"Host": "evil.example"}).status_code == 421
            answer = registry.post(versions, json=schema)
            assert answer.status_code == 200
            for name, value in HEADERS:
                assert answer.headers[name.decode()] == value.decode()
    finally:
        server.stop()
