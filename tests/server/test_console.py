"""The console's files, its sessions, and what it asks of the server: nothing of it needs Kafka.
How it looks in a browser is in test_console_pages.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from starlette.testclient import TestClient

from streamsql.roles import Role
from streamsql.server.app import build_app
from streamsql.server.console.files import files
from streamsql.server.security.sessions import IDLE_SECONDS, Sessions
from streamsql.server.settings.config import ServerConfig
from streamsql.server.state.server_state import ServerState
from streamsql.users.accounts import add_user

if TYPE_CHECKING:
    from client.servers import WatchedEngine

ROOT = Path(__file__).parent.parent.parent
HOST = "127.0.0.1:8088"
PAGE = {"Sec-Fetch-Site": "same-origin", "Origin": f"http://{HOST}"}
HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
IMPORT = re.compile(r'from "\./([\w/.]+)"')
WHOLE = 300_000
"""Bytes of all files, compressed."""


@pytest.fixture
def state(engine: WatchedEngine) -> ServerState:
    return ServerState(engine, ServerConfig())


def client(state: ServerState) -> TestClient:
    return TestClient(build_app(state), f"http://{HOST}", follow_redirects=False)


def test_a_browser_gets_the_console_and_a_program_what_ksqldb_answers(state: ServerState) -> None:
    with client(state) as server:
        page = server.get("/", headers=HTML)
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert "default-src 'self'" in page.headers["content-security-policy"]
        assert "<style" not in page.text and " style=" not in page.text
        assert re.findall("<script (.*?)>", page.text) == ['type="module" src="console/app.js"']
        again = server.get("/", headers={**HTML, "If-None-Match": page.headers["etag"]})
        assert again.status_code == 304
        assert server.get("/").headers["location"] == "/info"
        for path in ("nothing.js", "../files.py", "%2e%2e/files.py", ""):
            assert server.get(f"/console/{path}").status_code == 404


def test_the_files_are_whole_and_small(state: ServerState) -> None:
    found = files()
    for path, file in found.items():
        if path.endswith(".js") and not path.startswith("vendor/"):
            for imported in IMPORT.findall(file.content.decode()):
                assert imported in found, f"{path} imports {imported}"
    assert sum(len(file.compressed) for file in found.values()) < WHOLE
    with client(state) as server:
        plain = server.get("/console/app.js", headers={"Accept-Encoding": "identity"})
        assert "content-encoding" not in plain.headers
        assert plain.content == gzip.decompress(found["app.js"].compressed)
        assert server.get("/console/app.js").content == plain.content


def test_what_is_of_others_comes_with_its_licence() -> None:
    text = files()["vendor/LICENSES.txt"].content.decode()
    lock = json.loads((ROOT / "scripts/console/package-lock.json").read_text("utf-8"))
    for path, package in lock["packages"].items():
        if path:
            assert package["integrity"].startswith("sha512-")
            named = f"{path.removeprefix('node_modules/')} {package['version']} ("
            assert (named in text) != bool(package.get("dev"))


@pytest.mark.slow
def test_what_is_committed_is_what_the_lock_file_gives() -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "vendor.py", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_session_is_opened_by_the_token(state: ServerState) -> None:
    with client(state) as server:
        for path in ("/streamsql/session", "/streamsql/graph", "/info"):
            answer = server.get(path, headers=PAGE)
            assert (answer.status_code, answer.json()["error_code"]) == (401, 40101)
        for wrong in ({}, {"token": "x"}, {"token": 1}, {"token": "ü"}):
            assert server.post("/streamsql/login", json=wrong, headers=PAGE).status_code == 401
        half = b'{"token": "\\ud800"}'
        typed = {**PAGE, "Content-Type": "application/json"}
        assert server.post("/streamsql/login", content=half, headers=typed).status_code == 401
        given = {"token": state.sessions.token}
        opened = server.post("/streamsql/login", json=given, headers=PAGE)
        cookie = opened.headers["set-cookie"].lower()
        assert "httponly" in cookie and "samesite=strict" in cookie
        about = server.get("/streamsql/session", headers=PAGE).json()
        assert (about["user"], about["service"]) == (None, "default_")
        assert server.post("/streamsql/logout", json={}, headers=PAGE).status_code == 200
        old = {**PAGE, "Cookie": cookie.partition(";")[0]}
        assert server.get("/streamsql/session", headers=old).status_code == 401


@pytest.mark.parametrize(
    "headers", [PAGE, {"Origin": f"http://{HOST}"}, {"streamsql-console": "1"}]
)
def test_a_page_without_a_session_gets_nothing(state: ServerState, headers: dict[str, str]) -> None:
    with client(state) as server:
        assert server.get("/streamsql/catalog", headers=headers).status_code == 401
        assert server.get("/console/app.js", headers=headers).status_code == 200
        assert server.get("/chc/live", headers=headers).status_code == 200


def test_pages_of_a_named_origin_need_no_session(engine: WatchedEngine) -> None:
    """As before there were any: also those that a proxy serves beside the server."""
    state = ServerState(engine, ServerConfig(cors_origins=(f"http://{HOST}",)))
    with client(state) as server:
        assert server.get("/streamsql/catalog", headers=PAGE).status_code == 200


def test_with_users_a_session_stands_for_a_login(engine: WatchedEngine, tmp_path: Path) -> None:
    path = tmp_path / "users"
    add_user(path, "bob", Role.READ_ONLY, "green tea")
    with client(ServerState(engine, ServerConfig(users_file=path))) as server:
        assert server.get("/", headers=HTML).status_code == 200
        refused = server.get("/streamsql/session", headers=PAGE)
        assert refused.json()["error_code"] == 40100
        # Else the browser would ask for the password, and not the page.
        assert "www-authenticate" not in refused.headers
        assert "www-authenticate" in server.get("/info").headers
        login = "/streamsql/login"
        assert server.post(login, json={}, headers=PAGE, auth=("bob", "x")).status_code == 401
        assert server.post(login, json={}, headers=PAGE, auth=("bob", "green tea")).is_success
        about = server.get("/streamsql/session", headers=PAGE).json()
        assert (about["user"], about["role"]) == ("bob", "read-only")
        assert server.post("/ksql/terminate", json={}, headers=PAGE).status_code == 403
        add_user(path, "bob", Role.READ_ONLY, "black tea")
        assert server.get("/streamsql/session", headers=PAGE).status_code == 401


def test_sessions_end() -> None:
    now = [0.0]
    sessions = Sessions(lambda: now[0])
    id = sessions.open(b"Basic x")
    now[0] = IDLE_SECONDS
    assert sessions.use(id) == (True, b"Basic x")
    now[0] += IDLE_SECONDS + 1
    assert sessions.use(id) == (False, None)
    first = sessions.open(None)
    for _ in range(1000):
        sessions.open(None)
    assert not sessions.use(first)[0]


STREAM = """CREATE STREAM clicks (who STRING KEY, page STRING)
  WITH (KAFKA_TOPIC='clicks', VALUE_FORMAT='JSON', PARTITIONS=1);"""
QUERY = "CREATE TABLE visits AS SELECT who, COUNT(*) AS n FROM clicks GROUP BY who;"


@pytest.fixture
def prepared(engine: WatchedEngine, state: ServerState) -> ServerState:
    engine._runner.given(STREAM + QUERY)
    return state


def checked(server: TestClient, sql: str, **more: Any) -> list[dict[str, Any]]:
    answer = server.post("/streamsql/check", json={"sql": sql, **more})
    assert answer.status_code == 200, answer.text
    errors: list[dict[str, Any]] = answer.json()["errors"]
    return errors


def test_what_is_wrong_as_one_types(prepared: ServerState) -> None:
    before = prepared.engine.catalog()
    with client(prepared) as server:
        assert checked(server, "SELECT who FROM clicks EMIT CHANGES;") == []
        assert checked(server, "CREATE STREAM c AS SELECT * FROM clicks; DESCRIBE c;") == []
        sql = "SELECT '😀', wh FROM clicks EMIT CHANGES;"
        (error,) = checked(server, sql)
        # In JavaScript's units, of which the face is two.
        face = "😀".encode("utf-16-le")
        assert (error["from"], error["to"]) == (13, 15) and len(face) == 4
        assert "WHO" in error["hint"]
        assert checked(server, "CREATE STREAM")[0]["kind"] == "syntax error"
        assert "exists" in checked(server, STREAM)[0]["message"]
        assert "file of the server" in checked(server, "RUN SCRIPT '/etc/passwd';")[0]["message"]
        assert len(checked(server, "SELEC; SELECT x FROM nowhere;")) == 2
        half = b'{"sql": "SELECT \\ud800 FROM clicks;"}'
        assert server.post("/streamsql/check", content=half).status_code == 200
    assert prepared.engine.catalog() is before


def test_what_may_come_next(prepared: ServerState) -> None:
    with client(prepared) as server:

        def suggested(before: str, after: str = "") -> tuple[int, list[str]]:
            given = {"before": before, "after": after}
            found = server.post("/streamsql/suggest", json=given).json()
            return found["replaces"], [text for text, _, _ in found["suggestions"]]

        assert suggested("SELECT * FROM cl") == (2, ["clicks"])
        replaces, columns = suggested("SELECT pa", " FROM clicks EMIT CHANGES;")
        assert replaces == 2 and "page" in columns
        assert suggested("-- SEL") == (0, []) or suggested("-- SEL")[1] == []
        assert suggested("x" * 100_001) == (0, [])
        assert server.post("/streamsql/suggest", json={"before": 1}).status_code == 400
        assert "SELECT" in server.get("/streamsql/words").json()


def test_the_graph_of_what_there_is(prepared: ServerState) -> None:
    with client(prepared) as server:
        found = server.get("/streamsql/graph").json()
    sources = {source["name"]: source for source in found["sources"]}
    assert sources["CLICKS"]["topic"] == "clicks" and sources["CLICKS"]["writers"] == []
    assert sources["VISITS"]["kind"] == "TABLE" and len(sources["VISITS"]["writers"]) == 1
    assert sources["KSQL_PROCESSING_LOG"]["builtIn"]
    # Without Kafka nothing is known of topics, and the engine runs no query.
    assert (found["topics"], found["queries"], found["connectors"]) == ({}, [], [])
