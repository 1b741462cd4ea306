"""What the JVM does for queries that are built anew: how far they read, what tables are told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pyspark.sql import DataFrame, SparkSession


def read_until(spark: SparkSession, query_id: str, offsets: str | None) -> None:
    """Have the micro-batches of a query read no further than these offsets, Spark's JSON, be it
    running already; None: they read all there is."""
    until = cast(Any, spark)._jvm.io.streamsql.source.ReadUntil
    if offsets is None:
        until.clear(query_id)
    else:
        until.set(query_id, offsets)


def write_corrections(
    rows: DataFrame, producer_settings: Mapping[str, str], topic: str, writer: str | None
) -> None:
    """Write a batch of key, value, timestamp in ms and headers; returns when Kafka has them. With a
    `writer` in transactions: see io.streamsql.delivery.Corrections."""
    jvm = cast(Any, rows.sparkSession)._jvm
    settings = jvm.java.util.HashMap()
    for name, value in producer_settings.items():
        settings.put(name, value)
    jvm.io.streamsql.delivery.Corrections.write(cast(Any, rows)._jdf, settings, topic, writer)
