"""A query's plan as a batch over the log, against what the query has written.

Both sides are compared in Spark, by the bytes of keys and values: what does not fit into memory it
puts aside. What comes back are counts, and a few examples of each kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import reduce

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from streamsql.executor.frames.context import INPUT_PARTITIONS, LoweringContext
from streamsql.executor.lowering.batch import (
    Batch,
    Cause,
    SinkRecords,
    as_bytes,
    cause_of,
    kafka_records,
    sink_records,
)
from streamsql.executor.queries.offset_ranges import OffsetRanges, reported_as
from streamsql.kafka.positions import Positions
from streamsql.planner.plans.delivery import Replay, replay_of
from streamsql.planner.plans.query_plan import QueryPlan
from streamsql.schema import Kind

_BUCKETS = 4
"""Examples of each kind, at most."""
_PLACE = "struct<partition:int,offset:bigint>"


class Finding(Enum):
    """How rows of both sides compare."""

    SAME = "the same"
    MISSING = "missing"
    EXTRA = "not expected"
    DIFFERENT = "different"
    REPEATED = "written more than once"
    UNSETTLED = "changing just now"


@dataclass(frozen=True)
class Example:
    """An example row of a finding; None is unknown or missing."""

    key: bytes | None
    expected: bytes | None
    found: bytes | None
    cause: Cause | None
    """The record that makes the row."""
    place: tuple[int, int] | None
    """Partition and offset of the row in the sink."""


@dataclass(frozen=True)
class Found:
    """All rows of a kind."""

    finding: Finding
    count: int
    examples: tuple[Example, ...]


@dataclass(frozen=True)
class Verification:
    """The scope of a comparison."""

    plan: QueryPlan
    context: LoweringContext
    committed: Positions
    """Positions before which all rows have been written."""
    inputs: OffsetRanges
    """Positions before which rows may have been written."""
    sink: str
    written: OffsetRanges
    query_id: str
    """Of the batch, in the logs."""

    def results(self) -> list[Found]:
        """All kinds of findings. ExternalError if Spark fails."""
        with reported_as("the verification"):
            table = self.plan.root.kind is Kind.TABLE
            rows, topics = self._of_table() if table else self._of_stream()
            return _collected(rows, topics)

    # -- streams ---------------------------------------------------------------------------------

    def _of_stream(self) -> tuple[DataFrame, Sequence[str]]:
        """Equal rows are counted: as many must be there as records before the commit make, and may
        be there as all make."""
        expected, topics = self._expected()
        there = (
            self._written()
            .groupBy("key", "value")
            .agg(
                F.count(F.lit(1)).alias("there"), F.min(F.struct("partition", "offset")).alias("at")
            )
        )
        rows = _joined(expected, there, ["key", "value"])
        due, most, there_ = (F.coalesce(F.col(c), F.lit(0)) for c in ("due", "most", "there"))
        kinds = F.array(
            _kind(Finding.SAME, F.least(there_, most)),
            _kind(Finding.MISSING, due - there_),
            _kind(Finding.EXTRA, F.when(most == 0, there_).otherwise(0)),
            _kind(Finding.REPEATED, F.when(most > 0, there_ - most).otherwise(0)),
        )
        value = F.col("value")
        return (
            rows.select(
                "key",
                F.when(most > 0, value).alias("expected"),
                F.when(there_ > 0, value).alias("found"),
                "cause",
                "at",
                F.explode(F.filter(kinds, lambda k: k["count"] > 0)).alias("kind"),
            ),
            topics,
        )

    def _expected(self) -> tuple[DataFrame, Sequence[str]]:
        """Of equal rows how many are due, how many there may be, and the record of the first."""
        made = self._made(self.inputs)
        if replay_of(self.plan.root) is not Replay.TASK:
            due = (F.col("offset") < self._due(made.inputs)).cast("long")
            cause = F.min(F.struct("partition", "offset")).alias("cause")
            rows = made.frame.select("key", "value", "partition", "offset", due.alias("due"))
            most = F.count(F.lit(1)).alias("most")
            grouped = rows.groupBy("key", "value").agg(F.sum("due").alias("due"), most, cause)
            return grouped, made.inputs
        # Which records a row is of is not known: the rows up to the commit are made apart.
        counted = _counted(made.frame, "most")
        if self._until_commit() == self.inputs:
            counted = counted.withColumn("due", F.col("most"))
        else:
            due_rows = _counted(self._made(self._until_commit()).frame, "due")
            counted = _joined(counted, due_rows, ["key", "value"])
        return counted.withColumn("cause", F.lit(None).cast(_PLACE)), ()

    def _due(self, topics: Sequence[str]) -> Column:
        """Of the row's record, the offset before which the query has committed."""
        pairs = [
            F.lit(value)
            for number, topic in enumerate(topics)
            for partition, offset in self.committed.get(topic, {}).items()
            for value in (number * INPUT_PARTITIONS + partition, offset)
        ]
        none = F.lit(0).cast("bigint")
        if not pairs:
            return none
        return F.coalesce(F.try_element_at(F.create_map(*pairs), F.col("partition")), none)

    # -- tables ----------------------------------------------------------------------------------

    def _of_table(self) -> tuple[DataFrame, Sequence[str]]:
        """The last row of each key. A key whose value differs between the commit and the end is
        changing: its intermediate values are unknown."""
        settled = _without_nulls(self._made(self._until_commit()).frame, "settled")
        sides = [settled]
        if self._until_commit() != self.inputs:
            sides.append(_without_nulls(self._made(self.inputs).frame, "latest"))
        last = F.max_by(F.struct("value", "partition", "offset"), F.struct("partition", "offset"))
        written = (
            self._written()
            .groupBy("key")
            .agg(last.alias("last"))
            .select(
                "key",
                F.col("last.value").alias("value"),
                F.struct("last.partition", "last.offset").alias("at"),
            )
        )
        sides.append(written.where(F.col("value").isNotNull()))
        rows = reduce(lambda left, right: _joined(left, right, ["key"]), sides)
        rows = rows.where(F.col("settled").isNotNull() | F.col("value").isNotNull())
        expected, found = F.col("settled"), F.col("value")
        latest = F.col("latest") if len(sides) == 3 else expected
        kind = (
            F.when(found.eqNullSafe(expected) | found.eqNullSafe(latest), Finding.SAME.name)
            .when(~expected.eqNullSafe(latest), Finding.UNSETTLED.name)
            .when(found.isNull(), Finding.MISSING.name)
            .when(expected.isNull(), Finding.EXTRA.name)
            .otherwise(Finding.DIFFERENT.name)
        )
        return (
            rows.select(
                "key",
                expected.alias("expected"),
                found.alias("found"),
                F.lit(None).cast(_PLACE).alias("cause"),
                "at",
                F.struct(kind.alias("name"), F.lit(1).cast("bigint").alias("count")).alias("kind"),
            ),
            (),
        )

    # -- both sides ------------------------------------------------------------------------------

    def _until_commit(self) -> OffsetRanges:
        return {
            topic: {
                p: (first, max(first, min(end, self.committed.get(topic, {}).get(p, 0))))
                for p, (first, end) in partitions.items()
            }
            for topic, partitions in self.inputs.items()
        }

    def _made(self, ranges: OffsetRanges) -> SinkRecords:
        batch = Batch(self.context, ranges, self.query_id)
        context = replace(
            self.context, records=lambda topic: kafka_records(topic, batch), processing_log_topic=""
        )
        return sink_records(self.plan, context, self.query_id)

    def _written(self) -> DataFrame:
        context = replace(self.context, committed_only=True)
        return kafka_records(self.sink, Batch(context, self.written, self.query_id))


def _counted(frame: DataFrame, name: str) -> DataFrame:
    return frame.groupBy("key", "value").agg(F.count(F.lit(1)).alias(name))


def _without_nulls(frame: DataFrame, name: str) -> DataFrame:
    return frame.where(F.col("value").isNotNull()).select("key", F.col("value").alias(name))


def _joined(left: DataFrame, right: DataFrame, keys: Sequence[str]) -> DataFrame:
    """All rows of both, by keys of which null is one."""
    other = right.select(*(F.col(c).alias(f"other {c}" if c in keys else c) for c in right.columns))
    same = reduce(lambda a, b: a & b, (F.col(c).eqNullSafe(F.col(f"other {c}")) for c in keys))
    found = left.join(other, same, "full_outer")
    # Both are null where the key is.
    names = [F.coalesce(F.col(c), F.col(f"other {c}")).alias(c) for c in keys]
    rest = [c for c in (*left.columns, *right.columns) if c not in keys]
    return found.select(*names, *rest)


def _kind(finding: Finding, count: Column) -> Column:
    return F.struct(F.lit(finding.name).alias("name"), count.cast("bigint").alias("count"))


def _collected(rows: DataFrame, topics: Sequence[str]) -> list[Found]:
    """The counts, with the first example of each bucket of keys."""
    of = F.struct("cause", "at", "key", "expected", "found")
    told = F.col("kind.name") != Finding.SAME.name
    grouped = (
        rows.groupBy(
            F.col("kind.name").alias("name"),
            F.when(told, F.pmod(F.hash("key", "expected", "found"), F.lit(_BUCKETS))).alias(
                "bucket"
            ),
        )
        .agg(
            F.sum("kind.count").alias("count"),
            F.min(F.when(told, of)).alias("example"),
        )
        .collect()
    )
    found = []
    for finding in Finding:
        parts = [row for row in grouped if row["name"] == finding.name]
        if parts:
            examples = [_example(row["example"], topics) for row in parts if row["example"]]
            examples.sort(key=lambda e: (e.cause or ("",), e.place or ()))
            found.append(Found(finding, sum(row["count"] for row in parts), tuple(examples)))
    return found


def _example(row: Row, topics: Sequence[str]) -> Example:
    cause, at = row["cause"], row["at"]
    record = None
    if cause is not None and topics:
        record = cause_of(cause["partition"], cause["offset"], topics)
    place = None if at is None else (at["partition"], at["offset"])
    key, expected, found = (as_bytes(row[name]) for name in ("key", "expected", "found"))
    return Example(key, expected, found, record, place)
