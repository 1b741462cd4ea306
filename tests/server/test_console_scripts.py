"""Files of statements that the console opens and saves: only those of the folder that was named,
and only by users who may. In a browser they are in test_console_pages."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from starlette.testclient import TestClient

from streamsql.roles import Role
from streamsql.server.app import build_app
from streamsql.server.console.scripts import Scripts
from streamsql.server.http.errors import RequestError
from streamsql.server.settings.config import ServerConfig
from streamsql.server.state.server_state import ServerState
from streamsql.users.accounts import add_user

if TYPE_CHECKING:
    from client.servers import WatchedEngine

SCRIPTS = "/streamsql/scripts"
SQL = "SELECT 'zwölf' AS n;\r\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two scripts, and what must not be reached."""
    found = tmp_path / "scripts"
    (found / "deeper").mkdir(parents=True)
    (found / "b.sql").write_text("SELECT 2;", "utf-8")
    (found / "a b.sql").write_bytes(SQL.encode())
    (found / "notes.txt").write_text("no statements", "utf-8")
    (found / "deeper" / "c.sql").write_text("SELECT 3;", "utf-8")
    (tmp_path / "secret.sql").write_text("a secret", "utf-8")
    (found / "link.sql").symlink_to(tmp_path / "secret.sql")
    return found


@pytest.fixture
def server(engine: WatchedEngine, folder: Path) -> Iterator[TestClient]:
    with client(engine, ServerConfig(scripts=folder, max_statement_bytes=1_000)) as found:
        yield found


def client(engine: WatchedEngine, config: ServerConfig) -> TestClient:
    return TestClient(build_app(ServerState(engine, config)), "http://127.0.0.1:8088")


def save(server: TestClient, name: str, sql: object, version: str | None = None) -> Any:
    return server.post(f"{SCRIPTS}/{name}", json={"sql": sql, "version": version})


def test_none_where_no_folder_is_named(engine: WatchedEngine) -> None:
    with client(engine, ServerConfig()) as server:
        assert server.get(SCRIPTS).json() == {"opens": False, "saves": False, "scripts": []}
        assert server.get(f"{SCRIPTS}/a.sql").status_code == 404
        assert save(server, "a.sql", "SELECT 1;").status_code == 404


def test_what_is_opened_and_saved(server: TestClient, folder: Path) -> None:
    listed = server.get(SCRIPTS).json()
    assert listed == {"opens": True, "saves": True, "scripts": ["a b.sql", "b.sql"]}
    opened = server.get(f"{SCRIPTS}/a b.sql").json()
    assert opened["sql"] == SQL
    first = save(server, "a b.sql", SQL + "-- more", opened["version"])
    assert first.status_code == 200 and (folder / "a b.sql").read_bytes() == (
        (SQL + "-- more").encode()
    )
    # Another user still has the previous version.
    second = save(server, "a b.sql", "mine", opened["version"])
    assert second.status_code == 400 and "has changed since it was opened" in second.text
    assert save(server, "a b.sql", SQL, first.json()["version"]).status_code == 200
    assert "already exists" in save(server, "b.sql", "mine").text
    assert save(server, "new.sql", "SELECT 4;").status_code == 200
    assert (folder / "new.sql").read_text("utf-8") == "SELECT 4;"
    (folder / "new.sql").unlink()
    assert "no longer exists" in save(server, "new.sql", "SELECT 5;", "x").text
    assert sorted(path.name for path in folder.iterdir()) == [
        *("a b.sql", "b.sql", "deeper", "link.sql", "notes.txt"),
    ]


@pytest.mark.parametrize(
    "name",
    [
        *("..%2Fsecret.sql", "%2e%2e%2fsecret.sql", "deeper%2Fc.sql", "..", ".sql", "notes.txt"),
        *("link.sql", ".b.sql.new", "x" * 200 + ".sql", "b.sql%00", "b.sql%0a", "%2Fetc%2Fpasswd"),
    ],
)
def test_nothing_else_is_reached(server: TestClient, folder: Path, name: str) -> None:
    before = {path: path.read_bytes() for path in folder.parent.rglob("*.sql")}
    for answer in (server.get(f"{SCRIPTS}/{name}"), save(server, name, "gotcha")):
        assert answer.status_code in (400, 404, 405), answer.text
        assert "secret" not in answer.text.replace("secret.sql", "")
    assert {path: path.read_bytes() for path in folder.parent.rglob("*.sql")} == before


def test_what_is_no_script_is_refused(server: TestClient, folder: Path) -> None:
    for body in ({}, {"sql": 1}, {"sql": "x", "version": 2}, [], {"sql": "\ud800"}):
        assert server.post(f"{SCRIPTS}/c.sql", content=_json(body)).status_code == 400
    assert save(server, "c.sql", "x" * 2_000).status_code == 413
    (folder / "large.sql").write_text("x" * 2_000, "utf-8")
    (folder / "bytes.sql").write_bytes(b"\xff\xfe")
    assert "is too large" in server.get(f"{SCRIPTS}/large.sql").text
    assert "cannot be read" in server.get(f"{SCRIPTS}/bytes.sql").text
    foreign = server.post(
        f"{SCRIPTS}/c.sql",
        json={"sql": "x", "version": None},
        headers={"Origin": "https://example.com", "Sec-Fetch-Site": "cross-site"},
    )
    assert foreign.status_code == 403 and not (folder / "c.sql").exists()


def test_of_many_that_save_at_once_one_does(folder: Path) -> None:
    """And what is written is its text, whole."""
    scripts, savers = Scripts(folder, 1_000_000), 8
    begin = threading.Barrier(savers)

    def saved(text: str, over: str) -> bool:
        begin.wait()
        try:
            scripts.save("b.sql", text, over)
        except RequestError as error:
            assert "has changed since it was opened" in error.message
            return False
        return True

    with ThreadPoolExecutor(savers) as pool:
        for turn in range(10):
            over = scripts.open("b.sql").version
            texts = [f"-- {turn}\n" + str(saver) * 500_000 for saver in range(savers)]
            done = list(pool.map(saved, texts, [over] * savers))
            assert done.count(True) == 1
            assert (folder / "b.sql").read_text("utf-8") == texts[done.index(True)]
    assert not list(folder.glob(".*"))


def test_a_file_keeps_its_mode(server: TestClient, folder: Path) -> None:
    for mode in (0o644, 0o600):
        (folder / "b.sql").chmod(mode)
        version = server.get(f"{SCRIPTS}/b.sql").json()["version"]
        assert save(server, "b.sql", f"SELECT {mode};", version).status_code == 200
        assert (folder / "b.sql").stat().st_mode & 0o777 == mode


def test_a_folder_is_no_script(server: TestClient, folder: Path) -> None:
    (folder / "f.sql").mkdir()
    before = psutil.Process().num_fds()
    for _ in range(20):
        assert "cannot be read" in server.get(f"{SCRIPTS}/f.sql").text
        assert save(server, "f.sql", "SELECT 1;").status_code == 400
    assert psutil.Process().num_fds() <= before
    assert "f.sql" not in server.get(SCRIPTS).json()["scripts"]


def _json(body: object) -> bytes:
    return json.dumps(body).encode()


def test_saving_needs_a_role(engine: WatchedEngine, folder: Path, tmp_path: Path) -> None:
    users = tmp_path / "users"
    for role in (Role.READ_ONLY, Role.DEVELOPER):
        add_user(users, role.value, role, "secret")
    with client(engine, ServerConfig(scripts=folder, users_file=users)) as server:
        for role in (Role.READ_ONLY, Role.DEVELOPER):
            named = base64.b64encode(f"{role.value}:secret".encode()).decode()
            server.headers["Authorization"] = f"Basic {named}"
            may = role is Role.DEVELOPER
            assert server.get(SCRIPTS).json()["saves"] is may
            assert server.get(f"{SCRIPTS}/b.sql").status_code == 200
            assert save(server, "d.sql", "SELECT 1;").status_code == (200 if may else 403)
        del server.headers["Authorization"]
        assert server.get(SCRIPTS).status_code == 401
