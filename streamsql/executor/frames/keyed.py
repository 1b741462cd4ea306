"""The frames of the state operators, whose input and output are packed rows by key.

An operator's behaviour is defined by its Java class (io.streamsql.operators.KeyedOperator).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from typing import Any, cast

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DoubleType,
    StringType,
    StructField,
    StructType,
)

from streamsql.executor.frames.context import (
    END_COLUMN,
    HEADERS_COLUMN,
    NULL_COLUMN,
    OFFSET_COLUMN,
    PARTITION_COLUMN,
    START_COLUMN,
    TIME_COLUMN,
    Scope,
    quoted,
)
from streamsql.executor.frames.layouts import Columns
from streamsql.executor.spark.types import spark_type
from streamsql.schema import Column as SchemaColumn

KEYED_COLUMNS = ("key", "side", "time", "partition", "offset", "headers", "row")
"""Columns of an operator's input: see KeyedOperator.over."""

# A line of a plan begins with its place in the tree, which is ignored.
_STATEFUL = re.compile(r"^[\s:+|~-]*(TransformWithState|Aggregate|Deduplicate)\b", re.MULTILINE)

_HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
_HEADERS = StructType([StructField("headers", ArrayType(_HEADER))])


def keyed_rows(
    rows: DataFrame, key: Column, side: int, scope: Scope, columns: Sequence[str] | None = None
) -> DataFrame:
    """The frame as one input of an operator; rows with equal `key`, which is packed, meet.

    Packs the named columns, or all; a row without a value keeps only its key, time and headers.
    """
    packed = columns_type(rows, packed_columns(rows, columns))
    struct = F.struct(*(quoted(name) for name in packed.names))
    row = F.when(~quoted(NULL_COLUMN), scope.jvm.pack(struct, packed))
    return input_rows(rows, key, row, side, packed_headers(scope))


def packed_headers(scope: Scope) -> Column:
    """Headers of the frame's rows; null without headers."""
    headers = scope.jvm.pack(F.struct(quoted(HEADERS_COLUMN).alias("headers")), _HEADERS)
    return F.when(quoted(HEADERS_COLUMN).isNotNull(), headers)


def input_rows(
    rows: DataFrame, key: Column, row: Column, side: int = 0, headers: Column | None = None
) -> DataFrame:
    """Rows by a packed key, each with its packed columns (null: none), as KEYED_COLUMNS."""
    none = F.lit(None).cast("binary")
    return rows.select(
        key.alias("key"),
        F.lit(side).alias("side"),
        quoted(TIME_COLUMN).alias("time"),
        quoted(PARTITION_COLUMN).alias("partition"),
        quoted(OFFSET_COLUMN).alias("offset"),
        (none if headers is None else headers).alias("headers"),
        row.alias("row"),
    )


def packed_key(rows: DataFrame, key: Column, scope: Scope) -> Column:
    return scope.jvm.pack(key, struct_type(rows, key))


def primary_key(columns: Sequence[SchemaColumn]) -> Column:
    """The primary key of a table's rows: its key columns, and the window of a windowed key."""
    names = [*(column.name for column in columns), START_COLUMN, END_COLUMN]
    return F.struct(*map(quoted, names))


def key_columns(columns: Sequence[SchemaColumn]) -> Columns:
    """Columns of `primary_key` in a layout."""
    names = ((column.name, spark_type(column.type).simpleString()) for column in columns)
    return (*names, (START_COLUMN, "bigint"), (END_COLUMN, "bigint"))


def packed_columns(rows: DataFrame, columns: Sequence[str] | None) -> list[str]:
    """The packed columns of a frame: at least one, so that a row differs from no row."""
    return list(rows.columns if columns is None else columns) or [NULL_COLUMN]


def columns_type(rows: DataFrame, names: Sequence[str]) -> StructType:
    """The type of a struct of the frame's columns of these names."""
    return StructType([rows.schema[name] for name in names])


def struct_type(rows: DataFrame, struct: Column) -> StructType:
    """The type of a struct of the frame's columns, for which Spark analyzes it."""
    found = rows.select(struct.alias("struct")).schema["struct"].dataType
    assert isinstance(found, StructType)
    return found


def operate(inputs: list[DataFrame], operator: str, *arguments: object, scope: Scope) -> DataFrame:
    """The operator, by the name of its class, over its inputs in the order of their sides."""
    scope.shuffles.append(operator)
    return scope.jvm.keyed(merged(inputs), operator, *arguments, log=scope.log)


def merged(inputs: Sequence[DataFrame]) -> DataFrame:
    """All rows of frames with the same columns.

    In real time the reader of a shuffle takes its task's number for that of its partition, so
    shuffled frames have to come first in a union.
    """
    if len(inputs) == 1:
        return inputs[0]
    return reduce(DataFrame.unionAll, sorted(inputs, key=lambda rows: not _is_shuffled(rows)))


def _is_shuffled(rows: DataFrame) -> bool:
    """Whether the frame contains a stateful operator."""
    plan = cast(Any, rows)._jdf.queryExecution().analyzed().toString()
    return _STATEFUL.search(plan) is not None


def routed(results: DataFrame, side: int) -> DataFrame:
    """Rows that an operator routes to another one (RoutedRow), as its input."""
    return results.withColumn("side", F.lit(side)).select(*KEYED_COLUMNS)


def unpacked(packed: str, schema: StructType, scope: Scope) -> Column:
    """The packed columns of a result as a struct; null without a row."""
    return scope.jvm.unpack(F.col(packed), schema)


def unpacked_headers(scope: Scope) -> Column:
    """The headers of the row that caused a result."""
    return scope.jvm.unpack(F.col("headers"), _HEADERS).getField("headers")


def normalized(value: Column, kind: DataType) -> Column:
    """The value in a form in which equal values are identical."""
    if isinstance(kind, DoubleType):
        zero = F.when(value == F.lit(0.0), F.lit(0.0))
        return zero.when(F.isnan(value), F.lit(float("nan"))).otherwise(value)
    if isinstance(kind, ArrayType) and _has_doubles(kind):
        return F.transform(value, lambda element: normalized(element, kind.elementType))
    if isinstance(kind, StructType) and _has_doubles(kind):
        fields = (normalized(value.getField(f.name), f.dataType).alias(f.name) for f in kind.fields)
        return F.when(value.isNotNull(), F.struct(*fields))
    return value


def _has_doubles(kind: DataType) -> bool:
    if isinstance(kind, ArrayType):
        return _has_doubles(kind.elementType)
    if isinstance(kind, StructType):
        return any(_has_doubles(f.dataType) for f in kind.fields)
    return isinstance(kind, DoubleType)
