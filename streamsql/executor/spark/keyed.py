"""The frames of our state operators: rows go in packed, by key, and come out packed.

What an operator does is its Java class's business (io.streamsql.KeyedOperator).
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from streamsql.executor.spark.context import (
    NULL_COLUMN,
    OFFSET_COLUMN,
    PARTITION_COLUMN,
    TIME_COLUMN,
    Scope,
    quoted,
)


def keyed_rows(rows: DataFrame, key: Column, side: int, scope: Scope) -> DataFrame:
    """The frame as one input of an operator; `key` is a struct, and rows with equal ones meet.

    All columns of the frame are packed; a row without a value keeps its key and time alone.
    """
    keys = rows.select(key.alias("key")).schema["key"].dataType
    assert isinstance(keys, StructType)
    columns = F.struct(*(quoted(name) for name in rows.columns))
    return rows.select(
        scope.jvm.pack(key, keys).alias("key"),
        F.lit(side).alias("side"),
        quoted(TIME_COLUMN).alias("time"),
        quoted(PARTITION_COLUMN).alias("partition"),
        quoted(OFFSET_COLUMN).alias("offset"),
        F.when(~quoted(NULL_COLUMN), scope.jvm.pack(columns, rows.schema)).alias("row"),
    )


def operate(inputs: list[DataFrame], operator: str, *arguments: object, scope: Scope) -> DataFrame:
    """The operator, by the name of its class, over its inputs in the order of their sides."""
    return scope.jvm.keyed(reduce(DataFrame.unionAll, inputs), operator, *arguments)


def unpacked(packed: str, schema: StructType, scope: Scope) -> Column:
    """The columns that a result holds packed, as a struct; null where there is none."""
    return scope.jvm.unpack(F.col(packed), schema)
