"""A materialized view becomes a frame of its topics' records and the dataflow that follows them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, reduce

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from streamsql.executor.frames.context import Scope
from streamsql.executor.lowering.epochs import of_view
from streamsql.executor.operators.scan import topic_records
from streamsql.executor.spark.views import Dataflow
from streamsql.planner.operators import Operator, Scan, Sink, View, operators
from streamsql.planner.relational.algebra import Relation, TemporalFilter, TemporalJoin, relations
from streamsql.schema import Kind


@dataclass(frozen=True)
class ViewInputs:
    """The topics of a view, each once, and where their records enter the dataflow."""

    records: DataFrame
    """Those of all topics, as a stream."""
    dataflow: Dataflow
    input: Callable[[str], DataFrame]
    """Of a topic: its records of a batch, for the lowering of a scan."""


def is_view(root: Operator) -> bool:
    return any(isinstance(operator, View) for operator in operators(root))


def follows_clock(root: Operator) -> bool:
    """Whether rows of a view come or go without a record."""
    return _has(root, TemporalFilter)


def _joins_on_arrival(root: Operator) -> bool:
    """Whether the batch in which a row arrives decides what it is joined with."""
    return _has(root, TemporalJoin)


def _has(root: Operator, kind: type[Relation]) -> bool:
    return any(
        isinstance(relation, kind)
        for operator in operators(root)
        if isinstance(operator, View)
        for relation in relations(operator.plan.root)
    )


def inputs_of(root: Operator, scope: Scope) -> ViewInputs:
    """A view of constants has batches over its own topic, whose records it does not look at."""
    context = scope.context
    kinds = {s.source.topic.name: s.kind for s in operators(root) if isinstance(s, Scan)}
    if not kinds and isinstance(root, Sink):
        kinds = {root.target.topic.name: Kind.TABLE}
    # Rows of an epoch are joined with the other side's rows of that epoch, also of history.
    most = None if _joins_on_arrival(root) else context.max_records_per_batch
    context = replace(context, epochs=of_view(root, context), max_records_per_batch=most)
    scope = replace(scope, context=context)
    streams = [topic_records(topic, kind, scope) for topic, kind in kinds.items()]
    if follows_clock(root) and context.sleeps:
        streams.append(_clock(streams[0].schema, scope))
    dataflow = Dataflow.of(context.spark, context.shuffle_partitions)
    columns = streams[0].schema

    @cache
    def read(topic: str) -> DataFrame:
        return dataflow.input(topic, columns)

    return ViewInputs(reduce(DataFrame.unionAll, streams), dataflow, read)


def _clock(columns: StructType, scope: Scope) -> DataFrame:
    """No rows, but batches when the clock asks for them."""
    reader = scope.context.spark.readStream.format("io.streamsql.source.ClockSource")
    reader = reader.option("streamsql.columns", columns.json())
    return reader.option("streamsql.query", scope.query_id).load()
