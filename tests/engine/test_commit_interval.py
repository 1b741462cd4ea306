"""How often a real-time query commits is a setting of the session that creates it."""

from __future__ import annotations

import pytest
from awaiting import await_until
from engine.live import PATIENCE, Live, Restartable

from streamsql.engine import QueryState

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


def test_a_real_time_query_commits_as_often_as_it_is_told(
    live: Live, restartable: Restartable
) -> None:
    live.run(
        "CREATE STREAM $s (k STRING KEY, n INT)"
        " WITH (KAFKA_TOPIC='$s', PARTITIONS=1, VALUE_FORMAT='JSON');"
        "SET 'streamsql.processing.commit.interval.ms' = '5000';"
        "CREATE STREAM $o AS SELECT * FROM $s;"
    )
    (query,) = (q.id for q in live.engine.queries() if live.suffix in (q.sink or ""))
    live.await_state(query, QueryState.RUNNING)
    assert live.query(query).mode == "real-time"
    assert restartable.config.data_dir is not None
    commits = restartable.config.data_dir / "checkpoints" / query / "commits"

    def third_commit() -> bool:
        # A query without records does not commit.
        live.run("INSERT INTO $s VALUES ('k', 1);")
        return (commits / "2").exists()

    # Of the default interval, a minute, it would be the second within two.
    await_until(third_commit, "the third commit", min(60.0, PATIENCE))
