"""Rows that come on one connection while their target changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from engine.offline import Offline
from server.offline_server import OfflineRunner

from streamsql.errors import CatalogError
from streamsql.kafka.records import NewRecord
from streamsql.statements.inserting import rows
from streamsql.statements.inserting.rows import RowInserts

STREAM = "CREATE {} s (k STRING KEY, n INT{}) WITH (KAFKA_TOPIC='{}', VALUE_FORMAT='JSON');"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Offline]:
    with Offline(tmp_path) as offline:
        OfflineRunner(offline).given(STREAM.format("STREAM", "", "first"))
        yield offline


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bytes | None]]:
    """Topic and value of what would be sent to Kafka."""
    found: list[tuple[str, bytes | None]] = []

    def insert(services: object, topic: str, records: Sequence[NewRecord]) -> dict[int, int]:
        found.extend((topic, record.value) for record in records)
        return {0: len(found)}

    monkeypatch.setattr(rows, "insert_records", insert)
    return found


def test_a_target_that_was_dropped_takes_no_rows(
    engine: Offline, written: list[tuple[str, bytes | None]]
) -> None:
    inserts = RowInserts("s", engine.context())
    assert inserts.write([{"k": "a", "n": 1}]) == [None]
    OfflineRunner(engine).given("DROP STREAM s;")
    for _ in range(2):
        with pytest.raises(CatalogError, match="unknown stream/table: `S`"):
            inserts.write([{"k": "a", "n": 2}])
    assert written == [("first", b'{"N":1}')]


def test_rows_go_by_the_target_as_it_is(
    engine: Offline, written: list[tuple[str, bytes | None]]
) -> None:
    inserts = RowInserts("s", engine.context())
    inserts.write([{"k": "a", "n": 1}])
    OfflineRunner(engine).given(f"DROP STREAM s; {STREAM.format('STREAM', ', m INT', 'second')}")
    assert inserts.write([{"k": "a", "n": 2, "m": 3}]) == [None]
    OfflineRunner(engine).given(
        "CREATE STREAM other (k STRING KEY) WITH (KAFKA_TOPIC='o', VALUE_FORMAT='JSON');"
    )
    assert inserts.write([{"k": "a", "n": 4}]) == [None]
    assert written == [
        ("first", b'{"N":1}'),
        ("second", b'{"N":2,"M":3}'),
        ("second", b'{"N":4,"M":null}'),
    ]
