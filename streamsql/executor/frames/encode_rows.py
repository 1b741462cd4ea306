"""Keys and values of rows in formats that only the JVM writes, many rows in one go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import and_
from typing import Any

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from streamsql.catalog import Source
from streamsql.executor.frames.records import key_side, value_side
from streamsql.executor.spark.jvm import Jvm
from streamsql.executor.spark.types import spark_type
from streamsql.registry.serdes import SideSchemas
from streamsql.types import (
    TIMESTAMP,
    SQLType,
    element_type,
    fields,
    is_array,
    is_map,
    is_struct,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def encode_rows(
    spark: SparkSession, source: Source, rows: Sequence[Mapping[str, Any]], schemas: SideSchemas
) -> list[tuple[bytes | None, bytes | None]]:
    """Key and value of each row, in order; cells are those of streamsql.planner.types.constants."""
    columns = (*source.schema.key, *source.schema.value)
    kinds = StructType([StructField(c.name, spark_type(c.type)) for c in columns])
    cells = [tuple(_cell(row.get(c.name), c.type) for c in columns) for row in rows]
    frame = spark.createDataFrame(cells, kinds).coalesce(1)
    found = frame.select(*encoded(spark, source, schemas)).collect()
    return [(as_bytes(key), as_bytes(value)) for key, value in found]


def encoded(spark: SparkSession, source: Source, schemas: SideSchemas) -> tuple[Column, Column]:
    """Key and value, over rows that have the source's columns; without a key where all of its
    columns are null."""
    jvm, topic, schema = Jvm(spark), source.topic, source.schema
    key, value = (
        F.struct(*(F.col(f"`{c.name}`") for c in side)) for side in (schema.key, schema.value)
    )
    encoded_key = F.lit(None).cast("binary")
    if schema.key:
        empty = reduce(and_, (F.col(f"`{c.name}`").isNull() for c in schema.key))
        encoded_key = jvm.encode(F.when(~empty, key), key_side(topic, schema, schemas))
    return encoded_key, jvm.encode(value, value_side(topic, schema, schemas))


def as_bytes(value: Any) -> bytes | None:
    """What Spark gives for a binary cell."""
    return None if value is None else bytes(value)


def _cell(value: Any, t: SQLType) -> Any:
    """As Spark's Python side takes it: a TIMESTAMP is a datetime, a STRUCT a tuple."""
    if value is None:
        return None
    if is_array(t):
        return [_cell(item, element_type(t)) for item in value]
    if is_map(t):
        return {key: _cell(item, element_type(t)) for key, item in value.items()}
    if is_struct(t):
        return tuple(_cell(value.get(name), kind) for name, kind in fields(t))
    return _EPOCH + timedelta(milliseconds=value) if t == TIMESTAMP else value
