"""GROUP BY over a table, by two state operators of ours: the first knows what a row was before, the
second takes that back from its group and adds what the row has become."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StructField, StructType

from streamsql.executor.spark.context import (
    END_COLUMN,
    NULL_COLUMN,
    OFFSET_COLUMN,
    PARTITION_COLUMN,
    START_COLUMN,
    TIME_COLUMN,
    Scope,
    quoted,
)
from streamsql.executor.spark.grouping import ORDER, Grouping, arrival, has_group, operated
from streamsql.executor.spark.keyed import KEYED_COLUMNS, operate, struct_type

_SIGN = "$sign"
_PRIMARY_KEY = "$primary_key"
_PAIR = StructType([StructField(name, BinaryType()) for name in ("first", "second")])


def lower(rows: DataFrame, grouped: Grouping, scope: Scope) -> DataFrame:
    """The groups of a table's rows."""
    prepared = _prepare(rows, grouped)
    # TableGroups finds the sign in the first column.
    names = [_SIGN, *grouped.needed, ORDER]
    values = prepared.select(*map(quoted, names))
    totals = values.groupBy().agg(*grouped.results(scope, quoted(_SIGN)))
    group = scope.jvm.pack(grouped.key(), grouped.key_type)
    arguments = scope.jvm.pack(F.struct(*map(quoted, names)), values.schema)
    changes = operate(
        [_table_rows(prepared, _pair(group, arguments, scope), grouped, scope)],
        "TableChanges",
        scope=scope,
    )
    members = changes.select(
        F.col("key"),
        F.lit(0).alias("side"),
        F.col("time"),
        F.col("partition"),
        F.col("offset"),
        F.lit(None).cast("binary").alias("headers"),
        _pair(F.col("before"), F.col("after"), scope).alias("row"),
    )
    return operated(
        members,
        "TableGroups",
        scope.jvm.aggregate_buffers(totals),
        len(names),
        grouped=grouped,
        totals=totals,
        scope=scope,
    )


def _prepare(rows: DataFrame, grouped: Grouping) -> DataFrame:
    """Keys and arguments, which nobody computes for a deleted row, and the primary key."""
    present = ~quoted(NULL_COLUMN)
    names = [*grouped.key_names, *grouped.needed]
    values = [*grouped.keys, *grouped.needed.values()]
    computed = [
        F.when(present, value).alias(name) for name, value in zip(names, values, strict=True)
    ]
    primary_key = F.struct(
        *(quoted(column.name) for column in grouped.node.input.schema.key),
        quoted(START_COLUMN),
        quoted(END_COLUMN),
    )
    system = (TIME_COLUMN, NULL_COLUMN, PARTITION_COLUMN, OFFSET_COLUMN)
    return rows.select(
        F.lit(1).alias(_SIGN),
        *computed,
        arrival(),
        primary_key.alias(_PRIMARY_KEY),
        *map(quoted, system),
    )


def _table_rows(rows: DataFrame, pair: Column, grouped: Grouping, scope: Scope) -> DataFrame:
    """The input of TableChanges; a row that is excluded is no row."""
    present = F.when(quoted(NULL_COLUMN), F.lit(False)).otherwise(
        has_group(grouped.key_names, scope)
    )
    key = quoted(_PRIMARY_KEY)
    return rows.select(
        scope.jvm.pack(key, struct_type(rows, key)).alias("key"),
        F.lit(0).alias("side"),
        quoted(TIME_COLUMN).alias("time"),
        quoted(PARTITION_COLUMN).alias("partition"),
        quoted(OFFSET_COLUMN).alias("offset"),
        F.lit(None).cast("binary").alias("headers"),
        F.when(present, pair).alias("row"),
    ).select(*KEYED_COLUMNS)


def _pair(first: Column, second: Column, scope: Scope) -> Column:
    return scope.jvm.pack(F.struct(first.alias("first"), second.alias("second")), _PAIR)
