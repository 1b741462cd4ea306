"""Epochs of views as clients see them: over HTTP, the Python client and PostgreSQL's protocol."""

from __future__ import annotations

import json
import re
import threading
import uuid
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from postgres.live import LiveListener
from postgres.stand_in import listening
from server.live import LiveServer
from websockets.sync.client import connect as websocket

from streamsql.client.connection import connect

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

STANDARD = {"streamsql.sql.semantics": "standard"}


@pytest.fixture(scope="module")
def live(server: LiveServer) -> Iterator[LiveListener]:
    with listening(server.engine) as port:
        yield LiveListener(server.engine, port)


@pytest.fixture
def name(live: LiveListener) -> Iterator[str]:
    """A table of payments, and the views NAME_sum of their total, NAME_of of each payer's, and the
    empty NAME_none."""
    name = f"paid_{uuid.uuid4().hex[:8]}"
    with live.connect() as writer:
        writer.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY, payer INT, amount INT)")
        for view, columns, groups in (
            ("sum", "SUM(amount) AS total", ""),
            ("of", "payer, SUM(amount) AS total", "GROUP BY payer"),
            ("none", "id", "WHERE amount < 0"),
        ):
            writer.execute(
                f"CREATE MATERIALIZED VIEW {name}_{view} AS SELECT {columns} FROM {name} {groups}"
            )
        writer.execute(f"INSERT INTO {name} VALUES (1, 1, 5), (2, 2, 7)")
        writer.execute("FLUSH")
        yield name
        for view in ("sum", "of", "none"):
            writer.execute(f"DROP MATERIALIZED VIEW {name}_{view}")
        writer.execute(f"DROP TABLE {name}")


def _both(name: str) -> str:
    return f"SELECT s.total, (SELECT SUM(o.total) FROM {name}_of o) AS parts FROM {name}_sum s"


def test_the_answer_names_its_epoch(server: LiveServer, live: LiveListener, name: str) -> None:
    queries = (f"SELECT payer, total FROM {name}_of WHERE payer = 1", _both(name))
    with live.connect() as writer, connect(server.url, properties=STANDARD) as python:
        for query in queries:
            for path in ("/query", "/query-stream", "/query"):
                given = {"ksql": f"{query};", "properties": STANDARD}
                answer = server.client.post(path, json=given)
                assert answer.status_code == 200, answer.text
                epoch = answer.headers["streamsql-epoch"]
                writer.execute(f"UPDATE {name} SET amount = amount + 1")
                writer.execute("FLUSH")
                assert writer.execute(query).fetchall() != []
                properties = {**STANDARD, "streamsql.view.epoch": epoch}
                again = server.client.post(path, json={**given, "properties": properties})
                assert again.headers["streamsql-epoch"] == epoch
                assert _rows(again.text) == _rows(answer.text)
                newer = server.client.post(path, json=given)
                assert int(newer.headers["streamsql-epoch"]) > int(epoch)
                as_of = server.client.post(
                    path, json={**given, "ksql": f"{query} AS OF EPOCH {epoch};"}
                )
                assert _rows(as_of.text) == _rows(answer.text)
            found = python.sql(f"{query};")
            writer.execute(f"UPDATE {name} SET amount = amount + 1")
            writer.execute("FLUSH")
            assert found.epoch is not None
            assert python.sql(f"{query} AS OF EPOCH {found.epoch};").rows == found.rows
            newest = python.sql(f"{query};")
            assert newest.rows != found.rows
            assert newest.epoch is not None and newest.epoch > found.epoch
        of_none = server.query(f"SELECT * FROM {name} WHERE id = 1;")
        assert "streamsql-epoch" not in of_none.headers


def _rows(text: str) -> list[str]:
    return [line for line in text.splitlines() if "queryId" not in line]


def test_a_short_lookup_names_its_epoch(server: LiveServer, name: str) -> None:
    """Of the shape that takes no thread, and is not planned again."""
    query = f"SELECT payer, total FROM {name}_of WHERE payer = 2;"
    epochs = [int(server.query(query).headers["streamsql-epoch"]) for _ in range(3)]
    assert epochs == sorted(epochs)


def test_as_of_over_both_protocols(server: LiveServer, live: LiveListener, name: str) -> None:
    query = _both(name)
    with live.connect() as client:
        before = client.execute(query).fetchall()
        assert before == [(12, 12)]
        (time,) = client.execute("SELECT NOW()").fetchone() or ()
        client.execute(f"UPDATE {name} SET amount = amount + 1")
        client.execute("FLUSH")
        assert client.execute(query).fetchall() == [(14, 14)]
        as_of = f"{query} AS OF TIMESTAMP %s"
        assert client.execute(as_of, [time]).fetchall() == before
        assert client.execute(f"{query} AS OF TIMESTAMP '{time.isoformat()}'").fetchall() == before
        answer = server.query(f"{query} AS OF TIMESTAMP '{time.isoformat()}';", properties=STANDARD)
        assert '{"columns":[12,12]}' in answer.text
        epoch = answer.headers["streamsql-epoch"]
        assert client.execute(f"{query} AS OF EPOCH {epoch}").fetchall() == before
        with client.transaction():
            client.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            assert client.execute(f"{query} AS OF EPOCH {epoch}").fetchall() == before
        with pytest.raises(psycopg.Error, match="not kept as of epoch 1") as gone:
            client.execute(f"{query} AS OF EPOCH 1")
        assert "Kept are epochs from" in str(gone.value.diag.message_hint)
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="is none"):
            client.execute(f"SELECT * FROM {name} AS OF EPOCH {epoch}")
    refused = server.query(f"SELECT * FROM {name} AS OF EPOCH {epoch};")
    assert refused.status_code == 400 and "is none" in refused.text


@pytest.mark.slow
def test_what_was_flushed_is_read(live: LiveListener, name: str) -> None:
    """By each SELECT, over one view or more, and by each transaction. A view that has no news of
    the epoch may be behind."""
    beside = f"SELECT s.total, (SELECT COUNT(*) FROM {name}_none) AS n FROM {name}_sum s"
    with live.connect() as client:
        for n in range(1, 31):
            client.execute(f"UPDATE {name} SET amount = {n}")
            client.execute("FLUSH")
            if n % 3 == 0:
                client.execute("BEGIN READ ONLY")
            assert client.execute(beside).fetchall() == [(2 * n, 0)]
            assert client.execute(_both(name)).fetchall() == [(2 * n, 2 * n)]
            assert client.execute(f"SELECT total FROM {name}_of").fetchall() == [(n,), (n,)]
            if n % 3 == 0:
                client.execute("COMMIT")


PROGRESS = {"streamsql.view.progress": "true"}
Epochs = list[tuple[int, list[tuple[int, int]]]]
"""The numbers of epochs, and their rows."""


@pytest.fixture
def paying(live: LiveListener, name: str) -> Iterator[str]:
    """The name, while all payments change together."""
    stopped = threading.Event()

    def pay() -> None:
        with live.connect() as writer:
            while not stopped.wait(0.05):
                writer.execute(f"UPDATE {name} SET amount = amount + 1")

    thread = threading.Thread(target=pay)
    thread.start()
    yield name
    stopped.set()
    thread.join()


def _check(epochs: Epochs) -> None:
    """Of whole epochs: the two payers have paid 5 and 7, and since then the same."""
    numbers = [number for number, _ in epochs]
    assert numbers == sorted(set(numbers))
    totals: dict[int, int] = {}
    for _, rows in epochs:
        totals.update(rows)
        assert totals[1] == totals[2] - 2
    assert len(totals) == 2 and sum(bool(rows) for _, rows in epochs) > 1


def _gathered(items: Iterable[Any]) -> Epochs:
    """Of rows and progress as JSON, the first five epochs."""
    epochs: Epochs = []
    rows: list[tuple[int, int]] = []
    for item in items:
        if isinstance(item, list):
            rows.append((item[0], item[1]))
        elif "row" in item:
            rows.append(tuple(item["row"]["columns"]))
        elif "progress" in item:
            epochs.append((item["progress"]["epoch"], rows))
            rows = []
        if len(epochs) == 5:
            break
    return epochs


def _item(line: str) -> Any:
    text = line.rstrip(",")
    return json.loads(text[1:] if text.startswith("[{") else text)


def test_push_queries_over_http(server: LiveServer, paying: str) -> None:
    sql = f"SELECT payer, total FROM {paying}_of EMIT CHANGES;"
    for path, form in (
        ("/query-stream", "application/vnd.ksqlapi.delimited.v1"),
        ("/query-stream", "application/json"),
        ("/query", "application/vnd.ksql.v1+json"),
    ):
        given = {"ksql": sql, "properties": PROGRESS}
        headers = {"Accept": form}
        with server.client.stream("POST", path, json=given, headers=headers) as answer:
            _check(_gathered(map(_item, answer.iter_lines())))
    # Without the property there are rows only.
    with server.stream(sql) as lines:
        next(lines)
        assert all(isinstance(line, list) for line in islice(lines, 10))


def test_push_queries_over_a_websocket(server: LiveServer, paying: str) -> None:
    sql = f"SELECT payer, total FROM {paying}_of EMIT CHANGES;"
    request = quote(json.dumps({"ksql": sql, "properties": PROGRESS}))
    url = server.url.replace("http", "ws", 1) + f"/ws/query?request={request}"
    with websocket(url) as socket:
        json.loads(socket.recv())
        _check(_gathered(json.loads(frame) for frame in socket))


def test_push_queries_of_python(server: LiveServer, paying: str) -> None:
    sql = f"SELECT payer, total FROM {paying}_of EMIT CHANGES;"
    with connect(server.url, properties=PROGRESS) as python, python.sql(sql) as result:
        found = [(n, [tuple(row) for row in rows]) for n, rows in islice(result.epochs(), 5)]
        _check(found)
        assert result.epoch == found[-1][0]


def test_push_queries_over_postgresql(live: LiveListener, paying: str) -> None:
    """Progress is a notice behind the rows. A FETCH ends with an epoch."""
    epochs: Epochs = []
    rows: list[tuple[int, int]] = []
    told: list[int] = []

    def tell(notice: psycopg.errors.Diagnostic) -> None:
        found = re.fullmatch(r"epoch (\d+) of \d+-\d+-\d+ [\d:.]+", notice.message_primary or "")
        assert found is not None and notice.severity == "NOTICE"
        told.append(int(found[1]))

    with live.connect() as client, client.transaction():
        client.execute("SET streamsql.view.progress = 'true'")
        client.add_notice_handler(tell)
        client.execute(f"DECLARE c CURSOR FOR SELECT payer, total FROM {paying}_of EMIT CHANGES")
        while len(epochs) < 5:
            told.clear()
            rows += client.execute("FETCH ALL FROM c").fetchall()
            if told:
                epochs.append((told[-1], rows))
                rows = []
    _check(epochs)
    live.await_no_push_query()
