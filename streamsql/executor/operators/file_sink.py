"""FileSink: rows in the form of files."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamsql.executor.frames.context import Scope, quoted
from streamsql.executor.operators.lowering import Inputs, Lowering, row_by_row
from streamsql.executor.spark.external import FileTarget
from streamsql.executor.spark.types import spark_type
from streamsql.planner.operators import FileSink
from streamsql.types import (
    BYTES,
    TIME,
    SQLType,
    element_type,
    fields,
    is_array,
    is_map,
    is_struct,
    key_type,
)


def lower(node: FileSink, inputs: Inputs, scope: Scope) -> DataFrame:
    """The columns of the files. A record without a value becomes a row of its key."""
    text_only = node.target.format == "CSV"
    (rows,) = inputs
    return rows.where(scope.jvm.written(scope.query_id)).select(
        *(held(quoted(c.name), c.type, text_only).alias(c.name) for c in node.schema)
    )


def target_of(node: FileSink) -> FileTarget:
    return FileTarget(node.target.path, node.target.format, node.partition_by, node.interval_ms)


def held(value: Column, t: SQLType, text_only: bool) -> Column:
    """A value in the form of files: Spark has no TIME, and text formats no BYTES."""
    if t == TIME:
        return F.date_format(F.timestamp_millis(value), "HH:mm:ss.SSS")
    if t == BYTES and text_only:
        return F.base64(value)
    if not _has_time(t):
        return value.cast(spark_type(t))
    if is_array(t):
        return F.transform(value, lambda e: held(e, element_type(t), text_only))
    if is_map(t):
        keys, values = key_type(t), element_type(t)
        entries = F.transform(
            F.map_entries(value),
            lambda e: F.struct(
                held(e["key"], keys, text_only), held(e["value"], values, text_only)
            ),
        )
        return F.map_from_entries(entries)
    found = (held(value[name], kind, text_only).alias(name) for name, kind in fields(t))
    return F.when(value.isNotNull(), F.struct(*found))


def _has_time(t: SQLType) -> bool:
    if is_array(t):
        return _has_time(element_type(t))
    if is_map(t):
        return _has_time(key_type(t)) or _has_time(element_type(t))
    return t == TIME or (is_struct(t) and any(_has_time(kind) for _, kind in fields(t)))


LOWERING = Lowering(lower, row_by_row(lower))
