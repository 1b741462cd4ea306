"""Epochs of views as clients see them: over HTTP, the Python client and PostgreSQL's protocol."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import psycopg
import pytest
from postgres.live import LiveListener
from postgres.stand_in import listening
from server.live import LiveServer

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
