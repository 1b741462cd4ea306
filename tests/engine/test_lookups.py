"""Lookups in files: what a stream's rows find, also after the file has become another."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from awaiting import await_until
from engine.live import PATIENCE, Live

from streamsql.engine import QueryState
from streamsql.errors import UnsupportedError
from streamsql.kafka.client import KafkaClient
from streamsql.kafka.records import NewRecord
from streamsql.results import Answer, Rows

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

VISITS = """
CREATE STREAM $visits (who STRING KEY, city STRING, n INT)
  WITH (KAFKA_TOPIC='$visits', VALUE_FORMAT='JSON', PARTITIONS=2);
"""
INSERTS = """
INSERT INTO $visits VALUES ('ann', 'York', 1);
INSERT INTO $visits VALUES ('bob', 'Rome', 2);
INSERT INTO $visits VALUES ('cid', 'Atlantis', 3);
INSERT INTO $visits (who, n) VALUES ('dan', 4);
"""
CITIES = "name,people,country\nYork,141685,GB\nRome,2755309,IT\n"


def cities(path: Path, format: str = "CSV") -> str:
    """The lookup table over a file; a change of it is seen after a second."""
    return (
        "CREATE SOURCE TABLE $cities (name STRING PRIMARY KEY, country STRING, people BIGINT) WITH "
        f"(CONNECTION='FILE', PATH='{path}', FORMAT='{format}', CACHE_TTL='1 SECOND');"
    )


def replace(path: Path, text: str) -> None:
    """As anybody should: a reader sees the one or the other."""
    staged = path.with_suffix(".new")
    staged.write_text(text, "utf-8")
    os.replace(staged, path)


def query_id(live: Live, sql: str) -> str:
    return live.texts(sql)[-1].removeprefix("Created query with ID ")


@pytest.mark.variants
@pytest.mark.parametrize("mode", ["realtime", "microbatch"])
def test_inner_and_left_joins_and_other_conditions(live: Live, tmp_path: Path, mode: str) -> None:
    path = tmp_path / "cities %3A.csv"
    path.write_text(CITIES, "utf-8")
    live.run(f"SET 'processing.mode' = '{mode}';" + VISITS + cities(path))
    live.run("""
        CREATE STREAM $inner AS SELECT who, city, country, people, n FROM $visits v
          JOIN $cities c ON v.city = c.name;
        CREATE STREAM $outer AS SELECT who, c.name AS found, n FROM $visits v
          LEFT JOIN $cities c ON v.city = c.name AND c.people > 1000000;
        CREATE STREAM $twice AS SELECT who, a.country AS one, b.people AS two FROM $visits v
          JOIN $cities a ON v.city = a.name LEFT JOIN $cities b ON UCASE(a.name) = b.name;
        CREATE TABLE $counts AS SELECT country, COUNT(*) AS n FROM $visits v
          LEFT JOIN $cities c ON v.city = c.name GROUP BY country;
    """)
    live.run(INSERTS)
    assert set(live.rows("SELECT * FROM $inner EMIT CHANGES;", 2)) == {
        ("ann", "York", "GB", 141685, 1),
        ("bob", "Rome", "IT", 2755309, 2),
    }
    assert set(live.rows("SELECT * FROM $outer EMIT CHANGES;", 4)) == {
        ("ann", None, 1),
        ("bob", "Rome", 2),
        ("cid", None, 3),
        ("dan", None, 4),
    }
    assert set(live.rows("SELECT * FROM $twice EMIT CHANGES;", 2)) == {
        ("ann", "GB", None),
        ("bob", "IT", None),
    }
    live.table("counts", lambda rows: rows == {"GB": (1,), "IT": (1,)})
    (answer,) = live.run(
        "SELECT who, country FROM $visits v JOIN $cities c ON v.city = c.name WHERE n > 1;"
    )
    assert isinstance(answer, Answer)
    assert [row.values for row in answer.rows] == [("bob", "IT")]


def test_what_has_no_value_or_no_key_finds_nothing(live: Live, tmp_path: Path) -> None:
    path = tmp_path / "cities.csv"
    path.write_text(CITIES, "utf-8")
    live.run(VISITS + cities(path))
    live.run("""CREATE STREAM $o AS SELECT who, country FROM $visits v
        LEFT JOIN $cities c ON v.who = c.name;""")
    client = live.engine._state.services.kafka.get()
    assert isinstance(client, KafkaClient)
    records = [
        NewRecord(b"York", None, 1),
        NewRecord(None, b'{"N": 5}', 2),
        NewRecord(b"York", b'{"N": 6}', 3),
    ]
    client.produce(live.name("VISITS"), records)
    rows = live.rows("SELECT * FROM $o EMIT CHANGES;", 2)
    assert sorted(rows, key=str) == [("York", "GB"), (None, None)]


TYPED = """
CREATE SOURCE TABLE $typed (id BIGINT PRIMARY KEY, day DATE PRIMARY KEY, flag BOOLEAN, small INT,
    share DOUBLE, price DECIMAL(8, 2), at TIMESTAMP, hour TIME, raw BYTES, text STRING)
  WITH (CONNECTION='FILE', PATH='{path}', FORMAT='{format}');
"""
TYPED_STREAM = """
CREATE STREAM $s (k INT KEY, id INT, day DATE)
  WITH (KAFKA_TOPIC='$s', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM $o AS SELECT k, flag, small, share, CAST(price AS STRING) AS price,
    UNIX_TIMESTAMP(at) AS at, {hour} FROM_BYTES(raw, 'hex') AS raw, text
  FROM $s JOIN $typed t ON $s.id = t.id AND $s.day = t.day;
INSERT INTO $s VALUES (1, 7, '2024-02-29');
INSERT INTO $s VALUES (2, 8, '2024-02-29');
INSERT INTO $s VALUES (3, 8, '2024-03-01');
"""
HOUR = "CAST(hour AS STRING) AS hour,"
TEXTS = {
    "CSV": """ID,DAY,FLAG,SMALL,SHARE,PRICE,AT,HOUR,RAW,TEXT,MORE
7,2024-02-29,true,-3,0.5,123456.78,2024-02-29T23:59:59.123Z,12:34:56,w78=," a, ""b""\nline",x
8,2024-02-29,,,,,,,,"",x
""",
    "JSON": r"""{"Id": 7, "day": "2024-02-29", "flag": true, "small": -3, "share": 0.5, "price": \
123456.78, "at": "2024-02-29T23:59:59.123Z", "hour": "12:34:56", "raw": "w78=", "text": \
" a, \"b\"\nline"}

{"id": 8, "day": "2024-02-29", "text": ""}
""".replace("\\\n", ""),
}


@pytest.mark.variants
@pytest.mark.parametrize("format", ["CSV", "JSON", "PARQUET"])
def test_every_type_and_a_key_of_two_columns(live: Live, tmp_path: Path, format: str) -> None:
    """A folder that also contains something else."""
    folder = tmp_path / "rows"
    folder.mkdir()
    (folder / "_SUCCESS").write_text("", "utf-8")
    parquet = format == "PARQUET"
    if parquet:
        write_parquet(folder / "part-1.parquet")
    else:
        (folder / "part-1").write_text(TEXTS[format], "utf-8")
    declared = TYPED.format(path=folder, format=format)
    live.run(declared.replace(" hour TIME,", "") if parquet else declared)
    live.run(TYPED_STREAM.format(hour="" if parquet else HOUR))
    hours = [] if parquet else ["12:34:56"]
    at = 1709251199123
    found = live.rows("SELECT * FROM $o EMIT CHANGES;", 2)
    first = (1, True, -3, 0.5, "123456.78", at, *hours, "C3BF", ' a, "b"\nline')
    second = (2, None, None, None, None, None, *(None for _ in hours), None, "")
    assert found == [first, second]


def write_parquet(path: Path) -> None:
    """As PyArrow writes it: with a column that is not declared, and an INT where a BIGINT is."""
    rows = pa.Table.from_pydict(
        {
            "text": [' a, "b"\nline', ""],
            "id": pa.array([7, 8], pa.int32()),
            "day": pa.array([19782, 19782], pa.date32()),
            "flag": [True, None],
            "small": pa.array([-3, None], pa.int32()),
            "share": [0.5, None],
            "price": pa.array(["123456.78", None]).cast(pa.decimal128(8, 2)),
            "at": pa.array([1709251199123, None], pa.timestamp("ms", "UTC")),
            "raw": [b"\xc3\xbf", None],
            "more": ["x", "x"],
        }
    )
    pyarrow.parquet.write_table(rows, path)


def test_a_file_that_changes_and_a_restart(live: Live, tmp_path: Path) -> None:
    path = tmp_path / "cities.csv"
    path.write_text(CITIES, "utf-8")
    live.run(VISITS + cities(path))
    query = query_id(
        live,
        """CREATE STREAM $o AS SELECT who, country, n FROM $visits v
           LEFT JOIN $cities c ON v.city = c.name;""",
    )
    stream = live.stream("SELECT * FROM $o EMIT CHANGES;")
    number = 0

    def found() -> str | None:
        nonlocal number
        number += 1
        live.run(f"INSERT INTO $visits VALUES ('eve', 'Oslo', {number});")
        (row,) = live.take(stream, 1)
        assert row.values[2] == number
        country: str | None = row.values[1]
        return country

    assert found() is None
    live.await_state(query, QueryState.RUNNING)
    replace(path, CITIES + "Oslo,709037,NO\n")
    await_until(lambda: found() == "NO", "the new file to be read", PATIENCE, every=0.2)
    assert found() == "NO"
    replace(path, CITIES)
    await_until(lambda: found() is None, "the row to be gone", PATIENCE, every=0.2)
    stream.cancel()

    replace(path, CITIES + "Oslo,709037,SE\n")
    live.restart()
    live.await_state(query, QueryState.RUNNING)
    live.run(f"INSERT INTO $visits VALUES ('eve', 'Oslo', {number + 1});")
    rows = live.rows("SELECT n, country FROM $o EMIT CHANGES;", number + 1)
    assert sorted(rows)[-1] == (number + 1, "SE")
    assert [row[0] for row in sorted(rows)] == list(range(1, number + 2))


def test_each_row_once_with_exactly_once(live: Live, tmp_path: Path) -> None:
    path = tmp_path / "cities.csv"
    path.write_text(CITIES, "utf-8")
    live.run("SET 'processing.guarantee' = 'exactly_once';" + VISITS + cities(path))
    query = query_id(
        live,
        """CREATE STREAM $o AS SELECT who, country, n FROM $visits v
           LEFT JOIN $cities c ON v.city = c.name;""",
    )
    live.run(INSERTS)
    live.rows("SELECT * FROM $o EMIT CHANGES;", 4)
    live.await_state(query, QueryState.RUNNING)
    live.run("INSERT INTO $visits VALUES ('eve', 'Rome', 5);")
    live.restart()
    live.await_state(query, QueryState.RUNNING)
    live.run("INSERT INTO $visits VALUES ('fay', 'York', 6);")
    live.rows("SELECT * FROM $o WHERE n = 6 EMIT CHANGES;", 1)
    (answer,) = live.run("SELECT n, country FROM $o;")
    assert isinstance(answer, Answer)
    found = sorted((row.values for row in answer.rows), key=lambda row: row[0])
    assert found == [(1, "GB"), (2, "IT"), (3, None), (4, None), (5, "IT"), (6, "GB")]


@pytest.mark.slow
def test_without_its_file_a_query_waits_and_says_so(live: Live, tmp_path: Path) -> None:
    path = tmp_path / "cities.csv"
    live.run(VISITS + cities(path))
    query = query_id(
        live,
        """CREATE STREAM $o AS SELECT who, country, n FROM $visits v
           JOIN $cities c ON v.city = c.name;""",
    )
    live.run(INSERTS)

    def says(text: str) -> None:
        def waits() -> bool:
            info = live.query(query)
            return info.state is QueryState.WAITING and text in info.reason

        await_until(waits, f"{query} to wait: {text}", PATIENCE)

    says(str(path))
    assert "what is looked up is out of reach: " in live.query(query).reason
    replace(path, CITIES + "Oslo,many,NO\n")
    says("line 4, PEOPLE: expected BIGINT, found text 'many'")
    replace(path, CITIES)
    rows = live.rows("SELECT who, country, n FROM $o EMIT CHANGES;", 2)
    assert set(rows) == {("ann", "GB", 1), ("bob", "IT", 2)}
    live.await_state(query, QueryState.RUNNING)


def test_what_is_shown(live: Live, tmp_path: Path) -> None:
    path = tmp_path / "cities.csv"
    path.write_text(CITIES, "utf-8")
    live.run(VISITS + cities(path))
    query = query_id(
        live,
        "CREATE STREAM $o AS SELECT who, country FROM $visits v JOIN $cities c ON v.city = c.name;",
    )
    (shown,) = live.run("SHOW TABLES;")
    assert isinstance(shown, Rows)
    name = live.name("CITIES")
    assert (name, "", "NONE", "CSV", False) in [tuple(row) for row in shown.rows]
    described = "\n".join(live.texts("DESCRIBE $cities EXTENDED;"))
    assert f"Path                  : {path}" in described
    assert query in described
    explained = "\n".join(live.texts(f"EXPLAIN {query};"))
    assert f"Looked up: `{name}`" in explained
    listed = "\n".join(live.texts("SHOW QUERIES EXTENDED;"))
    assert f"{name} (lookup in {path})" in listed
    with pytest.raises(UnsupportedError, match="may return other rows than at processing time"):
        live.run(f"VERIFY QUERY {query};")
    live.run("DROP TABLE $cities CASCADE;")
    assert query not in [info.id for info in live.engine.queries()]
