"""`streamsql server` in a process of its own, to be asked over HTTP and killed at any moment."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
from awaiting import await_until
from ports import free_port
from soak.killing import kill_tree

from streamsql.data_folder import DataDir
from streamsql.kafka.broker import broker_status

START_SECONDS = 240.0
ANSWER_SECONDS = 60.0
HEADERS = {"content-type": "application/json"}


class ServerProcess:
    """One server; `start` may be called again after `kill`, and finds it at the same address."""

    def __init__(self, folder: Path, *options: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        root = Path(__file__).parents[2]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "streamsql.cli.main", "server"),
                    *("--data", str(self._folder / "data")),
                    *("--listen", f"127.0.0.1:{self.port}"),
                    *self._options,
                ],
                cwd=root,
                env={**os.environ, "PYTHONPATH": str(root)},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> Path:
        return self._folder / "server.log"

    def await_ready(self) -> None:
        await_until(self._is_ready, f"{self.url} to be ready", START_SECONDS, every=0.1)

    def _is_ready(self) -> bool:
        assert self._process is not None
        code = self._process.poll()
        assert code is None, f"the server ended with {code}: {self.log.read_text()[-2000:]}"
        try:
            return httpx2.get(f"{self.url}/chc/ready", timeout=5).status_code == 200
        except httpx2.TransportError:
            return False

    def kill(self) -> None:
        """SIGKILL to the process and all it has started."""
        assert self._process is not None
        kill_tree(self._process)

    def stop(self) -> int:
        """End it as an operator would; its exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    # -- what it is asked ------------------------------------------------------------------------

    def ksql(self, sql: str, timeout: float = ANSWER_SECONDS) -> httpx2.Response:
        """Statements, whatever comes of them; raises httpx2.TransportError."""
        body = json.dumps({"ksql": sql})
        return httpx2.post(f"{self.url}/ksql", content=body, headers=HEADERS, timeout=timeout)

    def run(self, sql: str) -> list[dict[str, Any]]:
        """Statements that are to succeed; their entities."""
        answer = self.ksql(sql)
        assert answer.status_code == 200, f"{sql}: {answer.text}"
        found: list[dict[str, Any]] = answer.json()
        return found

    def bootstrap(self) -> str:
        """Of its own broker."""
        found = broker_status(DataDir.at(self._folder / "data")).bootstrap
        assert found is not None
        return found

    def pull(self, sql: str, properties: Mapping[str, str] | None = None) -> list[list[Any]]:
        """The rows of a pull query."""
        answer = httpx2.post(
            f"{self.url}/query-stream",
            content=json.dumps({"sql": sql, "properties": dict(properties or {})}),
            headers={**HEADERS, "accept": "application/json"},
            timeout=ANSWER_SECONDS,
        )
        assert answer.status_code == 200, f"{sql}: {answer.text}"
        _, *rows = answer.json()
        return [row for row in rows if isinstance(row, list)]

    def queries(self) -> list[dict[str, Any]]:
        """All persistent queries with how they are."""
        status = httpx2.get(f"{self.url}/streamsql/status", timeout=ANSWER_SECONDS).json()
        return [query for query in status["queries"] if query["kind"] == "PERSISTENT"]

    def states(self) -> dict[str, str]:
        """Of all persistent queries, by their ids; fails where two have the same."""
        queries = [(query["id"], query["state"]) for query in self.queries()]
        assert len(dict(queries)) == len(queries), f"a query runs twice: {queries}"
        return dict(queries)

    def sources(self) -> set[str]:
        """The names of all streams and tables."""
        streams, tables = self.run("SHOW STREAMS; SHOW TABLES;")
        return {source["name"] for source in (*streams["streams"], *tables["tables"])}
