"""A pull query by Spark's batch engine: the operators of streams, over topics up to their ends.

A table that is read, or that an operator makes, is reduced to the latest row of each key at once,
so that what stands above it sees a table that does not change. Only a table that is read and that
a stream is joined with keeps its history: there a row meets what was valid at its time. What the
query itself groups is whole before a row meets it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from streamsql.executor.frames.context import (
    END_COLUMN,
    INPUT_PARTITIONS,
    NULL_COLUMN,
    OFFSET_COLUMN,
    PARTITION_COLUMN,
    START_COLUMN,
    TIME_COLUMN,
    LoweringContext,
    Scope,
    quoted,
)
from streamsql.executor.frames.push_rows import push_decoder
from streamsql.executor.lowering.streaming import lower_operator
from streamsql.executor.operators import filter, sink
from streamsql.executor.operators.aggregation import aggregate
from streamsql.executor.spark.failures import SPARK_FAILURES, rejected
from streamsql.planner.operators.aggregate import Aggregate
from streamsql.planner.operators.derived import Derived
from streamsql.planner.operators.distinct import Distinct
from streamsql.planner.operators.filter import Filter
from streamsql.planner.operators.flat_map import FlatMap
from streamsql.planner.operators.join import Join, JoinKind
from streamsql.planner.operators.operator import Operator, operators
from streamsql.planner.operators.project import Project
from streamsql.planner.operators.qualify import Qualify
from streamsql.planner.operators.scan import Scan
from streamsql.planner.operators.set_operation import SetOperation
from streamsql.planner.operators.top_n import TopN
from streamsql.planner.operators.union import Union
from streamsql.planner.plans.delivery import replay_of
from streamsql.planner.plans.needs import needed_columns
from streamsql.planner.plans.query_plan import QueryPlan
from streamsql.planner.plans.statements import PullPlan, ResultOrder
from streamsql.results import Row
from streamsql.schema import Kind, Schema, WindowType

Offsets = Mapping[str, Mapping[int, tuple[int, int]]]
"""Of topics and partitions: the first offset that is read, and the one where reading ends."""
Cause = tuple[str, int, int]
"""Topic, partition and offset of a record that was read."""

_WAIT_MS = "5"
"""How long the broker may hold a fetch. A consumer fetches ahead, beyond the offset where a batch
ends; the next batch, which goes back, would first wait for that fetch: half a second by default."""
_MOST_HELD = 10_000
"""Records whose rows are held at once on their way out: Spark gives out those of a whole task."""
_ROW_BY_ROW = (Scan, Derived, Filter, Project, FlatMap, Qualify, Union)
_BEFORE_ALL = -(2**63)
"""The time of a row that is there before any other."""
_JOB_GROUP = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")


@dataclass(frozen=True)
class Batch:
    """One query's batch: where it runs and what it reads."""

    context: LoweringContext
    offsets: Offsets
    query_id: str


def batch_rows(plan: PullPlan, batch: Batch) -> Iterator[Row]:
    """The answer's rows in the columns of the plan's schema. InternalError where Spark does not
    accept the plan; what the query dies of comes out of the iterator as Spark's exception."""
    records = _reader(batch, most_at_once(plan.query.root))
    context = replace(batch.context, records=records)
    return _decoded(answer_frame(plan, context, batch.query_id), plan.schema, batch.query_id)


def answer_frame(plan: PullPlan, context: LoweringContext, query_id: str) -> DataFrame:
    """The answer's rows, as push_rows.py reads them, in the column `value`; the context has what
    is read. InternalError where Spark does not accept the plan."""
    root = plan.query.root
    scope = Scope(context, query_id, plan.query.emit, root, needed_columns(root))
    try:
        rows = _ordered(_lower(root, scope, history=False), plan)
        return sink.lower_push(rows, plan.schema, "", scope).select("value")
    except SPARK_FAILURES as error:
        raise rejected(error) from error


@dataclass(frozen=True)
class SinkRecords:
    """What a persistent query would write of what is read, as a batch."""

    frame: DataFrame
    """The columns of sink.py, with the partition and the offset of the record that caused each;
    of the second input partitions are counted from INPUT_PARTITIONS."""
    inputs: tuple[str, ...]
    """The topics of the inputs, in that order."""


def cause_of(partition: int, offset: int, inputs: Sequence[str]) -> Cause:
    """The record that these columns of SinkRecords mean; `inputs`: its topics."""
    number, own = divmod(partition, INPUT_PARTITIONS)
    return inputs[number], own, offset


def as_bytes(data: bytearray | None) -> bytes | None:
    """What PySpark makes of a BINARY in a row, as bytes."""
    return None if data is None else bytes(data)


def sink_records(plan: QueryPlan, context: LoweringContext, query_id: str) -> SinkRecords:
    """The records of a plan that keeps nothing between records but the table of a join; failures
    are logged under `query_id`. InternalError where Spark does not accept the plan."""
    root, replay = plan.root, replay_of(plan.root)
    scope = Scope(context, query_id, plan.emit, root, needed_columns(root), replay=replay)
    try:
        frame = _lower(root, scope, history=False)
    except SPARK_FAILURES as error:
        raise rejected(error) from error
    return SinkRecords(frame, tuple(scan.source.topic.name for scan in scope.scans))


def _decoded(values: DataFrame, schema: Schema, query_id: str) -> Iterator[Row]:
    """The rows as Spark makes them, which ends when nobody reads on."""
    context = values.sparkSession.sparkContext
    # The jobs run in a thread that inherits the group.
    context.setJobGroup(query_id, "pull query", interruptOnCancel=True)
    try:
        records = values.toLocalIterator(prefetchPartitions=True)
    finally:
        for name in _JOB_GROUP:
            context.setLocalProperty(name, cast(Any, None))
    decode = push_decoder(schema)
    ended = False
    try:
        for (value,) in records:
            yield Row(decode(bytes(value)).values)
        ended = True
    finally:
        if not ended:
            context.cancelJobGroup(query_id)


def _ordered(rows: DataFrame, plan: PullPlan) -> DataFrame:
    if plan.query.root.kind is Kind.TABLE:
        rows = rows.where(~quoted(NULL_COLUMN))
    if plan.order:
        rows = rows.orderBy(*map(_order, plan.order))
    rows = rows.offset(plan.offset) if plan.offset else rows
    return rows if plan.limit is None else rows.limit(plan.limit)


def _order(order: ResultOrder) -> Any:
    column = quoted(order.column)
    if order.descending:
        return column.desc_nulls_first() if order.nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if order.nulls_first else column.asc_nulls_last()


# -- records -------------------------------------------------------------------------------------


def _reader(batch: Batch, most: int | None) -> Callable[[str], DataFrame]:
    return lambda topic: kafka_records(topic, batch, most)


def most_at_once(root: Operator) -> int | None:
    """How many of a topic's records a task may read, so that their rows fit into memory together;
    None: all of a partition, whose rows meet each other in an operator, in their order."""
    row_by_row = all(
        node.kind is Kind.STREAM and isinstance(node, _ROW_BY_ROW) for node in operators(root)
    )
    return _MOST_HELD if row_by_row else None


def kafka_records(topic: str, batch: Batch, most: int | None = None) -> DataFrame:
    """The topic's records between the batch's offsets; `most` of them in a task, else those of a
    whole partition."""
    partitions = batch.offsets[topic]
    split = {} if most is None else {"maxRecordsPerPartition": str(most)}
    return (
        batch.context.spark.read.format("kafka")
        .options(**batch.context.reader_options)
        # It answers from what is there when it reads.
        .option("failOnDataLoss", "false")
        .options(**split)
        .option("kafka.fetch.max.wait.ms", _WAIT_MS)
        .option("assign", json.dumps({topic: sorted(partitions)}))
        .option("startingOffsets", _json(topic, {p: first for p, (first, _) in partitions.items()}))
        .option("endingOffsets", _json(topic, {p: end for p, (_, end) in partitions.items()}))
        .load()
    )


def _json(topic: str, offsets: Mapping[int, int]) -> str:
    return json.dumps({topic: {str(partition): offset for partition, offset in offsets.items()}})


# -- operators -----------------------------------------------------------------------------------


def _lower(node: Operator, scope: Scope, *, history: bool) -> DataFrame:
    """The operator's rows; of a table the latest of each key unless its `history` is wanted."""
    inputs = tuple(
        _lower(child, scope, history=history or _keeps_history(node, child))
        for child in node.inputs
    )
    if isinstance(node, Filter) and node.kind is Kind.TABLE:
        return _filtered(node, inputs[0], scope)
    if not history:
        if isinstance(node, Aggregate) and node.input.kind is Kind.TABLE:
            return aggregate.lower_stream(node, inputs[0], scope)
        if isinstance(node, Distinct) and node.kind is Kind.TABLE:
            present = inputs[0].where(~quoted(NULL_COLUMN))
            return present.dropDuplicates([column.name for column in node.schema])
    if isinstance(node, Union | SetOperation):
        inputs = tuple(
            rows.where(~quoted(NULL_COLUMN)) if child.kind is Kind.TABLE else rows
            for child, rows in zip(node.inputs, inputs, strict=True)
        )
    if isinstance(node, Join) and node.joins_own_groups:
        stream, groups = inputs
        inputs = (stream, groups.withColumn(TIME_COLUMN, F.lit(_BEFORE_ALL)))
    rows = lower_operator(node, inputs, scope)
    if history or not _makes_changes(node) or _is_known(node, scope):
        return rows
    return _latest(rows, node, scope)


def _keeps_history(node: Operator, child: Operator) -> bool:
    return (
        isinstance(node, Join)
        and node.join_kind is JoinKind.STREAM_TABLE
        and child is node.right
        and not node.joins_own_groups
    )


def _makes_changes(node: Operator) -> bool:
    """Whether the operator's rows are the changes of a table, of which a key can have several."""
    if isinstance(node, Scan | Join | TopN):
        return node.kind is Kind.TABLE
    return (
        isinstance(node, Aggregate)
        and node.window is not None
        and node.window.type is WindowType.SESSION
    )


def _is_known(node: Operator, scope: Scope) -> bool:
    """Whether the latest rows are what was read."""
    return isinstance(node, Scan) and scope.context.table is not None


def _filtered(node: Filter, rows: DataFrame, scope: Scope) -> DataFrame:
    """A row that fails is one that is deleted: of a table that does not change, it is left out
    like any other."""
    return rows.withColumn(NULL_COLUMN, ~filter.passes(node, scope))


def _latest(rows: DataFrame, node: Operator, scope: Scope) -> DataFrame:
    """The last row of each key."""
    key = [*(column.name for column in node.schema.key), START_COLUMN, END_COLUMN]
    rest = [name for name in rows.columns if name not in key and _is_needed(name, node, scope)]
    place = F.struct(quoted(OFFSET_COLUMN), quoted(PARTITION_COLUMN))
    last = F.max_by(F.struct(*map(quoted, rest)), place).alias("$last")
    found = rows.groupBy(*map(quoted, key)).agg(last)
    columns: Sequence[str] = [name for name in rows.columns if name in key or name in rest]
    return found.select(
        *(
            quoted(name) if name in key else quoted("$last").getField(name).alias(name)
            for name in columns
        )
    )


def _is_needed(name: str, node: Operator, scope: Scope) -> bool:
    """Whether an operator above reads the column, be it under the name that Qualify gives it."""
    needed = scope.needed_above(node)
    if needed is None or name.startswith("$"):
        return True
    return any(other == name or other.endswith(f".{name}") for other in needed)
