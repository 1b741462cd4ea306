"""Tables of Iceberg as other engines read them, and the topics that they are made of."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest
from engine.live import Live
from pyiceberg.manifest import DataFileContent, ManifestEntry
from pyiceberg.table import StaticTable, Table

from streamsql.kafka.client import KafkaClient
from streamsql.kafka.records import Record

_OTHER_PYTHON = Path(__file__).parents[2] / "build" / "duckdb" / "bin" / "python"
"""With DuckDB's extension for Iceberg, which is made for another version of DuckDB."""
_READING = """
import json, sys, duckdb
from importlib.resources import files
connection = duckdb.connect()
for name in ("avro", "iceberg"):
    folder = files(f"duckdb_extension_{name}") / "extensions" / f"v{duckdb.__version__}"
    connection.execute(f"LOAD '{folder / (name + '.duckdb_extension')}'")
print(json.dumps(connection.execute(f"FROM iceberg_scan('{sys.argv[1]}')").fetchall()))
"""


@dataclass(frozen=True)
class Seen:
    """A snapshot: the offsets that it names for a sink, and its rows, sorted as text."""

    offsets: Mapping[int, int]
    rows: Sequence[tuple[Any, ...]]


def table_in(folder: Path) -> Table | None:
    """The table of a Hadoop catalog; None before its first commit."""
    versions = (folder / "metadata").glob("v*.metadata.json")
    newest = max(versions, key=lambda path: int(path.name[1:].split(".")[0]), default=None)
    return None if newest is None else StaticTable.from_metadata(str(newest))


def appended(table: Table | None, sink: str) -> Seen:
    """The rows as PyIceberg reads them."""
    snapshot = table and table.current_snapshot()
    if table is None or snapshot is None:
        return Seen({}, [])
    rows = table.scan(snapshot_id=snapshot.snapshot_id).to_arrow()
    found = [tuple(row.values()) for row in rows.to_pylist()]
    return Seen(_offsets(snapshot.summary, sink), sorted(found, key=str))


def upserted(table: Table | None, sink: str, *keys: str) -> Seen:
    """The rows by the rules of Iceberg's specification, in DuckDB's SQL: PyIceberg reads no
    equality deletes. One of these concerns the files of earlier snapshots."""
    snapshot = table and table.current_snapshot()
    if table is None or snapshot is None:
        return Seen({}, [])
    entries = [
        entry
        for manifest in snapshot.manifests(table.io)
        for entry in manifest.fetch_manifest_entry(table.io)
    ]
    rows = _files(entries, DataFileContent.DATA)
    deletes = _files(entries, DataFileContent.EQUALITY_DELETES)
    equal = " AND ".join(f"d.{key} IS NOT DISTINCT FROM r.{key}" for key in keys)
    columns = ", ".join(f'r."{field.name}"' for field in table.schema().fields)
    sql = f"SELECT {columns} FROM ({rows}) r" if rows else "SELECT 1 WHERE FALSE"
    if rows and deletes:
        sql += f" WHERE NOT EXISTS (SELECT * FROM ({deletes}) d WHERE d.seq > r.seq AND {equal})"
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        found = connection.execute(sql).fetchall()
    return Seen(_offsets(snapshot.summary, sink), sorted(found, key=str))


def seen_by_duckdb(table: Table, sink: str) -> Seen:
    """The rows of integers and texts as DuckDB reads them; skips the test where it is not
    installed."""
    if not _OTHER_PYTHON.is_file():
        pytest.skip(
            "python -m venv build/duckdb; build/duckdb/bin/pip install "
            "duckdb-extension-iceberg==1.5.5 duckdb-extension-avro==1.5.5"
        )
    command = [str(_OTHER_PYTHON), "-c", _READING, table.metadata_location.removeprefix("file:")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    snapshot = table.current_snapshot()
    assert snapshot is not None
    rows = [tuple(row) for row in json.loads(done.stdout)]
    return Seen(_offsets(snapshot.summary, sink), sorted(rows, key=str))


def _files(entries: Sequence[ManifestEntry], content: DataFileContent) -> str:
    """A query of the files' rows, each with its file's sequence number."""
    return " UNION ALL BY NAME ".join(
        f"SELECT *, {entry.sequence_number} AS seq "
        f"FROM read_parquet('{entry.data_file.file_path.removeprefix('file:')}', "
        "hive_partitioning = false)"
        for entry in entries
        if entry.data_file.content == content
    )


def _offsets(summary: Any, sink: str) -> Mapping[int, int]:
    text = summary[f"streamsql.offsets.{sink}"]
    return {int(partition): offset for partition, offset in json.loads(text)["offsets"].items()}


def records(live: Live, topic: str) -> Iterator[Record]:
    """All records that the topic has now."""
    client = live.engine._state.services.kafka.get()
    assert isinstance(client, KafkaClient)
    return client.consume(topic, until=client.end_offsets(topic))
