"""Corrections of a table's topic: the rows that differ from the result of its new query.

Bytes of keys and values are compared with the actual content of the topic, so corrections are
repeatable. Spark compares, the JVM writes; no row passes through Python. Both topics are compared
in advance (`compare`); `write` only handles what has arrived since. A small table is held in the
JVM's memory and needs no further Spark job.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamsql.executor.frames.context import LoweringContext
from streamsql.executor.lowering.batch import Batch, kafka_records
from streamsql.executor.queries.definition import Definition
from streamsql.executor.queries.launcher import SparkLauncher
from streamsql.executor.queries.offset_ranges import OffsetRanges, offset_ranges, reported_as
from streamsql.executor.spark.bridge import Bridge
from streamsql.executor.spark.failures import SPARK_FAILURES
from streamsql.executor.spark.jvm import producer_settings
from streamsql.executor.spark.rebuilds import HeldTable
from streamsql.kafka.client import KafkaClient
from streamsql.planner.plans.guarantee import Guarantee
from streamsql.planner.plans.query_plan import Mode

MOST_SINCE = 200_000
"""The number of records after a comparison whose keys are held in memory and looked up in it.
Beyond it the topics are compared as a whole."""
HELD_ROWS, HELD_BYTES = 100_000, 32 << 20
"""Maximum size of a table, with its desired rows, to be held in memory."""
_MADE = ("value", "time", "headers")
_THERE = ("old", "old_time")
_NOTHING = {
    "value": "binary",
    "time": "bigint",
    "headers": "array<struct<key: string, value: binary>>",
}
"""A desired row that does not exist, by the types of its columns."""


@dataclass(frozen=True)
class Comparison:
    """A comparison of two topics up to some offsets."""

    rows: DataFrame
    """By key the desired row (value, time, headers) and the existing one (old, old_time); on
    Spark's disks, unless held."""
    read: OffsetRanges
    held: HeldTable | None = None

    def release(self) -> None:
        """Removes the rows from Spark's storage, if its JVM still runs."""
        with suppress(*SPARK_FAILURES):
            self.rows.unpersist()


class Corrections:
    """Corrections of a table's topic, whose new rows are in a separate topic."""

    def __init__(
        self, target: str, made: str, once: bool, context: LoweringContext, client: KafkaClient
    ) -> None:
        """`once`: counts only rows of committed transactions of the table."""
        self._target = target
        self._made = made
        self._client = client
        self._context = context
        self._contexts = {made: context, target: replace(context, committed_only=once)}

    @staticmethod
    def of(
        definition: Definition, made: str, launcher: SparkLauncher, client: KafkaClient
    ) -> Corrections:
        """Corrections of a rebuilt query, by its result topic."""
        context = launcher.context(definition.properties, None, Mode.MICRO_BATCH)
        once = definition.plan.guarantee is Guarantee.EXACTLY_ONCE
        return Corrections(definition.writes or "", made, once, context, client)

    def compare(self) -> Comparison:
        """The comparison of the topics as of now, which is most of a correction's time: reading,
        and the JVM's compilation. ExternalError if Kafka or Spark fails."""
        with self._reported_as("the comparison with"):
            read = offset_ranges(self._contexts, {}, self._client)
            rows = self._rows(read).persist(StorageLevel.DISK_ONLY)
            if _is_small(rows):
                return self._held(rows, read)
            found = Comparison(rows, read)
            _differing(rows).write.format("noop").mode("overwrite").save()
            since = self._since(found)
            if since is not None:
                _differing(since).write.format("noop").mode("overwrite").save()
            return found

    def write(self, before: Comparison | None, writer: str | None) -> None:
        """Brings the table's topic to the content of the result topic, by key; with a `writer` in
        transactions. ExternalError if Kafka or Spark fails."""
        with self._reported_as("the correction of"):
            settings = producer_settings(self._context.bootstrap_servers, "catchup")
            settings = {**settings, **self._context.producer_settings}
            if before is not None and not self._is_ours(before):
                before = None
            if before is not None and before.held is not None:
                self._advance(before.held)
                before.held.write(settings, writer)
                return
            rows = None if before is None else self._since(before)
            if rows is None:
                rows = self._rows(offset_ranges(self._contexts, {}, self._client))
            bridge = Bridge.of(rows.sparkSession)
            bridge.write_corrections(_differing(rows), settings, self._target, writer)

    def advance(self, before: Comparison) -> None:
        """Reduces the work of `write` in advance. ExternalError if Kafka fails."""
        if before.held is not None and self._is_ours(before):
            with self._reported_as("the comparison with"):
                self._advance(before.held)

    def _is_ours(self, before: Comparison) -> bool:
        """Whether the same Spark still runs."""
        return before.rows.sparkSession is self._context.spark

    def _held(self, rows: DataFrame, read: OffsetRanges) -> Comparison:
        topics = (self._made, self._target)
        settings = [self._contexts[topic].reading_settings for topic in topics]
        ends = [{p: end for p, (_, end) in read[topic].items()} for topic in topics]
        held = HeldTable(rows, settings, topics, ends)
        rows.unpersist()
        return Comparison(rows, read, held)

    def _advance(self, held: HeldTable) -> None:
        held.advance(*(self._client.end_offsets(topic) for topic in (self._made, self._target)))

    def _rows(self, offsets: OffsetRanges) -> DataFrame:
        made, there = (
            _last(topic, self._contexts[topic], offsets, names)
            for topic, names in ((self._made, _MADE), (self._target, _THERE))
        )
        return made.join(there, "key", "full_outer")

    def _since(self, before: Comparison) -> DataFrame | None:
        """The rows with changes: new keys completely, others only if they differ. None: too many
        changes."""
        ends = {topic: self._client.end_offsets(topic) for topic in self._contexts}
        offsets = {
            topic: {p: (before.read[topic].get(p, (0, 0))[1], end) for p, end in partitions.items()}
            for topic, partitions in ends.items()
        }
        count = sum(end - begin for each in offsets.values() for begin, end in each.values())
        if count > MOST_SINCE:
            return None
        made = self._newest(self._made, offsets, _MADE)
        there = self._newest(self._target, offsets, _THERE)
        touched = (
            made.join(there, "key", "full_outer")
            .coalesce(1)  # Each task that writes has a transaction of its own.
            .withColumns(
                {"made": F.col("time").isNotNull(), "there": F.col("old_time").isNotNull()}
            )
        )
        keys = F.broadcast(touched.select("key"))
        known = before.rows.join(keys, "key", "left_semi").select(
            "key", F.struct(*_MADE, *_THERE).alias("known")
        )
        newest = touched.join(known, "key", "left").select(
            "key",
            *(_newest(name, "made") for name in _MADE),
            *(_newest(name, "there") for name in _THERE),
        )
        return newest.unionByName(_unequal(before.rows).join(keys, "key", "left_anti"))

    def _newest(self, topic: str, offsets: OffsetRanges, names: tuple[str, ...]) -> DataFrame:
        """The last records without a job, if there are few."""
        settings = self._contexts[topic].reading_settings
        bridge = Bridge.of(self._context.spark)
        found = bridge.newest_records(settings, topic, offsets[topic])
        return found.select("key", *(F.col(a).alias(b) for a, b in zip(_MADE, names, strict=False)))

    @contextmanager
    def _reported_as(self, what: str) -> Iterator[None]:
        with reported_as(f"{what} {self._target}"):
            yield


def remove_rows(definition: Definition, launcher: SparkLauncher, client: KafkaClient) -> None:
    """Writes a tombstone for each key of a query's topic that has a row. ExternalError if Kafka or
    Spark fails."""
    topic = definition.writes or ""
    context = launcher.context(definition.properties, None, Mode.MICRO_BATCH)
    offsets = offset_ranges([topic], {}, client)
    if all(begin == end for begin, end in offsets[topic].values()):
        return
    with reported_as(f"the removal of the rows of {topic}"):
        there = _last(topic, context, offsets, _THERE)
        made = (F.lit(None).cast(kind).alias(name) for name, kind in _NOTHING.items())
        settings = producer_settings(context.bootstrap_servers, "catchup")
        settings = {**settings, **context.producer_settings}
        rows = _differing(there.select("*", *made))
        Bridge.of(rows.sparkSession).write_corrections(rows, settings, topic, None)


def _last(
    topic: str, context: LoweringContext, offsets: OffsetRanges, names: tuple[str, ...]
) -> DataFrame:
    """The last record of each key of a topic, tombstones included."""
    records = kafka_records(topic, Batch(context, offsets, topic))
    row = F.struct("value", F.unix_millis("timestamp").alias("time"), "headers")
    last = F.max_by(row, F.struct("partition", "offset")).alias("last")
    found = records.where(F.col("key").isNotNull()).groupBy("key").agg(last)
    fields = zip(_MADE, names, strict=False)
    return found.select("key", *(F.col(f"last.{field}").alias(name) for field, name in fields))


def _is_small(rows: DataFrame) -> bool:
    size = F.octet_length("key") + sum(
        F.coalesce(F.octet_length(name), F.lit(0)) for name in ("value", "old")
    )
    found = rows.agg(F.count(F.lit(1)), F.coalesce(F.sum(size), F.lit(0))).first()
    assert found is not None
    count, bytes_held = found
    return bool(count <= HELD_ROWS and bytes_held <= HELD_BYTES)


def _newest(name: str, has_come: str) -> Column:
    return F.when(F.col(has_come), F.col(name)).otherwise(F.col(f"known.{name}")).alias(name)


def _unequal(rows: DataFrame) -> DataFrame:
    return rows.where(~F.col("value").eqNullSafe(F.col("old")))


def _differing(rows: DataFrame) -> DataFrame:
    """The records that turn the existing rows into the desired ones: a removed key gets a tombstone
    with the time of its last row."""
    time = F.coalesce("time", "old_time").alias("timestamp")
    return _unequal(rows).select("key", "value", time, "headers")
