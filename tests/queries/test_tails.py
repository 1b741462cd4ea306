"""Queries that read a topic in real time share one fetch of it: each gets every record once."""

from __future__ import annotations

import pytest
from awaiting import await_until
from queries.runner import QueryRun

from streamsql.executor.queries.start import Trigger, start
from streamsql.test_driver.fixture import Fixture

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

STATEMENTS = [
    "CREATE STREAM S (ID STRING KEY, A INT) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');",
    "CREATE STREAM FIRST AS SELECT * FROM S;",
    "CREATE STREAM SECOND AS SELECT * FROM S;",
]
MORE_THAN_IS_HELD = 6_000


def test_one_that_comes_late_reads_by_itself_until_it_is_near(fixture: Fixture) -> None:
    run = QueryRun({"statements": STATEMENTS}, fixture, sleeps=True)
    run.prepare()
    first, second = run.specs()

    def send(begin: int, end: int) -> None:
        run.produce(
            {"topic": "in", "key": f"k{i % 7}", "value": {"A": i}, "timestamp": i}
            for i in range(begin, end)
        )

    def await_all(topic: str, end: int) -> None:
        await_until(lambda: len(run.read(topic)) >= end, f"{end} records in {topic}", 120)
        assert sorted(r["value"]["A"] for r in run.read(topic)) == list(range(end))

    send(0, MORE_THAN_IS_HELD)
    running = [start(first, Trigger.REAL_TIME)]
    await_all("FIRST", MORE_THAN_IS_HELD)
    running.append(start(second, Trigger.REAL_TIME))
    await_all("SECOND", MORE_THAN_IS_HELD)
    for number in range(MORE_THAN_IS_HELD, MORE_THAN_IS_HELD + 300, 100):
        send(number, number + 100)
        for topic in ("FIRST", "SECOND"):
            await_all(topic, number + 100)
    for query in running:
        query.stop()
        assert query.exception() is None
