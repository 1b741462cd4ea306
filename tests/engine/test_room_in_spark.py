"""Queries without records leave Spark to others, and continue there with the next record."""

from __future__ import annotations

import pytest
from awaiting import await_until
from engine.live import PATIENCE, Live

from streamsql.engine import QueryState
from streamsql.executor.queries import admission, slot_sharing

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


def test_a_query_without_room_in_spark_runs_from_record_to_record(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live.engine._state.queries, "_room", 0)
    monkeypatch.setattr(admission, "REST_SECONDS", 0.5)
    monkeypatch.setattr(slot_sharing, "SHARE_SECONDS", 0.1)
    live.run(  # A query sleeps from the second interval without records on.
        "SET 'processing.commit.interval.ms' = '5000';"
        "CREATE STREAM $s (k STRING KEY, n INT)"
        " WITH (KAFKA_TOPIC='$s', PARTITIONS=1, VALUE_FORMAT='JSON');"
        "CREATE TABLE $o AS SELECT k, COUNT(*) AS c FROM $s GROUP BY k;"
    )
    (query,) = (q.id for q in live.engine.queries() if live.suffix in (q.sink or ""))

    def rests() -> bool:
        in_spark = live.engine._state.launcher.status().running
        return query not in in_spark and live.query(query).asleep

    for count in (1, 2):
        await_until(rests, "it runs, and not in Spark", PATIENCE)
        assert live.query(query).state is QueryState.RUNNING
        live.run(f"INSERT INTO $s VALUES ('k', {count});")
        live.table("o", lambda rows, count=count: rows == {"k": (count,)})
