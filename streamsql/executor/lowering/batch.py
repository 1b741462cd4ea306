"""A pull query in Spark's batch engine: over topics up to their current ends."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, cast

from pyspark.sql import DataFrame, SparkSession

from streamsql.executor.frames.context import (
    INPUT_PARTITIONS,
    NULL_COLUMN,
    LoweringContext,
    Scope,
    quoted,
)
from streamsql.executor.frames.push_rows import push_decoder
from streamsql.executor.operators import sink
from streamsql.executor.operators.lowering import lowering_of
from streamsql.executor.operators.view import present_cells, present_rows
from streamsql.executor.spark.failures import SPARK_FAILURES, rejected
from streamsql.planner.operators import (
    Derived,
    Filter,
    FlatMap,
    Operator,
    Project,
    Qualify,
    Scan,
    Union,
    View,
    operators,
)
from streamsql.planner.plans.delivery import replay_of
from streamsql.planner.plans.needs import needed_columns
from streamsql.planner.plans.query_plan import QueryPlan
from streamsql.planner.plans.statements import PullPlan, ResultOrder
from streamsql.planner.pull.standard import standard_view
from streamsql.results import Row
from streamsql.schema import Kind, Schema

Offsets = Mapping[str, Mapping[int, tuple[int, int]]]
"""By topic and partition: the first offset to read, and the exclusive end."""
Cause = tuple[str, int, int]
"""Topic, partition and offset of a record that was read."""

_WAIT_MS = "5"
"""How long the broker may hold a fetch. A consumer prefetches beyond the end of a batch; the next
batch, which goes back, waits for that fetch first: half a second by default."""
_MOST_HELD = 10_000
"""Records whose rows are held at once on their way out: Spark returns those of a whole task."""
_ROW_BY_ROW = (Scan, Derived, Filter, Project, FlatMap, Qualify, Union)
_JOB_GROUP = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")


@dataclass(frozen=True)
class Batch:
    """One query's batch: where it runs and what it reads."""

    context: LoweringContext
    offsets: Offsets
    query_id: str
    stored: Mapping[str, StoredRecords] = field(default_factory=dict)
    """By topic: records that are read out of a store instead."""


class StoredRecords(Protocol):
    """The records of a view as of an epoch."""

    def frame(self, spark: SparkSession) -> DataFrame:
        """In the columns of Spark's Kafka source."""

    def close(self) -> None: ...


def needs_history(node: Operator, *, history: bool = False) -> bool:
    """Whether a batch of the operator needs earlier versions of the rows of a view, which is joined
    with a stream."""
    if isinstance(node, Scan):
        return history and node.source.is_view
    wanted = lowering_of(type(node)).with_history(node)
    return any(
        needs_history(child, history=history or any(child is each for each in wanted))
        for child in node.inputs
    )


def batch_rows(plan: PullPlan, batch: Batch) -> Iterator[Row]:
    """The answer's rows in the columns of the plan's schema. InternalError if Spark rejects the
    plan; the iterator raises Spark's exception if the query fails."""
    records = _reader(batch, most_at_once(plan.query.root))
    context = replace(batch.context, records=records, raises=True)
    return _decoded(answer_frame(plan, context, batch.query_id), plan.schema, batch.query_id)


def answer_frame(plan: PullPlan, context: LoweringContext, query_id: str) -> DataFrame:
    """The answer's rows, as push_rows.py reads them, in the column `value`; the context provides
    the records. InternalError if Spark rejects the plan."""
    root = plan.query.root
    scope = Scope(context, query_id, plan.query.emit, root, needed_columns(root))
    try:
        if (view := standard_view(plan)) is not None:
            return _standard_answer(view, plan, scope)
        rows = _ordered(_lower(root, scope, history=False), plan)
        return sink.lower_push(rows, plan.schema, "", scope).select("value")
    except SPARK_FAILURES as error:
        raise rejected(error) from error


def _standard_answer(view: View, plan: PullPlan, scope: Scope) -> DataFrame:
    """The rows of a relation, whose columns need no names and none of the system columns: Spark
    analyzes each frame by itself, which is most of the time that a small query takes."""
    inputs = tuple(_lower(scan, scope, history=False) for scan in view.scans)
    ids = {c.name: field.id for c, field in zip(view.columns, view.fields, strict=True)}
    if not plan.order:
        rows, texts = present_cells(view, inputs, scope)
    else:
        order = (_order(replace(each, column=ids[each.column])) for each in plan.order)
        rows, texts = present_rows(view, inputs, scope).orderBy(*order), {}
    cells = [texts.get(id, f"`{id}`") for id in (ids[column.name] for column in plan.schema)]
    return scope.jvm.answer(rows, *sink.pushed_struct(cells, plan.schema))


@dataclass(frozen=True)
class SinkRecords:
    """The output of a persistent query for the given input, as a batch."""

    frame: DataFrame
    """The columns of sink.py, with the partition and the offset of the record that caused each row;
    partitions of the second input are counted from INPUT_PARTITIONS."""
    inputs: tuple[str, ...]
    """The topics of the inputs, in order."""


def cause_of(partition: int, offset: int, inputs: Sequence[str]) -> Cause:
    """The record to which these columns of SinkRecords refer; `inputs`: its topics."""
    number, own = divmod(partition, INPUT_PARTITIONS)
    return inputs[number], own, offset


def as_bytes(data: bytearray | None) -> bytes | None:
    return None if data is None else bytes(data)


def sink_records(plan: QueryPlan, context: LoweringContext, query_id: str) -> SinkRecords:
    """The records of a plan whose only state is the table of a join; failures are logged under
    `query_id`. InternalError if Spark rejects the plan."""
    root, replay = plan.root, replay_of(plan.root)
    scope = Scope(context, query_id, plan.emit, root, needed_columns(root), replay=replay)
    try:
        frame = _lower(root, scope, history=False)
    except SPARK_FAILURES as error:
        raise rejected(error) from error
    return SinkRecords(frame, tuple(scan.source.topic.name for scan in scope.scans))


def _decoded(values: DataFrame, schema: Schema, query_id: str) -> Iterator[Row]:
    """The rows in the order in which Spark computes them; stops when the caller does."""
    context = values.sparkSession.sparkContext
    # The jobs run in a thread that inherits the group.
    context.setJobGroup(query_id, "pull query", interruptOnCancel=True)
    try:
        # A DataFrame's own iterator runs its jobs when its SQL execution has ended: Spark 4.3
        # keeps such jobs permanently, with their results (`DAGScheduler.activeQueryToJobs`).
        records = values.rdd.toLocalIterator(prefetchPartitions=True)
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
    # A stream's record without a value gives no row, as in a push query; a table's is a deletion.
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
    """How many of a topic's records a task may read, so that their rows fit into memory; None: all
    of a partition, since an operator needs them in order."""
    row_by_row = all(
        node.kind is Kind.STREAM and isinstance(node, _ROW_BY_ROW) for node in operators(root)
    )
    return _MOST_HELD if row_by_row else None


def kafka_records(topic: str, batch: Batch, most: int | None = None) -> DataFrame:
    """The topic's records between the batch's offsets; `most` of them per task, else those of a
    whole partition."""
    if (stored := batch.stored.get(topic)) is not None:
        return stored.frame(batch.context.spark)
    partitions = batch.offsets[topic]
    split = {} if most is None else {"maxRecordsPerPartition": str(most)}
    return (
        batch.context.spark.read.format("kafka")
        .options(**batch.context.reader_options)
        # The end of reading is the end at that time.
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


def _lower(node: Operator, scope: Scope, *, history: bool) -> DataFrame:
    lowering = lowering_of(type(node))
    wanted = lowering.with_history(node)
    inputs = tuple(
        _lower(child, scope, history=history or any(child is each for each in wanted))
        for child in node.inputs
    )
    return lowering.batch(node, inputs, scope, history)
