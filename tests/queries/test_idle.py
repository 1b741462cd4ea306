"""A query whose topics get no records sleeps, in either mode, and wakes up for the next one."""

from __future__ import annotations

import pytest
from awaiting import await_until
from queries.runner import QueryRun

from streamsql.executor.queries.start import Trigger
from streamsql.executor.spark.bridge import Bridge
from streamsql.properties import COMMIT_INTERVAL
from streamsql.test_driver.fixture import Fixture

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

STREAM = "CREATE STREAM S (ID STRING KEY, A INT) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');"
TABLE = (
    "CREATE TABLE O (ID STRING PRIMARY KEY, B INT) WITH (KAFKA_TOPIC='other', VALUE_FORMAT='JSON');"
)
COUNT = "CREATE TABLE OUT AS SELECT ID, COUNT(*) AS A FROM S GROUP BY ID;"
JOIN = "CREATE STREAM OUT AS SELECT S.ID, A, B FROM S LEFT JOIN O ON S.ID = O.ID;"


@pytest.mark.parametrize("trigger", [Trigger.CONTINUOUS_MICRO_BATCH, Trigger.REAL_TIME])
@pytest.mark.parametrize("statements", [[STREAM, COUNT], [STREAM, TABLE, JOIN]])
def test_a_query_sleeps_and_wakes_up(
    fixture: Fixture, statements: list[str], trigger: Trigger
) -> None:
    run = QueryRun({"statements": statements}, fixture, sleeps=True)
    run.prepare()
    query = run.start(trigger, {COMMIT_INTERVAL: "5000"})
    bridge = Bridge.of(run.context.spark)
    for number in range(2):
        run.produce([{"topic": "in", "key": "k", "value": {"A": number}, "timestamp": number}])
        await_until(lambda n=number: len(run.read("OUT")) > n, f"{number + 1} rows", 60)
        await_until(lambda: run.checkpoint.name in bridge.status().asleep, "sleep", 60)
    query.stop()
    assert query.exception() is None
    assert len(run.read("OUT")) == 2
