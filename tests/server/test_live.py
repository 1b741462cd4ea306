"""Queries and inserts over HTTP, on a real engine."""

from __future__ import annotations

import json
import socket
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from awaiting import await_until
from server.live import MAX_PUSH_QUERIES, SECONDS, LiveServer
from websockets.sync.client import connect

from streamsql.client.remote import RemoteEngine
from streamsql.client.transport import Address
from streamsql.errors import CatalogError, UnsupportedError
from streamsql.parser import script
from streamsql.parser.tokens.lexer import lex
from streamsql.results import Message
from streamsql.run_script import NamedText
from streamsql.server.http.media import DELIMITED, JSON, PROTOBUF

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

ALL = "SELECT sensor, n, price, seen FROM readings EMIT CHANGES LIMIT 3;"
VALUES = [["a", 1, 1.5, "2024-02-29T12:00:00.000"], ["b", 2, 2.5, None], ["a", 3, None, None]]


def test_a_push_query_in_all_forms(server: LiveServer) -> None:
    header, *rows, end = server.query(ALL).json()
    schema = "`SENSOR` STRING, `N` INTEGER, `PRICE` DECIMAL(6, 2), `SEEN` TIMESTAMP"
    assert header["header"]["schema"] == schema
    assert [row["row"]["columns"] for row in rows] == VALUES
    assert end == {"finalMessage": "Limit Reached"}
    about, *lines = map(json.loads, server.query(ALL, DELIMITED).text.splitlines())
    assert about["columnNames"] == ["SENSOR", "N", "PRICE", "SEEN"]
    assert about["columnTypes"] == ["STRING", "INTEGER", "DECIMAL(6, 2)", "TIMESTAMP"]
    assert lines == VALUES
    answer = server.client.post("/query-stream", json={"sql": ALL}, headers={"Accept": JSON})
    assert answer.json()[1:] == VALUES
    header, *rows, end = server.query(ALL, PROTOBUF).json()
    assert "message ConnectDefault1" in header["header"]["protoSchema"]
    assert len({row["row"]["protobufBytes"] for row in rows}) == 3


@pytest.mark.parametrize("http2", [False, True])
def test_a_push_query_ends_when_its_client_goes(server: LiveServer, http2: bool) -> None:
    with server.stream("SELECT n FROM readings EMIT CHANGES;", http2=http2) as lines:
        assert next(lines)["columnNames"] == ["N"]
        assert [next(lines) for _ in range(3)] == [[1], [2], [3]]
        assert server.push_queries() == 1
    server.await_no_push_query()


def test_a_push_query_ends_when_it_is_closed(server: LiveServer) -> None:
    with server.stream("SELECT n FROM readings EMIT CHANGES;", http2=True) as lines:
        query_id = next(lines)["queryId"]
        next(lines)
        assert server.client.post("/close-query", json={"queryId": query_id}).json() == {}
        assert len(list(lines)) <= 2  # What was under way, and the end.
    server.await_no_push_query()
    again = server.client.post("/close-query", json={"queryId": query_id})
    assert again.status_code == 400


def test_push_queries_are_bounded(server: LiveServer) -> None:
    places = range(MAX_PUSH_QUERIES)
    clients = [httpx2.Client(base_url=server.url, timeout=SECONDS) for _ in places]
    request = {"ksql": "PRINT server_readings;"}
    streams = [client.stream("POST", "/query", json=request) for client in clients]
    answers = [stream.__enter__() for stream in streams]
    try:
        assert {answer.status_code for answer in answers} == {200}
        refused = server.query("PRINT server_readings;")
        assert (refused.status_code, refused.json()["error_code"]) == (400, 40003)
    finally:
        for stream, client in zip(streams, clients, strict=True):
            stream.__exit__(None, None, None)
            client.close()
    more = "PRINT server_readings FROM BEGINNING LIMIT 1;"
    await_until(lambda: server.query(more).status_code == 200, "there is room again", SECONDS)


def test_pull_queries(server: LiveServer) -> None:
    def counted() -> bool:
        return len(server.query("SELECT * FROM counts WHERE sensor = 'a';").json()) == 2

    await_until(counted, "the store has the row", SECONDS, every=0.3)
    header, row = server.query("SELECT * FROM counts WHERE sensor = 'a';").json()
    assert header["header"]["schema"] == "`SENSOR` STRING KEY, `N` BIGINT"
    assert row == {"row": {"columns": ["a", 2]}}
    (header,) = server.query("SELECT * FROM counts WHERE sensor = 'none';").json()
    rows = server.query("SELECT n FROM readings;").json()
    assert [r["row"]["columns"] for r in rows if "row" in r] == [[1], [2], [3]]
    assert server.query("SELECT nothing FROM counts;").status_code == 400


def test_a_pull_query_is_parsed_once_and_a_known_lookup_not_at_all(
    server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[tuple[Any, ...]] = []
    run = script.run

    def counted(tokens: Any, start: str, *more: Any) -> Any:
        if start == "statement":
            parsed.append(tuple(tokens))
        return run(tokens, start, *more)

    monkeypatch.setattr(script, "run", counted)

    def statements(sql: str) -> int:
        """How often this text was parsed: the engine's other threads parse theirs meanwhile."""
        parsed.clear()
        answer = server.query(sql)
        assert answer.status_code == 200, answer.text
        own = tuple(lex(sql.removesuffix(";")))
        return parsed.count(own)

    assert statements("SELECT n FROM counts WHERE n > 1;") == 1
    assert statements("SELECT n + 1 AS m FROM counts WHERE sensor = 'a';") == 1
    assert statements("SELECT n + 1 AS m FROM counts WHERE sensor = 'b';") == 0


def test_rows_are_acknowledged_as_they_come(server: LiveServer) -> None:
    """The client sends a row only when it has heard of the one before."""
    topic = "CREATE STREAM slow (v INT) WITH (KAFKA_TOPIC='server_slow', VALUE_FORMAT='JSON', "
    server.ksql(topic + "PARTITIONS=1);")
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=SECONDS) as connection:
        head = f"POST /inserts-stream HTTP/1.1\r\nHost: {host}\r\n"
        head += "Transfer-Encoding: chunked\r\n\r\n"
        connection.sendall(head.encode() + chunk('{"target": "slow"}\n'))
        answer = connection.makefile("rb")
        assert answer.readline().split()[1] == b"200"
        for number in range(3):
            connection.sendall(chunk(f'{{"v": {number}}}\n'))
            line = next(line for line in answer if line.startswith(b"{"))
            assert json.loads(line) == {"status": "ok", "seq": number}
        connection.sendall(b"0\r\n\r\n")
        answer.close()


def chunk(text: str) -> bytes:
    return f"{len(text):x}\r\n{text}\r\n".encode()


def test_rows_that_are_wrong_are_told_one_by_one(server: LiveServer) -> None:
    bad = server.insert("readings", {"sensor": 1}, {"nothing": 1}, [1], {"ROWPARTITION": 1})
    assert [line["status"] for line in bad] == ["error"] * 4
    assert [line["seq"] for line in bad] == [0, 1, 2, 3]
    assert "`NOTHING` does not exist" in bad[1]["message"]
    unknown = server.client.post("/inserts-stream", content='{"target": "nowhere"}\n{}')
    assert unknown.status_code == 400
    assert "unknown stream/table" in unknown.json()["message"]


def test_a_websocket(server: LiveServer) -> None:
    request = quote(json.dumps({"ksql": "SELECT sensor, n FROM readings EMIT CHANGES LIMIT 3;"}))
    url = server.url.replace("http", "ws", 1) + f"/ws/query?request={request}"
    with connect(url) as frames:
        columns, *rows = map(json.loads, frames)
    assert [column["name"] for column in columns] == ["SENSOR", "N"]
    assert [row["row"]["columns"] for row in rows] == [["a", 1], ["b", 2], ["a", 3]]
    with connect(server.url.replace("http", "ws", 1) + "/ws/query?request=x") as frames:
        assert json.loads(frames.recv())["error"]["error_code"] == 40000


def test_variables_and_properties_are_those_of_a_request(server: LiveServer) -> None:
    sql = "SELECT n FROM ${source} EMIT CHANGES LIMIT 1;"
    found = server.query(sql, sessionVariables={"source": "readings"})
    assert found.json()[1] == {"row": {"columns": [1]}}
    assert server.query(sql).status_code == 400
    wrong = server.query(ALL, streamsProperties={"auto.offset.reset": "sometimes"})
    assert wrong.json()["error_code"] == 40000


def test_files_are_planned_and_applied(server: LiveServer) -> None:
    source = (
        "CREATE STREAM applied (k INT KEY, v INT)"
        " WITH (kafka_topic='applied', value_format='json', partitions=1);"
    )
    large = "CREATE STREAM applied_large AS SELECT k, v FROM applied WHERE v > {};"
    body = {"files": [{"name": "f.sql", "sql": source + large.format("${least}")}]}
    body |= {"sessionVariables": {"least": "5"}}
    found = server.client.post("/streamsql/plan", json=body).json()
    made = {c["name"]: c["action"] for c in found["changes"] if c["name"].startswith("APPLIED")}
    assert (made, found["exit_code"]) == ({"APPLIED": "created", "APPLIED_LARGE": "created"}, 2)
    with RemoteEngine(Address.of(server.url)) as remote:

        def applied(sql: str) -> list[str]:
            results = remote.changes.apply([NamedText("f.sql", source + sql)], {"least": "5"})
            return [result.text for result in results if isinstance(result, Message)]

        made_now = ["Stream APPLIED created", "Stream APPLIED_LARGE created"]
        assert applied(large.format("${least}")) == made_now
        changed = ["Stream APPLIED_LARGE changed (class 2, continues from its checkpoint)"]
        assert applied(large.format(7)) == changed
        with pytest.raises(UnsupportedError, match="cannot apply the change of STREAM"):
            applied(large.format(7).replace(";", " PARTITION BY v;"))
        (item,) = remote.changes.plan_undo().changes
        assert (item.name, item.parts[0].text) == ("APPLIED_LARGE", "V > 7, now V > 5")
        assert [r.text for r in remote.changes.undo() if isinstance(r, Message)] == changed
        with pytest.raises(UnsupportedError, match="no query needs a rebuild"):
            remote.changes.stage([NamedText("f.sql", source + large.format(7))])
        for act in (remote.changes.promote, remote.changes.discard):
            with pytest.raises(CatalogError, match="no change is staged"):
                act()
    part = {"files": [{"name": "g.sql", "sql": large.format(7)}], "partial": True}
    assert server.client.post("/streamsql/plan", json=part).json()["exit_code"] == 2
    refused = server.client.post("/streamsql/plan", json={**part, "prune": True})
    assert (refused.status_code, "cannot be combined with" in refused.text) == (400, True)
    refused = server.client.post("/streamsql/apply", json={"files": [{"sql": "x"}]})
    assert (refused.status_code, refused.json()["message"]) == (
        400,
        'a file requires a "name" and a text "sql"',
    )
