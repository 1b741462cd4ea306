"""A Spark cluster whose executors and workers are killed: nothing is lost, nothing doubled."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from awaiting import await_until
from cluster.standalone import HOST, Standalone, standalone
from engine.live import PATIENCE, Live, Restartable

from streamsql.engine import EngineConfig, QueryState
from streamsql.kafka.broker import EmbeddedBroker
from streamsql.kafka.client import KafkaClient, NewRecord

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

SCRIPT = """
SET 'processing.guarantee' = 'exactly_once';
CREATE STREAM $s (id STRING KEY, v INT)
  WITH (KAFKA_TOPIC='$s', PARTITIONS=2, VALUE_FORMAT='JSON');
CREATE STREAM $c AS SELECT id, v FROM $s WHERE v >= 0;
CREATE TABLE $t AS SELECT id, COUNT(*) AS n FROM $s GROUP BY id;
"""
RECORDS = 1_000
COUNTED_SECONDS = 15.0
"""Much less than the minute that a batch takes."""
SETTINGS = {
    "spark.executor.memory": "900m",
    "spark.driver.host": HOST,
    "spark.driver.bindAddress": HOST,
}


def test_executors_and_workers_that_are_killed(tmp_path: Path, broker: EmbeddedBroker) -> None:
    with standalone(tmp_path) as cluster:
        workers = [cluster.start_worker(6), cluster.start_worker(6)]
        config = EngineConfig(
            tmp_path / "data", broker.bootstrap, master=cluster.url, spark=SETTINGS
        )
        restartable = Restartable(config)
        try:
            restartable.start()
            live = Live(restartable)
            live.run(SCRIPT)
            kafka = live.engine._state.services.kafka.get()
            copied(live, kafka, 0)
            assert counted(live, RECORDS) == RECORDS
            await_until(
                lambda: {query.mode for query in live.engine.queries()} == {"real-time"},
                "all queries to have caught up",
            )
            assert live.engine.resources().task_slots == 12
            for round in (1, 2):
                (executor,) = Standalone.executors(workers[round % 2])
                executor.kill()
                copied(live, kafka, round)
            written = counted(live, 1)
            copied(live, kafka, 3)
            counted(live, written + RECORDS)
            orphans = Standalone.executors(workers[1])
            workers[1].kill()
            for executor in orphans:
                executor.kill()
            copied(live, kafka, 4)
        finally:
            restartable.engine.close()


def counted(live: Live, wanted: int) -> int:
    """Executors have reported that many records of the copy, though its batch ends in a minute
    only; how many. A query that has committed nothing starts counting again after an executor is
    lost."""

    def found() -> int:
        (query,) = (q for q in live.engine.queries() if q.sink == live.name("C"))
        metrics = live.engine.query_metrics().get(query.id)
        return (metrics and metrics.records_out) or 0

    await_until(lambda: found() >= wanted, f"{wanted} records to be counted", COUNTED_SECONDS)
    return found()


def copied(live: Live, kafka: KafkaClient, round: int) -> None:
    """More records come out once each, and are counted; says how long that took."""
    first = round * RECORDS
    records = (
        NewRecord(f"k{i % 10}".encode(), json.dumps({"v": i}).encode())
        for i in range(first, first + RECORDS)
    )
    began = time.monotonic()
    kafka.produce(live.name("S"), records)
    wanted = first + RECORDS
    topic = live.name("C")

    def found() -> list[int]:
        rows = kafka.consume(topic, until=kafka.end_offsets(topic))
        return sorted(json.loads(row.value or b"{}")["V"] for row in rows)

    await_until(lambda: len(found()) >= wanted, f"{wanted} records", 2 * PATIENCE, every=0.5)
    assert found() == list(range(wanted))
    live.table("t", lambda t: len(t) == 10 and all(n == (wanted // 10,) for n in t.values()))
    for query in live.engine.queries():
        if query.kind == "PERSISTENT":
            live.await_state(query.id, QueryState.RUNNING)
    print(f"round {round}: {time.monotonic() - began:.1f} s")
