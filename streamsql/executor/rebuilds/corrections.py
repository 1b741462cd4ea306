"""What a table's topic has to be told: the rows in which it differs from what its new query makes.

Compared by the bytes of keys and values with what the topic really holds, so that it can be done
again at any moment. Spark compares, the JVM writes; no row comes to Python.
"""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from streamsql.executor.frames.context import LoweringContext
from streamsql.executor.lowering.batch import Batch, kafka_records
from streamsql.executor.queries.launcher import SparkLauncher
from streamsql.executor.queries.offset_ranges import offset_ranges, told_as
from streamsql.executor.queries.persistent_query import Definition
from streamsql.executor.spark.jvm import producer_settings
from streamsql.executor.spark.rebuilds import write_corrections
from streamsql.kafka.client import KafkaClient
from streamsql.planner.plans.guarantee import Guarantee
from streamsql.planner.plans.logical import Mode


def correct(
    definition: Definition,
    made: str,
    writer: str | None,
    launcher: SparkLauncher,
    client: KafkaClient,
) -> None:
    """Have the topic of a query's table hold, by its keys, what the topic `made` does; with a
    `writer` in transactions of its own. ExternalError where Kafka or Spark fails."""
    context = launcher.context(definition.properties, None, Mode.MICRO_BATCH)
    target = definition.writes or ""
    with told_as(f"the correction of {target}"):
        rows = _corrections(definition, made, context, client)
        settings = producer_settings(context.bootstrap_servers, "catchup")
        write_corrections(rows, {**settings, **context.producer_settings}, target, writer)


def rehearse(
    definition: Definition, made: str, launcher: SparkLauncher, client: KafkaClient
) -> None:
    """Compare without writing anything: the JVM compiles now what nobody waits for yet, which is
    most of the time that a comparison takes. ExternalError where Kafka or Spark fails."""
    context = launcher.context(definition.properties, None, Mode.MICRO_BATCH)
    with told_as(f"the comparison with {definition.writes}"):
        rows = _corrections(definition, made, context, client)
        rows.write.format("noop").mode("overwrite").save()


def _corrections(
    definition: Definition, made: str, context: LoweringContext, client: KafkaClient
) -> DataFrame:
    once = definition.plan.guarantee is Guarantee.EXACTLY_ONCE
    there = replace(context, committed_only=once)
    target = definition.writes or ""
    return _differing(_last(made, context, client), _last(target, there, client))


def _last(topic: str, context: LoweringContext, client: KafkaClient) -> DataFrame:
    """The last record of each key of a topic, were it a tombstone."""
    offsets = offset_ranges([topic], {}, client)
    records = kafka_records(topic, Batch(context, offsets, topic))
    row = F.struct("value", F.unix_millis("timestamp").alias("time"), "headers")
    last = F.max_by(row, F.struct("partition", "offset")).alias("last")
    found = records.where(F.col("key").isNotNull()).groupBy("key").agg(last)
    return found.select("key", "last.value", "last.time", "last.headers")


def _differing(wanted: DataFrame, there: DataFrame) -> DataFrame:
    """The records that make of what is there what is wanted: a key that is not gets a tombstone of
    the time of its last row."""
    old = there.select(
        F.col("key").alias("old_key"), F.col("value").alias("old"), F.col("time").alias("old_time")
    )
    both = wanted.join(old, F.col("key") == F.col("old_key"), "full_outer")
    return both.where(~F.col("value").eqNullSafe(F.col("old"))).select(
        F.coalesce("key", "old_key").alias("key"),
        "value",
        F.coalesce("time", "old_time").alias("timestamp"),
        "headers",
    )
