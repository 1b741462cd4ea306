"""Users, roles, rates and origins: the middleware over an application of a few endpoints."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.types import ASGIApp
from starlette.websockets import WebSocket, WebSocketDisconnect

from streamsql.errors import ConfigError
from streamsql.roles import Role
from streamsql.server.middleware.stack import security
from streamsql.server.security.auth import Authentication
from streamsql.server.security.proxies import trusted_proxy
from streamsql.server.settings.config import ServerConfig
from streamsql.session import Session
from streamsql.users.accounts import Users, add_user, read_accounts, remove_user
from streamsql.users.limits import Rate

PASSWORDS = {"ann": "green tea", "bob": "pa:ss", "eve": "ünïcode"}
ROLES = {"ann": Role.ADMIN, "bob": Role.READ_ONLY, "eve": Role.DEVELOPER}


@pytest.fixture(scope="module")
def users_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("users") / "users"
    for name, password in PASSWORDS.items():
        assert not add_user(path, name, ROLES[name], password)
    return path


async def role(request: Request) -> Response:
    session = Session()
    return JSONResponse({"role": session.role.value if session.role else None})


async def greet(socket: WebSocket) -> None:
    await socket.accept()
    await socket.send_text("hello")
    await socket.close()


def client(config: ServerConfig, **more: str) -> TestClient:
    paths = ("/role", "/healthcheck", "/inserts-stream", "/ksql/terminate")
    routes = [
        *(Route(path, role, methods=["GET", "POST"]) for path in paths),
        WebSocketRoute("/ws/query", greet),
    ]
    return TestClient(Starlette(routes=routes, middleware=security(config)))


@pytest.fixture
def secured(users_file: Path) -> Iterator[TestClient]:
    with client(ServerConfig(users_file=users_file)) as found:
        yield found


def test_without_users_everything_is_allowed() -> None:
    with client(ServerConfig()) as open_to_all:
        assert open_to_all.get("/role").json() == {"role": None}
        assert open_to_all.post("/ksql/terminate").status_code == 200


@pytest.mark.parametrize(
    "auth", [None, ("ann", "red tea"), ("nobody", "green tea"), ("", ""), ("ann", "")]
)
def test_who_is_not_known_gets_nothing(secured: TestClient, auth: tuple[str, str] | None) -> None:
    answer = secured.get("/role", auth=auth)
    assert answer.status_code == 401
    assert answer.json() == {
        "@type": "generic_error",
        "error_code": 40100,
        "message": "Unauthorized",
    }
    assert answer.headers["WWW-Authenticate"].startswith("Basic realm=")


@pytest.mark.parametrize(
    "header", ["Basic", "Basic !!!", "Basic YWJj", "Bearer YW5uOmdyZWVuIHRlYQ==", "basic /w=="]
)
def test_headers_that_are_no_login(secured: TestClient, header: str) -> None:
    assert secured.get("/role", headers={"Authorization": header}).status_code == 401


def test_a_session_has_the_role_of_its_user(secured: TestClient) -> None:
    for name, password in PASSWORDS.items():
        auth = (name.encode(), password.encode())
        for _ in range(2):  # the second time from memory
            assert secured.get("/role", auth=auth).json() == {"role": ROLES[name].value}
    assert Session().role is None


def test_endpoints_that_need_a_role(secured: TestClient) -> None:
    def status(path: str, name: str) -> int:
        auth = (name.encode(), PASSWORDS[name].encode())
        return secured.post(path, auth=auth).status_code

    assert [status("/inserts-stream", n) for n in ("bob", "eve", "ann")] == [403, 200, 200]
    assert [status("/ksql/terminate", n) for n in ("bob", "eve", "ann")] == [403, 403, 200]
    refused = secured.post("/ksql/terminate", auth=("bob", "pa:ss")).json()
    assert refused["error_code"] == 40300
    assert refused["message"] == "This requires the role admin; your role is read-only"


def test_health_can_be_asked_for_by_anyone(secured: TestClient) -> None:
    assert secured.get("/healthcheck").json() == {"role": "read-only"}


def test_websockets_are_refused_too(secured: TestClient) -> None:
    with pytest.raises(WebSocketDisconnect), secured.websocket_connect("/ws/query"):
        pass
    headers = {"Authorization": "Basic Ym9iOnBhOnNz"}
    with secured.websocket_connect("/ws/query", headers=headers) as socket:
        assert socket.receive_text() == "hello"


def test_guessing_is_slowed_down(users_file: Path) -> None:
    bounded = Middleware(Authentication, users=Users(users_file), failures=Rate(0.001, 3))
    secured = TestClient(Starlette(routes=[Route("/role", role)], middleware=[bounded]))
    statuses = [secured.get("/role", auth=("ann", f"{i}")).status_code for i in range(5)]
    assert statuses == [401, 401, 401, 429, 429]
    answer = secured.get("/role", auth=("bob", "wrong"))
    assert answer.json()["error_code"] == 42900
    assert int(answer.headers["Retry-After"]) >= 1


async def at_the_same_time(app: ASGIApp, *logins: tuple[str, str]) -> list[int]:
    """The statuses of requests that are all there before the first is answered."""
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://testserver") as found:
        answers = await asyncio.gather(*(found.get("/role", auth=login) for login in logins))
    return [answer.status_code for answer in answers]


def test_guesses_at_the_same_time_are_slowed_down_too(users_file: Path) -> None:
    bounded = Middleware(Authentication, users=Users(users_file), failures=Rate(0.001, 3))
    app = Starlette(routes=[Route("/role", role)], middleware=[bounded])
    guesses = [("ann", f"{number}") for number in range(20)]
    statuses = asyncio.run(at_the_same_time(app, *guesses))
    assert (statuses.count(401), statuses.count(429)) == (3, 17)


def test_connections_of_one_client_log_in_at_the_same_time(users_file: Path) -> None:
    bounded = Middleware(Authentication, users=Users(users_file), failures=Rate(0.001, 3))
    app = Starlette(routes=[Route("/role", role)], middleware=[bounded])
    logins = [("ann", PASSWORDS["ann"]), ("bob", PASSWORDS["bob"])] * 10
    assert asyncio.run(at_the_same_time(app, *logins)) == [200] * 20
    wrong = [("ann", f"{number}") for number in range(4)]
    assert asyncio.run(at_the_same_time(app, *wrong)).count(401) == 3, (
        "what was right is no failure"
    )


def test_the_file_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "users"
    add_user(path, "ann", Role.ADMIN, "one")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "one" not in path.read_text()
    users = Users(path)
    assert users.log_in("ann", "one") and users.remembered("ann", "one")
    assert add_user(path, "ann", Role.READ_ONLY, "two")
    assert users.remembered("ann", "one") is None
    assert users.log_in("ann", "one") is None
    found = users.log_in("ann", "two")
    assert found is not None and found.role is Role.READ_ONLY
    remove_user(path, "ann")
    assert users.remembered("ann", "two") is None
    assert users.log_in("ann", "two") is None
    path.write_text("broken")
    add = "ann:admin:" + "$argon2id$x"
    path.unlink()
    assert users.log_in("ann", "two") is None
    path.write_text(add + "\n# a comment\n\n")
    assert users.log_in("ann", "two") is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("ann:admin", "malformed line of a user"),
        ("ann:admin:plain text", "malformed line of a user"),
        ("ann:root:$argon2id$x", "there is no role root"),
    ],
)
def test_files_that_are_wrong(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "users"
    path.write_text(line)
    with pytest.raises(ConfigError, match=message) as caught:
        read_accounts(path)
    assert "plain text" not in str(caught.value)
    with pytest.raises(ConfigError, match="cannot read the users file"):
        security(ServerConfig(users_file=tmp_path / "missing"))


@pytest.mark.parametrize("name", ["", "a b", "a:b", "#a", "x" * 200])
def test_names_that_are_none(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="a user's name"):
        add_user(tmp_path / "users", name, Role.ADMIN, "x")


def test_rates_are_of_each_user() -> None:
    now = 0.0
    rate = Rate(2.0, 4.0, lambda: now)
    assert [rate.take("ann") for _ in range(5)] == [0, 0, 0, 0, 0.5]
    assert rate.take("bob") == 0
    now += 0.5
    assert rate.take("ann") == 0
    assert rate.take("ann") == 0.5
    now += 100
    assert [rate.take("ann") for _ in range(5)] == [0, 0, 0, 0, 0.5]


def test_too_many_requests() -> None:
    with client(ServerConfig(max_requests_per_second=0.01)) as throttled:
        statuses = [throttled.get("/role").status_code for _ in range(3)]
        assert statuses[0] == 200 and statuses[-1] == 429
        refused = throttled.get("/role")
        assert refused.json()["error_code"] == 42900
        assert int(refused.headers["Retry-After"]) > 10
        assert throttled.get("/healthcheck").status_code == 200


def test_other_origins(users_file: Path) -> None:
    asked = {"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}
    with client(ServerConfig()) as closed:
        answer = closed.get("/role", headers={"Origin": "https://a.example"})
        assert "access-control-allow-origin" not in answer.headers
        assert closed.options("/role", headers=asked).status_code == 405
    config = ServerConfig(cors_origins=("https://a.example",), users_file=users_file)
    with client(config) as opened:
        answer = opened.options("/role", headers=asked)
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == "https://a.example"
        other = {**asked, "Origin": "https://b.example"}
        assert opened.options("/role", headers=other).status_code == 400


def test_clients_behind_a_trusted_proxy_fail_each_for_themselves(users_file: Path) -> None:
    proxy = trusted_proxy("10.0.0.0/8")
    config = ServerConfig(users_file=users_file, trusted_proxies=(proxy,))
    app = client(config).app
    guesser, other = "203.0.113.5", "203.0.113.6"

    def status(peer: str, forwarded: str | None, password: str = "wrong") -> int:
        headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}
        from_peer = TestClient(app, client=(peer, 1))
        return from_peer.get("/role", auth=("bob", password), headers=headers).status_code

    for n in range(10):
        # What a client writes itself stands before the address that the proxy adds.
        assert status("10.1.1.1", f"198.51.100.{n}, {guesser}") == 401
    assert status("10.1.1.1", guesser) == 429
    assert status("10.2.2.2", f"{guesser}, 10.1.1.1") == 429, "through two proxies"
    assert status("10.1.1.1", other) == 401
    assert status("10.1.1.1", other, PASSWORDS["bob"]) == 200
    # Who is no proxy cannot say whose request it is.
    for _ in range(10):
        assert status(other, "192.0.2.1") in (401, 429)
    assert status(other, "192.0.2.2") == 429
    assert status("10.1.1.1", "no address") == 401


@pytest.mark.parametrize("text", ["proxy", "10.0.0.0/99", "10.0.0.1/8", ""])
def test_a_proxy_is_named_by_its_address(text: str) -> None:
    with pytest.raises(ConfigError, match="is not the address of a proxy"):
        trusted_proxy(text)
