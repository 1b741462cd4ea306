"""CREATE SINK: what other programs read in the folder is what was inserted, each row once."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from awaiting import await_until
from engine.live import PATIENCE, Live

from streamsql.engine import QueryState
from streamsql.errors import CatalogError
from streamsql.results import Rows

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

TEXTS = [' a, "b"', "line\nline", "", None, "\\ü'", "\r"]
STREAM = """
CREATE STREAM $s (id INT KEY, big BIGINT, text STRING, flag BOOLEAN, share DOUBLE,
    price DECIMAL(8, 2), at TIMESTAMP, day DATE, hour TIME, raw BYTES{more})
  WITH (KAFKA_TOPIC='$s', VALUE_FORMAT='JSON', PARTITIONS=2);
"""
NESTED = ", tags ARRAY<STRING>, counts MAP<STRING, INT>, place STRUCT<city STRING, open TIME>"
ROW = """
INSERT INTO $s (id, big, text, flag, share, price, at, day, hour, raw{names}) VALUES
  (1, 9007199254740993, '{text}', TRUE, 0.1, 123456.78, '2024-02-29T23:59:59.123', '1066-10-14',
   '12:34:56', TO_BYTES('c3bf', 'hex'){values});
INSERT INTO $s (id) VALUES (2);
"""
NESTED_VALUES = """, ARRAY['x', NULL], MAP('a' := 1), STRUCT(city := 'York', open := '07:30')"""
AT = datetime(2024, 2, 29, 23, 59, 59, 123000, UTC)


def sink(path: Path, *more: str) -> str:
    """CREATE SINK with a short interval."""
    given = (f"CONNECTION = 'FILE', PATH = '{path}', COMMIT_INTERVAL = '1 SECOND'", *more)
    return f"CREATE SINK $f FROM $s WITH ({', '.join(given)});"


def files(path: Path) -> list[Path]:
    """What a reader may take for a file of rows."""
    # os.walk passes over folders that are gone by the time that it looks into them.
    found = [Path(folder, name) for folder, _, names in os.walk(path) for name in names]
    return [p for p in found if p.suffix != ".staged"]


def await_rows(path: Path, format: str, count: int) -> None:
    """Waits for that many rows; with more it fails."""

    def rows() -> int:
        return len(read(path, format)) if files(path) else 0

    await_until(lambda: rows() >= count, f"{count} rows in {path}", PATIENCE, every=0.2)
    assert rows() == count


def read(path: Path, format: str) -> list[dict[str, Any]]:
    """All rows, as DuckDB reads them."""
    ending = format.lower()
    more = ", allow_quoted_nulls = false" if format == "CSV" else ""
    files = f"read_{ending}('{path}/**/*.{ending}', union_by_name = true{more})"
    found: list[dict[str, Any]] = duckdb.sql(f"SELECT * FROM {files}").to_arrow_table().to_pylist()
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A name that needs to be taken as it is."""
    return tmp_path / "out put%3A"


def test_parquet_has_every_type(live: Live, folder: Path) -> None:
    live.run(STREAM.format(more=NESTED) + sink(folder))
    names = ", tags, counts, place"
    live.run(ROW.format(text="a", names=names, values=NESTED_VALUES))
    await_rows(folder, "PARQUET", 2)

    found = {row["ID"]: row for row in read(folder, "PARQUET")}
    assert found[1] == {
        "ID": 1,
        "BIG": 9007199254740993,
        "TEXT": "a",
        "FLAG": True,
        "SHARE": 0.1,
        "PRICE": Decimal("123456.78"),
        "AT": AT,
        "DAY": date(1066, 10, 14),
        "HOUR": "12:34:56.000",
        "RAW": b"\xc3\xbf",
        "TAGS": ["x", None],
        "COUNTS": [("a", 1)],
        "PLACE": {"CITY": "York", "OPEN": "07:30:00.000"},
    }
    assert set(found[2].values()) == {2, None}
    rows = pq.read_table(folder).to_pylist()
    assert sorted(rows, key=lambda row: row["ID"]) == [found[1], found[2]]


def test_json_has_every_type(live: Live, folder: Path) -> None:
    live.run(STREAM.format(more=NESTED) + sink(folder, "FORMAT = 'JSON'"))
    names = ", tags, counts, place"
    live.run(ROW.format(text="a", names=names, values=NESTED_VALUES))
    await_rows(folder, "JSON", 2)
    lines = [line for file in files(folder) for line in file.read_text("utf-8").splitlines()]
    found = {row["ID"]: row for row in map(json.loads, lines)}
    assert {row["ID"]: row["TAGS"] for row in read(folder, "JSON")} == {1: ["x", None], 2: None}
    assert found[1] == {
        "ID": 1,
        "BIG": 9007199254740993,
        "TEXT": "a",
        "FLAG": True,
        "SHARE": 0.1,
        "PRICE": 123456.78,
        "AT": "2024-02-29T23:59:59.123Z",
        "DAY": "1066-10-14",
        "HOUR": "12:34:56.000",
        "RAW": "w78=",
        "TAGS": ["x", None],
        "COUNTS": {"a": 1},
        "PLACE": {"CITY": "York", "OPEN": "07:30:00.000"},
    }
    assert set(found[2].values()) == {2, None}


def test_csv_is_read_as_it_was_written(live: Live, folder: Path) -> None:
    live.run(STREAM.format(more="") + sink(folder, "FORMAT = 'CSV'"))
    live.run(ROW.format(text="a", names="", values=""))
    numbered = enumerate(TEXTS, start=10)
    literals = ((n, "NULL" if t is None else "'" + t.replace("'", "''") + "'") for n, t in numbered)
    live.run("".join(f"INSERT INTO $s (id, text) VALUES ({n}, {t});" for n, t in literals))
    await_rows(folder, "CSV", 2 + len(TEXTS))

    found = {row["ID"]: row for row in read(folder, "CSV")}
    assert [found[n]["TEXT"] for n in range(10, 10 + len(TEXTS))] == TEXTS
    texts = []
    for file in files(folder):
        with file.open(encoding="utf-8", newline="") as text:
            texts += [row for row in csv.DictReader(text) if row["ID"] == "1"]
    assert list(texts[0].values())[1:] == [
        *("9007199254740993", "a", "true", "0.1", "123456.78", "2024-02-29T23:59:59.123Z"),
        *("1066-10-14", "12:34:56.000", "w78="),
    ]


def test_values_become_folders(live: Live, folder: Path) -> None:
    live.run(
        """CREATE STREAM $s (id INT KEY, a INT, b STRING)
        WITH (KAFKA_TOPIC='$s', VALUE_FORMAT='JSON', PARTITIONS=1);"""
        + sink(folder, "PARTITION_BY = 'b, a'")
    )
    values = [(1, 7, "'x/y=z'"), (2, 7, "'ü '"), (3, "NULL", "NULL"), (4, 8, "'plain'")]
    live.run("".join(f"INSERT INTO $s VALUES ({i}, {a}, {b});" for i, a, b in values))
    await_rows(folder, "PARQUET", 4)
    found = {file.parent.relative_to(folder).as_posix() for file in files(folder)}
    assert {"B=plain/A=8", "B=x%2Fy%3Dz/A=7"} < found
    assert "B=__HIVE_DEFAULT_PARTITION__/A=__HIVE_DEFAULT_PARTITION__" in found
    rows = duckdb.sql(
        f"SELECT ID, A, B FROM read_parquet('{folder}/**/*.parquet', hive_partitioning = true, "
        "hive_types = {'A': INT, 'B': VARCHAR}) ORDER BY ID"
    ).fetchall()
    assert rows == [(1, 7, "x/y=z"), (2, 7, "ü "), (3, None, None), (4, 8, "plain")]
    assert len(pq.read_table(folder)) == 4
    assert not [p for p in folder.iterdir() if p.name.startswith("_")]


SMALL = """CREATE STREAM $s (id INT) WITH (KAFKA_TOPIC='$s', VALUE_FORMAT='JSON', PARTITIONS=2);"""


def insert(live: Live, ids: Iterator[int] | range) -> None:
    live.run("".join(f"INSERT INTO $s (id) VALUES ({n});" for n in ids))


def ids(folder: Path) -> list[int]:
    return sorted(row["ID"] for row in read(folder, "PARQUET"))


def test_it_continues_after_a_pause_a_restart_and_a_replacement(live: Live, folder: Path) -> None:
    live.run(SMALL)
    insert(live, range(10))
    live.run(sink(folder))
    (query,) = (q for q in live.engine.queries() if q.sink == live.name("F"))
    await_rows(folder, "PARQUET", 10)
    assert (query.guarantee, query.mode) == ("exactly_once", "micro-batch")

    live.run(f"PAUSE {query.id};")
    insert(live, range(10, 20))
    live.restart()
    live.await_state(query.id, QueryState.PAUSED)
    assert ids(folder) == list(range(10))
    live.run(f"RESUME {query.id};")
    await_rows(folder, "PARQUET", 20)

    live.restart()
    insert(live, range(20, 30))
    await_rows(folder, "PARQUET", 30)
    other = folder.with_name("other")
    live.run(sink(other).replace("CREATE", "CREATE OR REPLACE"))
    insert(live, range(30, 40))
    await_rows(other, "PARQUET", 10)
    assert ids(other) == list(range(30, 40))
    assert ids(folder) == list(range(30))
    live.await_lag(query.id, 0)
    live.await_state(query.id, QueryState.RUNNING)


def test_it_is_described_and_dropped(live: Live, folder: Path) -> None:
    live.run(SMALL + sink(folder))
    insert(live, range(3))
    await_rows(folder, "PARQUET", 3)
    (listed,) = live.run("SHOW SINKS;")
    assert isinstance(listed, Rows)
    name, stream = live.name("F"), live.name("S")
    query_id = f"SINK_{name}_"
    (row,) = listed.rows
    assert row[:5] == (name, stream, "FILE", str(folder), "PARQUET")
    assert str(row[5]).startswith(query_id)
    columns, about = live.run("DESCRIBE SINK $f;")[:2]
    assert isinstance(columns, Rows) and list(columns.rows) == [("ID", "INTEGER")]
    assert str(folder) in str(about) and "RUNNING" in str(about)
    assert live.engine.query_metrics()[str(row[5])].records_out == 3

    with pytest.raises(CatalogError, match="read from this source"):
        live.run("DROP STREAM $s;")
    (done,) = live.texts("DROP SINK $f;")
    assert done == f"Sink `{name}` was dropped. What it has written is kept."
    assert [q for q in live.engine.queries() if q.sink == name] == []
    insert(live, range(3, 6))
    live.run(sink(folder.with_name("again")))
    await_rows(folder.with_name("again"), "PARQUET", 6)
    assert ids(folder) == [0, 1, 2]


def test_what_cannot_be_read_is_in_the_processing_log(live: Live, folder: Path) -> None:
    live.run(
        """CREATE STREAM $raw (v STRING)
          WITH (KAFKA_TOPIC='$s', VALUE_FORMAT='KAFKA', PARTITIONS=1);
        CREATE STREAM $s (id INT) WITH (KAFKA_TOPIC='$s', VALUE_FORMAT='JSON');"""
        + sink(folder)
    )
    live.run("""INSERT INTO $raw VALUES ('{"id": 1}'), ('{"id": '), ('{"id": 2}');""")
    await_rows(folder, "PARQUET", 2)
    assert ids(folder) == [1, 2]
    (query,) = (q for q in live.engine.queries() if q.sink == live.name("F"))
    await_until(lambda: live.engine.query_metrics()[query.id].errors == 1, "an entry", PATIENCE)
