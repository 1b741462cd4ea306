"""The Kafka sink and the processing log on a real broker: what arrives, and what a failure does."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from streamsql.executor.queries.checkpoint import remove_torn_files
from streamsql.executor.spark.jvm import (
    NULL_VALUE,
    Jvm,
    ProcessingLog,
    SideFormat,
    producer_settings,
)
from streamsql.kafka.client import KafkaClient, NewRecord, Record
from tests.awaiting import await_until

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

NOTHING = SideFormat("NONE", StructType([]))
VALUE = SideFormat("JSON", StructType([StructField("A", IntegerType())]))
KEY = SideFormat("KAFKA", StructType([StructField("K", StringType())]))
HEADERS = "array<struct<key: string, value: binary>>"
MakeTopic = Callable[[str], str]


@pytest.fixture
def topic(kafka: KafkaClient, topic_name: str) -> MakeTopic:
    """Makes topics of this test, of one partition, that keep records of any age."""

    def make(suffix: str) -> str:
        name = f"{topic_name}-{suffix}"
        kafka.create_topic(name, config={"retention.ms": "-1"})
        return name

    return make


def read(spark: SparkSession, kafka: KafkaClient, topic: str) -> DataFrame:
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", kafka.bootstrap)
    source = source.option("subscribe", topic).option("startingOffsets", "earliest")
    return source.option("includeHeaders", "true").load()


def records(kafka: KafkaClient, topic: str) -> list[Record]:
    return list(kafka.consume(topic, until=kafka.end_offsets(topic)))


def run(
    spark: SparkSession,
    kafka: KafkaClient,
    rows: DataFrame,
    checkpoint: Path,
    log: ProcessingLog | None = None,
    **settings: str,
) -> None:
    """Write all that is there to Kafka, in micro-batches."""
    producer = producer_settings(kafka.bootstrap, "catchup") | settings
    jvm = Jvm(spark)
    writer = jvm.kafka_writer(rows, jvm.kafka_sink(producer, log)).outputMode("update")
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    try:
        query.awaitTermination(120)
    finally:
        query.stop()


def sink_rows(frame: DataFrame, topic: str, **columns: str) -> DataFrame:
    """Rows for the sink, given as SQL over the Kafka source's columns; null where not given."""
    types = {
        "topic": "string",
        "key": "binary",
        "value": "binary",
        "timestamp": "bigint",
        "headers": HEADERS,
    }
    given = {"topic": topic, **columns}
    return frame.selectExpr(
        *(f"CAST({given.get(name, 'NULL')} AS {t}) AS {name}" for name, t in types.items())
    )


def test_record_arrives_as_its_row_says(
    spark: SparkSession, kafka: KafkaClient, topic: MakeTopic, tmp_path: Path
) -> None:
    source, even, odd = topic("in"), topic("even"), topic("odd")
    headers = [("h", b"\x01"), ("h", None)]
    kafka.produce(
        source,
        [
            NewRecord(f"k{i}".encode(), f"v{i}".encode(), 1000 + i, headers=headers)
            for i in range(4)
        ],
    )
    rows = sink_rows(
        read(spark, kafka, source),
        f"if(offset % 2 = 0, '{even}', '{odd}')",
        key="key",
        value="value",
        timestamp="unix_millis(timestamp) * 2",
        headers="headers",
    )
    run(spark, kafka, rows, tmp_path)
    found = records(kafka, even) + records(kafka, odd)
    assert [(r.topic, r.timestamp, r.key, r.value, list(r.headers)) for r in found] == [
        (t, 2 * (1000 + i), f"k{i}".encode(), f"v{i}".encode(), headers)
        for t, i in ((even, 0), (even, 2), (odd, 1), (odd, 3))
    ]


def test_nulls_are_kept_and_a_missing_timestamp_is_now(
    spark: SparkSession, kafka: KafkaClient, topic: MakeTopic, tmp_path: Path
) -> None:
    source, out = topic("in"), topic("out")
    kafka.produce(source, [NewRecord(None, None, 1000)])
    before = time.time() * 1000
    run(spark, kafka, sink_rows(read(spark, kafka, source), f"'{out}'"), tmp_path)
    (record,) = records(kafka, out)
    assert (record.key, record.value, list(record.headers)) == (None, None, [])
    assert record.timestamp is not None and before <= record.timestamp <= time.time() * 1000


def test_a_record_that_is_not_written_fails_the_query(
    spark: SparkSession, kafka: KafkaClient, topic: MakeTopic, tmp_path: Path
) -> None:
    source, out = topic("in"), topic("out")
    kafka.produce(source, [NewRecord(b"k", b"v")])
    rows = sink_rows(read(spark, kafka, source), f"'{out}'", value="repeat('x', 2000000)")
    with pytest.raises(StreamingQueryException, match="RecordTooLarge|larger than"):
        run(spark, kafka, rows, tmp_path)
    assert records(kafka, out) == []
    # The same checkpoint continues with the record once it can be written.
    rows = sink_rows(read(spark, kafka, source), f"'{out}'", value="value")
    run(spark, kafka, rows, tmp_path)
    assert [r.value for r in records(kafka, out)] == [b"v"]


@pytest.mark.parametrize("name", ["offsets", "commits"])
def test_a_kill_in_the_first_batch_does_not_end_a_query_for_ever(
    spark: SparkSession, kafka: KafkaClient, topic: MakeTopic, tmp_path: Path, name: str
) -> None:
    source, out = topic("in"), topic("out")
    kafka.produce(source, [NewRecord(b"k", b"v")])
    folder = tmp_path / name
    folder.mkdir()
    (folder / ".0.ebb6840b-fb1c-499d-bc05-a32fa9623f59.tmp").write_text("v2")
    counted = read(spark, kafka, source).groupBy("key").agg(F.count("*").alias("n"))
    rows = sink_rows(counted, f"'{out}'", key="key", value="CAST(n AS STRING)")
    with pytest.raises(StreamingQueryException, match="CHECKPOINT_LOCATION_NOT_EMPTY"):
        run(spark, kafka, rows, tmp_path)
    remove_torn_files(tmp_path)
    run(spark, kafka, rows, tmp_path)
    assert [r.value for r in records(kafka, out)] == [b"1"]


def test_a_row_that_kafka_cannot_hold_goes_to_the_log(
    spark: SparkSession, kafka: KafkaClient, topic: MakeTopic, tmp_path: Path
) -> None:
    source, out, log_topic = topic("in"), topic("out"), topic("log")
    kafka.produce(source, [NewRecord(b"k", b"v"), NewRecord(b"k", b"x"), NewRecord(b"k", b"w")])
    log = Jvm(spark).processing_log("Q1", log_topic, producer_settings(kafka.bootstrap, "catchup"))
    rows = sink_rows(
        read(spark, kafka, source),
        f"'{out}'",
        value="if(offset = 1, repeat('x', 2000000), CAST(value AS STRING))",
        timestamp="if(offset = 0, -5, 5)",
    )
    run(spark, kafka, rows, tmp_path, log)
    assert [(r.value, r.timestamp) for r in records(kafka, out)] == [(b"w", 5)]
    negative, large = entries(kafka, log_topic)
    assert negative["logger"] == "processing.Q1.Sink"
    message = "the record's timestamp is negative: -5"
    assert negative["message"] == {"type": 2, "productionError": {"errorMessage": message}}
    assert "larger than" in large["message"]["productionError"]["errorMessage"]


def await_records(kafka: KafkaClient, topic: str, count: int) -> None:
    await_until(lambda: len(records(kafka, topic)) == count, f"{count} records", 60)


def entries(kafka: KafkaClient, log_topic: str) -> list[dict[str, Any]]:
    return [json.loads(r.value or b"") for r in records(kafka, log_topic)]


def decoded(frame: DataFrame, jvm: Jvm, log: ProcessingLog | None) -> DataFrame:
    rows = frame.select(jvm.decode(KEY, VALUE, log, "Source").alias("d"))
    return rows.where("d is not null").select("d.*")


def test_bad_records_are_logged_with_their_place(
    spark: SparkSession, kafka: KafkaClient, topic: MakeTopic, tmp_path: Path
) -> None:
    source, out, log_topic = topic("in"), topic("out"), topic("log")
    values = [b'{"A": 1}', b"rubbish", b'{"A": 0}', b'{"A": "x"}', b'{"A": 4}']
    kafka.produce(source, [NewRecord(b"k", value) for value in values])
    jvm = Jvm(spark)
    log = jvm.processing_log(
        "Q2", log_topic, producer_settings(kafka.bootstrap, "catchup"), include_rows=True
    )
    failure = jvm.report_null(F.lit("Division by zero"), IntegerType(), log, "Project")
    rows = decoded(read(spark, kafka, source), jvm, log).withColumn(
        "Q", F.when(F.col("A") == 0, failure).otherwise((F.lit(8) / F.col("A")).cast("int"))
    )
    run(spark, kafka, sink_rows(rows, f"'{out}'", value="CAST(Q AS STRING)"), tmp_path)
    assert [r.value for r in records(kafka, out)] == [b"8", None, b"2"]

    found = {entry["offset"]: entry for entry in entries(kafka, log_topic)}
    assert sorted(found) == [1, 2, 3]
    assert {(e["topic"], e["partition"], e["queryId"]) for e in found.values()} == {
        (source, 0, "Q2")
    }
    unreadable = found[3]["message"]["deserializationError"]
    assert unreadable == {
        "target": "value",
        "errorMessage": "$.A: expected INT, found text 'x'",
        "recordB64": "eyJBIjogIngifQ==",
        "cause": [],
        "topic": source,
    }
    assert found[3]["logger"] == "processing.Q2.Source"
    assert found[2]["logger"] == "processing.Q2.Project"
    assert found[2]["message"] == {
        "type": 1,
        "recordProcessingError": {
            "errorMessage": "Division by zero",
            "record": '{"A": 0}',
            "cause": [],
        },
    }


def test_a_log_that_cannot_be_written_fails_the_query(
    spark: SparkSession, kafka: KafkaClient, topic: MakeTopic, tmp_path: Path
) -> None:
    source, out = topic("in"), topic("out")
    kafka.produce(source, [NewRecord(b"k", b"rubbish")])
    jvm = Jvm(spark)
    settings = producer_settings(kafka.bootstrap, "catchup")
    log = jvm.processing_log("Q3", "no such topic", settings)
    rows = sink_rows(decoded(read(spark, kafka, source), jvm, log), f"'{out}'")
    with pytest.raises(StreamingQueryException, match="cannot write the processing log"):
        run(spark, kafka, rows, tmp_path)


def test_all_of_it_in_real_time_mode(
    spark: SparkSession, kafka: KafkaClient, topic: MakeTopic, tmp_path: Path
) -> None:
    source, out, log_topic = topic("in"), topic("out"), topic("log")
    jvm = Jvm(spark)
    settings = producer_settings(kafka.bootstrap, "realtime")
    log = jvm.processing_log("Q4", log_topic, settings)
    counted = (
        decoded(read(spark, kafka, source), jvm, log)
        .where(f"NOT `{NULL_VALUE}`")
        .groupBy("K")
        .agg(F.count("*").alias("n"), jvm.bounded_aggregate("TOPK", F.col("A"), 2).alias("top"))
    )
    rows = sink_rows(
        counted, f"'{out}'", key="K", value="to_json(struct(n, top))", timestamp="n * 1000"
    )
    real_time: dict[str, Any] = {"realTime": "5 seconds"}  # not in PySpark's type hints
    writer = jvm.kafka_writer(rows, jvm.kafka_sink(settings, log)).outputMode("update")
    writer = writer.option("checkpointLocation", str(tmp_path)).trigger(**real_time)
    query = writer.start()
    try:
        for value, updates in [(3, 1), (9, 2), ("rubbish", 2), (5, 3)]:
            kafka.produce(source, [NewRecord(b"k", json.dumps({"A": value}).encode())])
            await_records(kafka, out, updates)
        results = [json.loads(r.value or b"") for r in records(kafka, out)]
        assert results == [
            {"n": 1, "top": [3]},
            {"n": 2, "top": [9, 3]},
            {"n": 3, "top": [9, 5]},
        ]
        assert [r.timestamp for r in records(kafka, out)] == [1000, 2000, 3000]
        await_until(lambda: len(entries(kafka, log_topic)) == 1, "the entry of the log", 30)
    finally:
        query.stop()
