"""In real time a row of a stream meets what its table has when it comes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from awaiting import await_until
from planner.plan_script import Script
from pyspark.sql import SparkSession

from streamsql.executor.frames.context import LoweringContext
from streamsql.executor.lowering.streaming import lower
from streamsql.executor.queries.start import Trigger, start
from streamsql.kafka.broker import EmbeddedBroker
from streamsql.kafka.client import KafkaClient
from streamsql.kafka.records import NewRecord
from streamsql.planner.plans.statements import QueryStatementPlan

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

SQL = """
CREATE STREAM tf_e (id STRING KEY, n INT)
  WITH (KAFKA_TOPIC='tf_e', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE tf_t (id STRING PRIMARY KEY, name STRING)
  WITH (KAFKA_TOPIC='tf_t', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM tf_j AS SELECT tf_e.id, n, name FROM tf_e JOIN tf_t ON tf_e.id = tf_t.id;
"""
NAMES, EVENTS = 20_000, 200
ROUNDS, FRESH, AT_ONCE = 60, 1_500, 20


def test_rows_of_a_stream_meet_what_the_table_has(
    spark: SparkSession, broker: EmbeddedBroker, kafka: KafkaClient, tmp_path: Path
) -> None:
    for topic in ("tf_e", "tf_t", "TF_J", "tf_log"):
        kafka.create_topic(topic, 1, -1)
    planned = Script().run(SQL)
    assert isinstance(planned, QueryStatementPlan)
    context = LoweringContext(spark, broker.bootstrap, tmp_path, "tf_log", sleeps=True)
    lowered = lower(planned.query, context)
    start(lowered, Trigger.AVAILABLE_NOW).awaitTermination(60)
    write_names(kafka, range(NAMES))
    write_events(kafka, [NAMES - 1] * EVENTS)
    live = start(lower(planned.query, context), Trigger.REAL_TIME)
    try:
        await_rows(kafka, EVENTS)  # The table is far behind when the batch begins.
        for i in range(1, ROUNDS + 1):  # Table and stream are read at the same time.
            end = NAMES + i * FRESH
            write_names(kafka, range(end - FRESH, end))
            write_events(kafka, range(end - AT_ONCE, end))
        await_rows(kafka, EVENTS + ROUNDS * AT_ONCE)
    finally:
        live.stop()


def write_names(kafka: KafkaClient, ids: Iterable[int]) -> None:
    kafka.produce("tf_t", [NewRecord(b"%d" % i, b'{"NAME":"x"}') for i in ids])


def write_events(kafka: KafkaClient, ids: Iterable[int]) -> None:
    kafka.produce("tf_e", [NewRecord(b"%d" % i, b'{"N":%d}' % i) for i in ids])


def await_rows(kafka: KafkaClient, count: int) -> None:
    await_until(lambda: kafka.end_offsets("TF_J") == {0: count}, f"{count} rows", 60)
