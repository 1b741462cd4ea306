"""Lowers a logical plan to a Spark streaming frame; start.py starts it."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame

from streamsql.errors import InternalError
from streamsql.executor.frames.context import (
    NULL_COLUMN,
    LoweringContext,
    Scope,
    StreamingQuerySpec,
    quoted,
)
from streamsql.executor.frames.layouts import Layouts, names_of
from streamsql.executor.lowering.epochs import of_push
from streamsql.executor.lowering.views import inputs_of, is_view
from streamsql.executor.operators import aggregate, database_sink, file_sink, iceberg_sink, sink
from streamsql.executor.operators.lowering import lowering_of
from streamsql.executor.spark.external import ExternalTarget
from streamsql.executor.spark.failures import SPARK_FAILURES, rejected
from streamsql.planner.operators import (
    DatabaseSink,
    Export,
    FileSink,
    IcebergSink,
    Limit,
    Operator,
    Scan,
    Sink,
    operators,
    state_stores,
)
from streamsql.planner.plans.delivery import replay_of
from streamsql.planner.plans.guarantee import Guarantee
from streamsql.planner.plans.needs import needed_columns
from streamsql.planner.plans.query_plan import Mode, QueryPlan
from streamsql.planner.plans.window_bounds import window_bounds
from streamsql.schema import Kind


def lower(plan: QueryPlan, context: LoweringContext) -> StreamingQuerySpec:
    """A persistent query, ready to start. UnsupportedError for unsupported plans."""
    if plan.query_id is None or not isinstance(plan.root, Sink | Export):
        raise InternalError("a persistent query needs an id and a sink")
    read = needed_columns(plan.root)
    needed = needed_columns(plan.root, names_of(context.kept)) if context.kept else read
    layouts = Layouts(context.kept, context.begun)
    exactly_once = plan.guarantee is Guarantee.EXACTLY_ONCE
    replay = replay_of(plan.root) if exactly_once and isinstance(plan.root, Sink) else None
    # A view shows all of a transaction or nothing.
    context = replace(context, committed_only=exactly_once or is_view(plan.root))
    scope = Scope(
        context,
        plan.query_id,
        plan.emit,
        plan.root,
        needed,
        read=read,
        layouts=layouts,
        replay=replay,
    )
    if is_view(plan.root):
        return _lower_view(plan, scope)
    rows = lower_rows(plan.root, scope)
    if bool(state_stores(plan.root)) != bool(layouts.stores):
        raise InternalError("an operator does not declare the layout of its state")
    return _spec(plan, scope, rows)


def _lower_view(plan: QueryPlan, scope: Scope) -> StreamingQuerySpec:
    inputs = inputs_of(plan.root, scope)
    context = replace(scope.context, records=inputs.input, dataflow=inputs.dataflow)
    inputs.dataflow.end(lower_rows(plan.root, replace(scope, context=context)))
    return replace(_spec(plan, scope, inputs.records), view=inputs.dataflow)


def lower_push(
    plan: QueryPlan, context: LoweringContext, topic: str, *, progress: bool | None = None
) -> StreamingQuerySpec:
    """A push query: its rows go to `topic` (one partition, created by the caller) in the form that
    push_rows.py reads. A row of a stream without a value is dropped; of a table it is a
    tombstone. `progress`: of one that follows the epochs of views, whether those without news have
    marks."""
    if progress is not None:
        epochs = of_push(plan.root, topic, context, progress=progress)
        context = replace(context, epochs=epochs, committed_only=True)
    scope = Scope(context, plan.query_id or topic, plan.emit, plan.root, needed_columns(plan.root))
    rows = lower_rows(plan.root, scope)
    if plan.root.kind is Kind.STREAM:
        rows = rows.where(~quoted(NULL_COLUMN))
    bounds = window_bounds(plan.root)
    return _spec(plan, scope, sink.lower_push(rows, plan.root.schema, topic, scope, bounds))


def lower_rows(root: Operator, scope: Scope) -> DataFrame:
    """The rows of a plan. InternalError if Spark rejects the lowered plan, ExternalError if Spark
    has stopped."""
    try:
        return _lower(root, scope)
    except SPARK_FAILURES as error:
        raise rejected(error) from error


def _lower(node: Operator, scope: Scope) -> DataFrame:
    inputs = tuple(_lower(child, scope) for child in node.inputs)
    return lowering_of(type(node)).stream(node, inputs, scope)


def _external(root: Operator, scope: Scope) -> ExternalTarget | None:
    match root:
        case FileSink():
            return file_sink.target_of(root)
        case DatabaseSink():
            return database_sink.target_of(root, scope)
        case IcebergSink():
            return iceberg_sink.target_of(root, scope)
    return None


def _spec(plan: QueryPlan, scope: Scope, frame: DataFrame) -> StreamingQuerySpec:
    context = scope.context
    nodes = list(operators(plan.root))
    limits = [node.count for node in nodes if isinstance(node, Limit)]
    return StreamingQuerySpec(
        query_id=scope.query_id,
        frame=frame,
        output_mode=aggregate.output_mode(nodes, plan.emit),
        real_time_allowed=plan.mode.mode is Mode.REAL_TIME,
        shuffles=len(scope.shuffles),
        source_topics=tuple(n.source.topic.name for n in nodes if isinstance(n, Scan)),
        checkpoint=context.checkpoints / scope.query_id,
        stores=tuple(scope.layouts.stores),
        shuffle_partitions=context.shuffle_partitions,
        bootstrap_servers=context.bootstrap_servers,
        producer_settings={**context.producer_settings, **context.lease},
        log=scope.log,
        jvm=scope.jvm,
        replay=scope.replay,
        external=_external(plan.root, scope),
        muted=context.muted,
        limit=min(limits, default=None),
    )
