"""Sink: rows become Kafka records, for a topic of the user or for a push query's reader."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from streamsql.executor.frames.context import (
    END_COLUMN,
    HEADERS_COLUMN,
    HEADERS_TYPE,
    NULL_COLUMN,
    OFFSET_COLUMN,
    PARTITION_COLUMN,
    START_COLUMN,
    TIME_COLUMN,
    Scope,
    quoted,
    record_type,
)
from streamsql.executor.frames.event_time import event_time
from streamsql.executor.frames.push_rows import BOUNDS, of_key, push_columns
from streamsql.executor.frames.records import key_side, value_side
from streamsql.executor.operators.constraints import results_meeting_constraints
from streamsql.executor.operators.lowering import Inputs, Lowering, row_by_row
from streamsql.executor.spark.jvm import SideFormat
from streamsql.executor.spark.types import spark_type
from streamsql.planner.operators import Operator, Repartition, Sink
from streamsql.schema import Column as SchemaColumn
from streamsql.schema import Schema
from streamsql.types import BOOLEAN


def lower(node: Sink, inputs: Inputs, scope: Scope) -> DataFrame:
    rows = results_meeting_constraints(inputs[0], node, scope)
    schema, topic = node.target.schema, node.target.topic
    time = quoted(TIME_COLUMN)
    if node.timestamp is not None:
        # The sink rejects a null or negative time; a deleted row keeps its own.
        found = event_time(node.timestamp, schema)
        time = F.when(quoted(NULL_COLUMN), time).otherwise(F.coalesce(found, F.lit(-1)))
    value = F.when(~quoted(NULL_COLUMN), _struct(schema.value))
    side = value_side(topic, schema, scope.context.schemas.writing)
    muted = scope.context.muted
    name = topic.name if muted is None or muted.topic is None else muted.topic
    return rows.select(
        F.lit(name).alias("topic"),
        _key(node, schema, scope).alias("key"),
        scope.jvm.encode(value, side, scope.log, "value").alias("value"),
        time.alias("timestamp"),
        quoted(HEADERS_COLUMN).alias("headers"),
        *_cause(scope),
    )


def _cause(scope: Scope) -> list[Column]:
    """The record that caused the row, for exactly-once delivery."""
    if scope.replay is None:
        return []
    partition, offset = (
        (quoted(PARTITION_COLUMN), quoted(OFFSET_COLUMN))
        if scope.names_causes
        else (F.lit(0), F.lit(0))
    )
    return [partition.cast("int").alias("partition"), offset.cast("bigint").alias("offset")]


def lower_push(
    rows: DataFrame, schema: Schema, topic: str, scope: Scope, bounds: Collection[str] = BOUNDS
) -> DataFrame:
    """Rows as JSON with all columns and whether they are tombstones, as push_rows.py reads them.
    `bounds` are the columns that hold the bounds of a row's window."""
    *names, tombstone = push_columns(schema)
    present = ~quoted(NULL_COLUMN)
    cells = []
    for name, column in zip(names, schema, strict=True):
        value = _cast(column)
        if not of_key(column, bounds):
            value = F.when(present, value)
        cells.append(value.alias(name))
    struct = F.struct(*cells, quoted(NULL_COLUMN).alias(tombstone))
    side = SideFormat("JSON", _pushed_type(schema))
    return rows.select(
        F.lit(topic).alias("topic"),
        F.lit(None).cast("binary").alias("key"),
        scope.jvm.encode(struct, side).alias("value"),
        F.lit(None).cast("bigint").alias("timestamp"),
        F.lit(None).cast(HEADERS_TYPE).alias("headers"),
    )


def pushed_struct(cells: Sequence[str], schema: Schema) -> tuple[str, StructType]:
    """What `lower_push` encodes, of rows that are no tombstones, in SQL: their cells, in the types
    of the schema."""
    *names, tombstone = push_columns(schema)
    parts = (f"'{name}', {cell}" for name, cell in zip(names, cells, strict=True))
    return f"named_struct({', '.join(parts)}, '{tombstone}', false)", _pushed_type(schema)


def _pushed_type(schema: Schema) -> StructType:
    *names, tombstone = push_columns(schema)
    fields = [SchemaColumn(name, c.type) for name, c in zip(names, schema, strict=True)]
    return record_type([*fields, SchemaColumn(tombstone, BOOLEAN)])


def _key(node: Sink, schema: Schema, scope: Scope) -> Column:
    if not schema.key:
        return F.lit(None).cast("binary")
    columns = [quoted(c.name) for c in schema.key]
    side = key_side(node.target.topic, schema, scope.context.schemas.writing)
    fields = [_cast(c) for c in schema.key]
    if node.target.is_windowed:
        fields += [quoted(START_COLUMN), quoted(END_COLUMN)]
    struct = F.struct(*fields)
    if len(columns) == 1 or not _has_repartition(node):
        # A record without a key has null in every key column; PARTITION BY several expressions
        # keeps a key of nulls.
        struct = F.when(~reduce(and_, (c.isNull() for c in columns)), struct)
    return scope.jvm.encode(struct, side, scope.log, "key")


def _struct(columns: Sequence[SchemaColumn]) -> Column:
    return F.struct(*(_cast(column) for column in columns))


def _cast(column: SchemaColumn) -> Column:
    """The column in exactly the type that the encoder reads; a no-op if it has that already."""
    return quoted(column.name).cast(spark_type(column.type)).alias(column.name)


def _has_repartition(plan: Operator) -> bool:
    return isinstance(plan, Repartition) or any(_has_repartition(i) for i in plan.inputs)


LOWERING = Lowering(lower, row_by_row(lower))
