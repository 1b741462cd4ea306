"""Encodes keys and values in formats that only the JVM writes, many rows at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC
from functools import reduce
from operator import and_
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructField, StructType

from streamsql.catalog import Source
from streamsql.executor.frames.records import key_side, value_side
from streamsql.executor.spark.jvm import Jvm
from streamsql.executor.spark.types import spark_type
from streamsql.registry.serdes import SideSchemas
from streamsql.values.nested import Codec, converter, each
from streamsql.values.scalars import Scalar


def encode_rows(
    spark: SparkSession, source: Source, rows: Sequence[Mapping[str, Any]], schemas: SideSchemas
) -> list[tuple[bytes | None, bytes | None]]:
    """Key and value of each row, in order."""
    columns = (*source.schema.key, *source.schema.value)
    kinds = StructType([StructField(c.name, spark_type(c.type)) for c in columns])
    # Spark would read Python rows with Python processes, which takes seconds; Arrow data is a local
    # relation.
    arrays = [
        pa.array(
            each(converter(column.type, _leaf, _pairs), [row.get(column.name) for row in rows]),
            field.type,
        )
        for column, field in zip(columns, to_arrow_schema(kinds, timezone="UTC"), strict=True)
    ]
    table = pa.table(arrays, [c.name for c in columns])
    frame = spark.createDataFrame(table, kinds).coalesce(1)
    found = frame.select(*encoded(spark, source, schemas)).collect()
    return [(as_bytes(key), as_bytes(value)) for key, value in found]


def encoded(spark: SparkSession, source: Source, schemas: SideSchemas) -> tuple[Column, Column]:
    """Key and value, over rows with the source's columns; no key if all of its columns are null."""
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
    """A binary cell for Spark."""
    return None if value is None else bytes(value)


def _leaf(entry: Scalar) -> Codec:
    """The Arrow value for Spark: a TIMESTAMP with its zone, a TIME as a number, text without lone
    surrogates, which Java writes as a question mark."""
    match entry.name:
        case "TIMESTAMP":
            return lambda moment: moment.replace(tzinfo=UTC)
        case "TIME":
            return entry.packed
        case "STRING":
            return lambda text: text.encode("utf-8", "replace").decode()
    return lambda value: value


def _pairs(key: Codec, value: Codec, entries: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    return [(key(k), None if v is None else value(v)) for k, v in entries.items()]
