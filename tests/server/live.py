"""What tests do with a running server: requests as any client would send them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
from awaiting import await_until

from streamsql.engine import Engine
from streamsql.server.http.media import KSQL_JSON

SECONDS = 120.0
MAX_PUSH_QUERIES = 3
PREPARE = """
CREATE STREAM readings (sensor STRING KEY, n INT, price DECIMAL(6, 2), seen TIMESTAMP)
  WITH (KAFKA_TOPIC='server_readings', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE counts AS SELECT sensor, COUNT(*) AS n FROM readings GROUP BY sensor;
"""
ROWS = [
    {"sensor": "a", "n": 1, "price": 1.5, "seen": "2024-02-29T12:00:00.000"},
    {"SENSOR": "b", "N": 2, "PRICE": "2.50"},
    {"sensor": "a", "n": 3},
]


class LiveServer:
    """`url` and the engine behind it; the client speaks HTTP/1.1."""

    def __init__(self, engine: Engine, url: str, token: str, scripts: Path) -> None:
        """`token`: that of its console; `scripts`: the folder whose files that opens and saves."""
        self.engine = engine
        self.url = url
        self.token = token
        self.scripts = scripts
        self.client = httpx2.Client(base_url=url, timeout=SECONDS)

    def prepare(self) -> None:
        """The stream READINGS with ROWS in it, the table COUNTS over it."""
        self.ksql(PREPARE)
        acknowledged = self.insert("readings", *ROWS)
        assert [line["status"] for line in acknowledged] == ["ok"] * len(ROWS)

    def ksql(self, sql: str) -> list[dict[str, Any]]:
        answer = self.client.post("/ksql", json={"ksql": sql})
        assert answer.status_code == 200, answer.text
        entities: list[dict[str, Any]] = answer.json()
        return entities

    def insert(self, target: str, *rows: Any) -> list[dict[str, Any]]:
        """The acknowledgements."""
        lines = [json.dumps({"target": target}), *map(json.dumps, rows)]
        answer = self.client.post("/inserts-stream", content="\n".join(lines))
        assert answer.status_code == 200, answer.text
        return [json.loads(line) for line in answer.text.splitlines()]

    def query(self, sql: str, accept: str = KSQL_JSON, **more: Any) -> httpx2.Response:
        headers = {"Accept": accept}
        return self.client.post("/query", json={"ksql": sql, **more}, headers=headers)

    @contextmanager
    def stream(self, sql: str, *, http2: bool = False) -> Iterator[Iterator[Any]]:
        """The JSON lines of a push query as they come; leaving the block is the client's going."""
        with (
            httpx2.Client(
                base_url=self.url, timeout=SECONDS, http1=not http2, http2=http2
            ) as client,
            client.stream("POST", "/query-stream", json={"sql": sql}) as answer,
        ):
            assert answer.http_version == ("HTTP/2" if http2 else "HTTP/1.1")
            yield map(json.loads, answer.iter_lines())

    def push_queries(self) -> int:
        return sum(query.kind == "PUSH" for query in self.engine.queries())

    def await_no_push_query(self) -> None:
        await_until(lambda: self.push_queries() == 0, "no push query runs", SECONDS)
