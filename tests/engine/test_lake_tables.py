"""Tables of Iceberg that queries read: what sinks and other engines have written."""

from __future__ import annotations

import shutil
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from awaiting import await_until
from engine.lake import table_in
from engine.live import PATIENCE, Live
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from streamsql.errors import ExternalError
from streamsql.kafka.client import KafkaClient
from streamsql.kafka.records import NewRecord
from streamsql.results import Answer

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


def answer(live: Live, sql: str) -> list[tuple[Any, ...]]:
    """The rows of a pull query, sorted as text."""
    (result,) = live.run(sql)
    assert isinstance(result, Answer)
    return sorted((row.values for row in result.rows), key=str)


def place(folder: Path) -> str:
    return f"CONNECTION='ICEBERG', WAREHOUSE='{folder}', TABLE='shop.t'"


def written(folder: Path, *batches: pa.Table, partition: str = "") -> Table:
    """A table of PyIceberg's in a catalog of Hadoop's layout, with a snapshot for each batch."""
    catalog = SqlCatalog("made", uri="sqlite://", warehouse=f"file:{folder}")
    catalog.create_namespace("shop")
    location = f"file:{folder}/shop/t"
    table = catalog.create_table("shop.t", batches[0].schema, location=location)
    if partition:
        with table.update_spec() as spec:
            spec.add_identity(partition)
    for batch in batches:
        table.append(batch)
    return table


def as_hadoop_names_it(table: Table) -> None:
    """Its metadata as version 1, by which a catalog of Hadoop's finds a table."""
    metadata = Path(table.metadata_location.removeprefix("file:"))
    shutil.copy(metadata, metadata.with_name("v1.metadata.json"))


def test_what_a_sink_has_written_is_read(live: Live, tmp_path: Path) -> None:
    columns = """
        id INT PRIMARY KEY, big BIGINT, text STRING, flag BOOLEAN, share DOUBLE,
        price DECIMAL(8, 2), at TIMESTAMP, day DATE, hour TIME, raw BYTES, tags ARRAY<STRING>,
        counts MAP<STRING, INT>, place STRUCT<city STRING, open TIME>
    """
    live.run(f"""
        CREATE TABLE $t ({columns}) WITH (KAFKA_TOPIC='$t', VALUE_FORMAT='JSON', PARTITIONS=2);
        INSERT INTO $t VALUES (1, 9007199254740993, 'it''s', TRUE, 0.1, 123456.78,
            '2024-02-29T23:59:59.123', '1066-10-14', '12:34:56', TO_BYTES('c3bf', 'hex'),
            ARRAY['x', NULL], MAP('a' := 1), STRUCT(city := 'York', open := '07:30'));
        INSERT INTO $t (id, text) VALUES (2, 'two');
        INSERT INTO $t (id, text) VALUES (3, 'three');
        CREATE SINK $o FROM $t WITH ({place(tmp_path)}, COMMIT_INTERVAL='1 SECOND');
        CREATE SOURCE TABLE $lake ({columns}) WITH ({place(tmp_path)});
    """)
    sql = "SELECT * FROM $lake;"
    await_until(lambda: table_in(tmp_path / "shop" / "t") is not None, "the table", PATIENCE)
    await_until(lambda: len(answer(live, sql)) == 3, "the rows", PATIENCE)
    assert answer(live, sql) == answer(live, "SELECT * FROM $t;")

    # A later snapshot deletes a row and replaces another one.
    client = live.engine._state.services.kafka.get()
    assert isinstance(client, KafkaClient)
    now = time.time_ns() // 1_000_000
    client.produce(live.name("T"), [NewRecord((3).to_bytes(4, "big"), None, now)])
    live.run("INSERT INTO $t (id, text) VALUES (2, 'zwei');")
    texts = "SELECT id, text FROM $lake;"
    await_until(lambda: answer(live, texts) == [(1, "it's"), (2, "zwei")], "the rows", PATIENCE)
    assert answer(live, sql) == answer(live, "SELECT * FROM $t;")

    live.run("SET 'streamsql.sql.semantics' = 'standard';")
    (both,) = live.run("SELECT a.id, b.text FROM $lake a JOIN $t b USING (id) WHERE a.big IS NULL;")
    assert isinstance(both, Answer) and [row.values for row in both.rows] == [(2, "zwei")]


SALES = pa.schema(
    [
        ("id", pa.int64()),
        ("region", pa.string()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("share", pa.float32()),
    ]
)


def sales(*rows: tuple[int, str, int]) -> pa.Table:
    """Each with its second and a share."""
    made = [
        {"id": n, "region": region, "at": datetime(2026, 5, 1, tzinfo=UTC) + timedelta(seconds=at)}
        for n, region, at in rows
    ]
    return pa.Table.from_pylist([{**row, "share": 0.5} for row in made], SALES)


def test_what_another_engine_has_written_is_read(live: Live, tmp_path: Path) -> None:
    table = written(
        tmp_path,
        sales((1, "north", 1), (2, "south", 2)),
        sales((3, "north", 3), (4, "west", 4)),
        partition="region",
    )
    table.delete("id = 2")
    as_hadoop_names_it(table)
    live.run(f"""
        CREATE SOURCE TABLE $s (id BIGINT, region STRING, at TIMESTAMP, share DOUBLE)
          WITH ({place(tmp_path)});
        CREATE VIEW $v AS SELECT region, id FROM $s;
    """)
    assert answer(live, "SELECT id, region, share FROM $s;") == [
        (1, "north", 0.5),
        (3, "north", 0.5),
        (4, "west", 0.5),
    ]
    assert answer(live, "SELECT region, COUNT(*) FROM $s GROUP BY region;") == [
        ("north", 2),
        ("west", 1),
    ]
    assert answer(live, "SELECT id FROM $v WHERE region = 'west';") == [(4,)]
    live.run("SET 'streamsql.sql.semantics' = 'standard';")
    assert answer(live, "SELECT COUNT(*) FROM $s;") == [(3,)]
    late = "SELECT id FROM $s WHERE at >= '2026-05-01 00:00:03' AND id IN (1, 3);"
    assert answer(live, late) == [(3,)]
    assert answer(live, "SELECT a.id FROM $s a, $s b WHERE a.id = b.id + 2 LIMIT 5;") == [(3,)]
    live.run("DROP VIEW $v;")


def test_a_table_is_read_as_of_a_snapshot_or_a_time(live: Live, tmp_path: Path) -> None:
    table = written(tmp_path, sales((1, "north", 1)), sales((2, "south", 2)))
    first, second = table.snapshots()
    with table.update_schema() as schema:
        schema.rename_column("region", "area")
    table.append(sales((3, "west", 3)).rename_columns(["id", "area", "at", "share"]))
    table.manage_snapshots().create_tag(first.snapshot_id, "begun").commit()
    as_hadoop_names_it(table)
    live.run(f"CREATE SOURCE TABLE $s (id BIGINT, area STRING) WITH ({place(tmp_path)});")
    one, two, three = (1, "north"), (2, "south"), (3, "west")
    assert answer(live, "SELECT * FROM $s;") == [one, two, three]
    assert answer(live, f"SELECT * FROM $s VERSION AS OF {second.snapshot_id};") == [one, two]
    assert answer(live, "SELECT * FROM $s FOR VERSION AS OF 'begun';") == [one]
    live.run("SET 'streamsql.sql.semantics' = 'standard';")
    time = datetime.fromtimestamp(second.timestamp_ms / 1000, UTC).isoformat()
    then = f"$s FOR SYSTEM_TIME AS OF '{time}'"
    assert answer(live, f"SELECT * FROM {then} AS t WHERE area = 'south';") == [two]
    assert answer(live, f"SELECT * FROM $s EXCEPT SELECT * FROM {then};") == [three]
    for missing in ("TIMESTAMP AS OF '2001-01-01'", "VERSION AS OF 7"):
        with pytest.raises(ExternalError, match=f"the oldest is {first.snapshot_id}"):
            answer(live, f"SELECT * FROM $s FOR {missing};")


def test_a_table_that_is_not_as_declared_is_an_error(live: Live, tmp_path: Path) -> None:
    as_hadoop_names_it(written(tmp_path, sales((1, "north", 1))))
    live.run(f"""
        CREATE SOURCE TABLE $a (id BIGINT, town STRING) WITH ({place(tmp_path)});
        CREATE SOURCE TABLE $b (id INT) WITH ({place(tmp_path)});
        CREATE SOURCE TABLE $c (id INT) WITH ({place(tmp_path / "other")});
    """)
    for name, problem in (
        ("a", "the table has no column TOWN"),
        ("b", "the column ID of the table is long, which is not read as INT"),
        ("c", "has no table shop.t"),
    ):
        with pytest.raises(ExternalError, match=problem):
            answer(live, f"SELECT * FROM ${name};")
