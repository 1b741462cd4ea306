"""The JVM's part of rebuilds: progress, corrections of tables, state migration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame
from pyspark.sql.streaming.query import StreamingQuery

from streamsql.executor.spark.java_maps import java_map


def read_until(spark: SparkSession, query_id: str, offsets: str | None) -> None:
    """Limits the micro-batches of a query, also of a running one, to these offsets in Spark's JSON;
    None: unlimited."""
    until = cast(Any, spark)._jvm.io.streamsql.source.ReadUntil
    if offsets is None:
        until.clear(query_id)
    else:
        until.set(query_id, offsets)


def newest_records(
    spark: SparkSession,
    consumer_settings: Mapping[str, str],
    topic: str,
    offsets: Mapping[int, tuple[int, int]],
) -> DataFrame:
    """Of these offsets of a topic, the first and the one behind the last of each partition, the
    last record of each key: key, value, time in ms and headers. They are read now, without a job of
    Spark: see io.streamsql.delivery.NewestRecords."""
    session, jvm = cast(Any, spark)._jsparkSession, cast(Any, spark)._jvm
    settings = java_map(jvm, consumer_settings)
    begins = java_map(jvm, {partition: begin for partition, (begin, _) in offsets.items()})
    ends = java_map(jvm, {partition: end for partition, (_, end) in offsets.items()})
    read = jvm.io.streamsql.delivery.NewestRecords.read
    return ClassicDataFrame(read(session, settings, topic, begins, ends), spark)


class HeldTable:
    """A small table in the JVM's memory with its desired rows: see
    io.streamsql.delivery.HeldTable."""

    def __init__(
        self,
        rows: DataFrame,
        consumer_settings: Sequence[Mapping[str, str]],
        topics: Sequence[str],
        ends: Sequence[Mapping[int, int]],
    ) -> None:
        """The rows of a comparison: key, value, time in ms, headers, and existing value and time.
        The first topic is that of the desired rows."""
        self._jvm = jvm = cast(Any, rows.sparkSession)._jvm
        settings, names, read = (jvm.java.util.ArrayList() for _ in range(3))
        for each, topic, offsets in zip(consumer_settings, topics, ends, strict=True):
            settings.add(java_map(jvm, each))
            names.add(topic)
            read.add(java_map(jvm, offsets))
        self._java = jvm.io.streamsql.delivery.HeldTable(
            cast(Any, rows)._jdf, settings, names, read
        )

    def advance(self, wanted: Mapping[int, int], there: Mapping[int, int]) -> None:
        """Read both topics up to these offsets."""
        self._java.advance(java_map(self._jvm, wanted), java_map(self._jvm, there))

    def write(self, producer_settings: Mapping[str, str], writer: str | None) -> None:
        """Write what differs into the table's topic, as `write_corrections` does."""
        self._java.write(java_map(self._jvm, producer_settings), writer)


def write_corrections(
    rows: DataFrame, producer_settings: Mapping[str, str], topic: str, writer: str | None
) -> None:
    """Write a batch of key, value, timestamp in ms and headers; returns when Kafka has them. With a
    `writer` in transactions: see io.streamsql.delivery.Corrections."""
    jvm = cast(Any, rows.sparkSession)._jvm
    settings = java_map(jvm, producer_settings)
    jvm.io.streamsql.delivery.Corrections.write(cast(Any, rows)._jdf, settings, topic, writer)


class GroupLayout:
    """Spark's layout of a query's groups in a planned batch: see io.streamsql.state.GroupLayout."""

    def __init__(self, spark: SparkSession, query: StreamingQuery) -> None:
        """ValueError for a query whose state is of another kind, for example an ended one."""
        layouts = cast(Any, spark)._jvm.io.streamsql.state.GroupLayout
        try:
            self.java = layouts.of(cast(Any, query)._jsq)
        except Py4JJavaError as error:
            raise ValueError(str(error.java_exception.getMessage())) from error

    def obstacle_from(self, other: GroupLayout) -> str | None:
        """Why state of the other one cannot become that of this one; None: it can."""
        found = self.java.obstacleFrom(other.java)
        return None if found is None else str(found)


@dataclass(frozen=True)
class GroupStores:
    """The stores of a query's groups, as the last commit of a checkpoint has left them."""

    checkpoint: str
    metadata: str
    """Of the batch, in the offset log."""
    version: int
    ids: Sequence[str]
    """Committed ids by partition."""
    layout: GroupLayout


def rewrite_groups(spark: SparkSession, old: GroupStores, new: GroupStores) -> list[str]:
    """Fills the new, empty stores from the old ones; returns the commit ids by partition."""
    session, package = cast(Any, spark)._jsparkSession, cast(Any, spark)._jvm.io.streamsql.state
    both = []
    for stores in (old, new):
        ids = cast(Any, spark)._jvm.java.util.ArrayList()
        for each in stores.ids:
            ids.add(each)
        layout = stores.layout.java
        both.append(
            package.GroupStores(
                session, stores.checkpoint, stores.metadata, stores.version, ids, layout
            )
        )
    return [str(found) for found in package.GroupRewrite.run(session, *both)]


def repartition(spark: SparkSession, checkpoint: str, number: int) -> None:
    """Repartitions the state in a checkpoint, which adds a batch."""
    cast(Any, spark)._streamingCheckpointManager.repartition(checkpoint, number)
