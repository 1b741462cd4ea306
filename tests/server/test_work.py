"""How many statements may run at a time, by whichever endpoint they come."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import httpx2
import pytest
from awaiting import await_until
from client.servers import WatchedEngine, running
from websockets.sync.client import connect

from streamsql.api.script import PreparedStatement, Script
from streamsql.errors import ExternalError
from streamsql.results import Result
from streamsql.server.settings.config import ServerConfig
from streamsql.session import Session
from streamsql.users import work
from streamsql.users.work import WorkThreads

SECONDS = 60.0
WAIT = 0.3
SLOW = "SHOW STREAMS;"


class Held(WatchedEngine):
    """Its statements wait until `go`; `running` are the threads that do."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.go = threading.Event()
        self.running = 0

    def _hold(self) -> None:
        self.running += 1
        self.go.wait(SECONDS)

    def execute(self, sql: str | Script, session: Session | None = None) -> Iterator[Result]:
        self._hold()
        return super().execute(sql, session)

    def each(
        self, sql: Script, session: Session | None = None
    ) -> Iterator[tuple[PreparedStatement, Iterator[Result]]]:
        self._hold()
        return super().each(sql, session)


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    monkeypatch.setattr(work, "WAIT_SECONDS", WAIT)
    engine = Held(tmp_path / "data")
    yield engine
    engine.go.set()
    engine.offline.close()


def _post(url: str, path: str) -> httpx2.Response:
    name = "ksql" if path == "/ksql" else "sql"
    return httpx2.post(f"{url}{path}", json={name: SLOW}, timeout=SECONDS)


@pytest.mark.parametrize("path", ["/streamsql/execute", "/ksql"])
def test_one_bound_for_all_endpoints(held: Held, path: str) -> None:
    with (
        running(held, ServerConfig(threads=2)) as url,
        ThreadPoolExecutor() as clients,
    ):
        first = [clients.submit(_post, url, each) for each in (path, "/streamsql/execute")]
        await_until(lambda: held.running == 2, "two are running", SECONDS)
        for refused in ("/streamsql/execute", "/ksql"):
            answer = clients.submit(_post, url, refused).result(20)
            assert answer.status_code == 503
            assert int(answer.headers["retry-after"]) > 0
            assert "2 statements are running" in answer.json()["message"]
        request = quote(json.dumps({"ksql": "SELECT * FROM numbers EMIT CHANGES;"}))
        with connect(f"{url.replace('http', 'ws')}/ws/query?request={request}") as socket:
            problem = json.loads(socket.recv(SECONDS))["error"]
        assert problem["error_code"] // 100 == 503
        assert httpx2.get(f"{url}/chc/live", timeout=5).status_code == 200
        assert held.running == 2
        held.go.set()
        assert [each.result(SECONDS).status_code for each in first] == [200, 200]
        assert _post(url, "/streamsql/execute").status_code == 200


def test_a_push_query_takes_no_place(held: Held) -> None:
    held.go.set()
    with running(held, ServerConfig(threads=1)) as url:
        body = {"sql": "SELECT * FROM numbers EMIT CHANGES;"}
        with httpx2.stream("POST", f"{url}/streamsql/execute", json=body, timeout=20) as stream:
            lines = stream.iter_lines()
            assert [next(lines)[:2] for _ in range(2)] == ['{"', "[1"]
            assert _post(url, "/ksql").status_code == 200
        await_until(lambda: held.numbers is not None and held.numbers.ended.is_set(), "its end", 20)
        assert _post(url, "/streamsql/execute").status_code == 200


def test_who_waits_comes_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "WAIT_SECONDS", WAIT)
    threads = WorkThreads(1)
    go = threading.Event()

    async def main() -> list[object]:
        first = asyncio.create_task(threads.run(lambda: go.wait(SECONDS)))
        await asyncio.sleep(0)
        second = asyncio.create_task(threads.run(lambda: "second", patient=True))
        with pytest.raises(ExternalError) as caught:
            await threads.run(lambda: "third")
        assert caught.value.retryable
        go.set()
        return await asyncio.gather(first, second)

    assert asyncio.run(main()) == [True, "second"]


def test_abandoned_work_counts_until_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "WAIT_SECONDS", WAIT)
    threads = WorkThreads(1)
    go, begun = threading.Event(), threading.Event()

    def hold() -> None:
        begun.set()
        go.wait(SECONDS)

    async def main() -> str:
        left = asyncio.create_task(threads.run(hold))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        left.cancel()
        await asyncio.gather(left, return_exceptions=True)
        with pytest.raises(ExternalError, match="1 statements are running"):
            await threads.run(lambda: "")
        waiting = asyncio.create_task(threads.run(lambda: ""))
        await asyncio.sleep(0)
        waiting.cancel()
        go.set()
        return await threads.run(lambda: "free", patient=True)

    assert asyncio.run(main()) == "free"


def test_a_thread_enters_again() -> None:
    threads = WorkThreads(1)
    entered: Future[bool] = Future()

    def enter() -> None:
        threads.enter_thread()
        entered.set_result(True)

    asyncio.run(threads.enter())
    thread = threading.Thread(target=enter)
    thread.start()
    threads.leave()
    assert entered.result(SECONDS)
    thread.join(SECONDS)
