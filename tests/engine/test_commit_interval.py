"""How often a query commits, or begins a micro-batch, is a setting of the session that makes it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from awaiting import await_until
from engine.live import PATIENCE, Live, Restartable

from streamsql.engine import QueryState

MARGIN = 10.0
"""Seconds: for the commit, and a batch that ends early as nothing comes."""
pytestmark = [pytest.mark.spark, pytest.mark.kafka]


def running(live: Live, restartable: Restartable, settings: str, mode: str) -> Path:
    """The checkpoint of a query that was made under these settings and runs in that mode."""
    live.run(
        "CREATE STREAM $s (k STRING KEY, n INT)"
        " WITH (KAFKA_TOPIC='$s', PARTITIONS=1, VALUE_FORMAT='JSON');"
        f"{settings} CREATE STREAM $o AS SELECT * FROM $s;"
    )
    (query,) = (q.id for q in live.engine.queries() if live.suffix in (q.sink or ""))
    live.await_state(query, QueryState.RUNNING)
    assert live.query(query).mode == mode
    assert restartable.config.data_dir is not None
    return restartable.config.data_dir / "checkpoints" / query


@pytest.mark.slow
def test_a_real_time_query_commits_as_often_as_configured(
    live: Live, restartable: Restartable
) -> None:
    settings = "SET 'streamsql.processing.commit.interval.ms' = '5000';"
    commits = running(live, restartable, settings, "real-time") / "commits"

    def third_commit() -> bool:
        # A query without records does not commit.
        live.run("INSERT INTO $s VALUES ('k', 1);")
        return (commits / "2").exists()

    # Of the default interval, a minute, it would be the second within two.
    await_until(third_commit, "the third commit", min(60.0, PATIENCE))


def test_what_time_decides_is_written_after_one_interval(live: Live) -> None:
    live.run(
        "SET 'processing.commit.interval.ms' = '20000';"
        "CREATE STREAM $s (k STRING KEY, n INT)"
        " WITH (KAFKA_TOPIC='$s', PARTITIONS=1, VALUE_FORMAT='JSON');"
        "CREATE STREAM $o AS SELECT k, c FROM $s MATCH_RECOGNIZE ("
        " PARTITION BY k ORDER BY ROWTIME MEASURES COUNT(*) AS c"
        " PATTERN (a b*) WITHIN INTERVAL '1' SECOND DEFINE b AS n > 0);"
    )
    (query,) = (q.id for q in live.engine.queries() if live.suffix in (q.sink or ""))
    await_until(lambda: live.query(query).mode == "real-time", "real time", PATIENCE)
    live.await_state(query, QueryState.RUNNING)
    live.run(
        "INSERT INTO $s (ROWTIME, k, n) VALUES (1700000000000, 'x', 1);"
        "INSERT INTO $s (ROWTIME, k, n) VALUES (1700000000001, 'x', 2);"
        "INSERT INTO $s (ROWTIME, k, n) VALUES (1700000010000, 'y', 3);"
    )
    begun = time.monotonic()
    assert live.rows("SELECT k, c FROM $o EMIT CHANGES;", 1) == [("x", 2)]
    assert time.monotonic() - begun < 20.0 + MARGIN


def test_micro_batches_are_as_far_apart_as_configured(live: Live, restartable: Restartable) -> None:
    settings = "SET 'processing.mode' = 'microbatch'; SET 'processing.batch.interval.ms' = '5000';"
    offsets = running(live, restartable, settings, "micro-batch") / "offsets"

    def begun() -> list[float]:
        """When its batches have begun."""
        found = (path for path in offsets.glob("*") if path.name.isdecimal())
        return sorted(path.stat().st_mtime for path in found)

    before = len(begun())

    def four_more() -> bool:
        live.run("INSERT INTO $s VALUES ('k', 1);")
        return len(begun()) >= before + 4

    await_until(four_more, "four batches", PATIENCE)
    # The first one begins at once.
    second, third, fourth = begun()[-3:]
    assert min(third - second, fourth - third) > 3.0
