"""`streamsql.connect` on real Kafka and Spark: to a server, and with the engine in the process."""

from __future__ import annotations

import asyncio
import datetime as dt
import uuid
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import httpx2
import pytest
from awaiting import await_until

import streamsql
from streamsql.client.connection import Connection
from streamsql.engine import Engine
from streamsql.errors import TypeMismatchError

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

ROW_SECONDS = 120.0
ROWS: list[dict[str, Any]] = [
    {
        "k": "a",
        "flag": True,
        "small": -5,
        "big": -(2**63),
        "ratio": 0.1,
        "price": Decimal("12.5"),
        "words": "it's ${x}; é",
        "data": b"\x00\xff",
        "day": dt.date(2024, 2, 29),
        "hour": dt.time(1, 2, 3, 4000),
        "moment": dt.datetime(2024, 1, 1, 12, 0, 0, 5000),
        "items": [1, None, 3],
        "places": {"p": 1.5, "q": None},
        "part": {"F": 1, "g h": None},
    },
    {"k": "b", "price": Decimal("-0.01")},
]
COLUMNS = (
    "k STRING KEY, flag BOOLEAN, small INT, big BIGINT, ratio DOUBLE, price DECIMAL(10, 2), "
    "words STRING, data BYTES, day DATE, hour TIME, moment TIMESTAMP, items ARRAY<INT>, "
    "places MAP<STRING, DOUBLE>, part STRUCT<f INT, `g h` STRING>"
)


@pytest.fixture(scope="module")
def engine(server: str) -> Iterator[Connection]:
    with streamsql.connect(server, read_your_writes=True) as connection:
        yield connection


@pytest.fixture(params=["server", "embedded"])
def either(request: pytest.FixtureRequest, engine: Connection, live: Engine) -> Connection:
    """The engine over the network, and as it is in its own process."""
    return engine if request.param == "server" else Connection(live)


@pytest.fixture(scope="module")
def name(engine: Connection) -> str:
    """A stream with rows of all types, and a table over it."""
    name = f"typed_{uuid.uuid4().hex[:8]}"
    with_topic = f"WITH (KAFKA_TOPIC = '{name}', VALUE_FORMAT = 'JSON', PARTITIONS = 1)"
    made = engine.sql(
        f"CREATE STREAM {name} ({COLUMNS}) {with_topic};"
        f"CREATE TABLE {name}_counts AS SELECT k, COUNT(*) AS count FROM {name} GROUP BY k;"
    )
    assert made.messages[0] == "Stream created"
    assert made.query_id is not None and made.query_id.startswith("CTAS_")
    assert engine.insert(name, ROWS) == 2
    return name


def test_rows_go_in_and_come_out(either: Connection, name: str) -> None:
    result = either.sql(f"SELECT * FROM {name} EMIT CHANGES LIMIT 2;")
    assert result.is_push
    first, second = result.rows
    assert result.messages == ["Limit Reached"]
    for column, value in ROWS[0].items():
        assert first[column] == value, column
    assert second.k == "b" and second.price == Decimal("-0.01")
    assert all(second[c] is None for c in ROWS[0] if c not in ("k", "price"))


def test_a_table_is_asked_after_a_write(engine: Connection, name: str) -> None:
    engine.insert(name, [("c", *[None] * 13)])
    (row,) = engine.sql(f"SELECT * FROM {name}_counts WHERE k = 'c';")
    assert (row.K, row.count) == ("c", 1)
    table = engine.sql(f"SELECT count, k FROM {name}_counts;").arrow()
    assert [str(kind) for kind in table.schema.types] == ["int64", "string"]
    assert {"k": row["K"], "n": row["COUNT"]} == {"k": "c", "n": 1}
    assert {"COUNT": 1, "K": "c"} in table.to_pylist()


def test_a_push_query_in_an_event_loop(either: Connection, name: str) -> None:
    async def first(count: int) -> list[Any]:
        rows: list[Any] = []
        async for row in await either.sql_async(f"SELECT k FROM {name} EMIT CHANGES;"):
            rows.append(row.k)
            if len(rows) == count:
                break
        return rows

    found = asyncio.run(asyncio.wait_for(first(2), ROW_SECONDS))
    assert found == ["a", "b"]
    await_until(lambda: _push_queries(either) == [], "the query is gone", 30.0)


def _push_queries(engine: Connection) -> list[str]:
    return [query.id for query in engine.queries() if query.kind == "PUSH"]


def test_a_push_query_is_cancelled(either: Connection, name: str) -> None:
    with either.sql(f"SELECT k FROM {name} EMIT CHANGES;") as result:
        assert next(iter(result)).k == "a"
    await_until(lambda: _push_queries(either) == [], "the query is gone", 30.0)


def test_errors_are_those_of_the_shell(engine: Connection, name: str) -> None:
    with pytest.raises(streamsql.StreamSQLError, match="'NOPE' cannot be resolved") as raised:
        engine.sql(f"SELECT nope FROM {name} EMIT CHANGES;")
    span = raised.value.span
    assert span is not None and (span.line, span.column) == (1, 8)
    with pytest.raises(streamsql.StreamSQLError, match="NOTHING does not exist"):
        engine.insert("nothing", [{"a": 1}])


def test_a_row_that_is_refused_raises_what_it_is(either: Connection, name: str) -> None:
    rows = [{"k": "d"}, {"k": "e", "price": Decimal("1.234")}]
    with pytest.raises(TypeMismatchError, match="Can't coerce '1.234'") as raised:
        either.insert(name, rows)
    assert raised.value.detail is not None and "more digits" in raised.value.detail


def test_show_and_explain(engine: Connection, name: str) -> None:
    streams = {row["Stream Name"]: row for row in engine.sql("SHOW STREAMS;")}
    assert streams[name.upper()]["Kafka Topic"] == name
    assert "Scan" in engine.sql(f"EXPLAIN SELECT k FROM {name} EMIT CHANGES;").text


def test_records_are_printed(engine: Connection, name: str) -> None:
    lines = [row.LINE for row in engine.sql(f"PRINT {name} FROM BEGINNING LIMIT 1;")]
    assert lines[0] == "Key format: KAFKA_STRING" and '"SMALL":-5' in lines[2]


def test_a_script_of_the_server_is_not_read(server: str) -> None:
    answer = httpx2.post(f"{server}/streamsql/execute", json={"sql": "RUN SCRIPT '/etc/hosts';"})
    assert '"ConfigError"' in answer.text and "a file of the server" in answer.text


def test_cells_of_a_notebook(
    server: str,
    name: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # IPython warns where this names another environment than the one that runs.
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    shells = pytest.importorskip("IPython.core.interactiveshell")
    shell = shells.InteractiveShell()
    try:
        shell.run_line_magic("load_ext", "streamsql")
        shell.run_cell("%streamsql SHOW STREAMS;")
        assert "not connected" in capsys.readouterr().err
        shell.run_line_magic("streamsql", server)
        query = f"SELECT k FROM {name} EMIT CHANGES;"
        shown = shell.run_cell_magic("streamsql", "-n 2", query)
        assert [row.K for row in shown.rows] == ["a", "b"]
        assert "<td>a</td>" in shown._repr_html_()
        shell.run_cell_magic("streamsql", "-o streams", "SHOW STREAMS;")
        assert name.upper() in [row[0] for row in shell.user_ns["streams"]]
        assert shell.run_cell_magic("streamsql", "", "SELECT;") is None
        error = capsys.readouterr().err
        assert error.startswith("syntax error at line 1") and "Traceback" not in error
        shell.run_line_magic("streamsql", "close")
    finally:
        shell.history_manager.end_session()
