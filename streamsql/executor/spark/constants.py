"""Computes the record of an INSERT .. VALUES whose expressions only Spark can compute."""

from __future__ import annotations

from functools import reduce
from operator import and_

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from streamsql.executor.schema_registry.sides import Schemas, SideSchemas
from streamsql.executor.spark.column import ColumnContext, column
from streamsql.executor.spark.jvm import Jvm
from streamsql.executor.spark.records import key_side, value_side
from streamsql.executor.spark.types import spark_type
from streamsql.planner.planned import InsertValuesPlan
from streamsql.schema import Column as SchemaColumn


def evaluate_record(
    spark: SparkSession, planned: InsertValuesPlan, schemas: SideSchemas | None = None
) -> tuple[bytes | None, bytes | None, int | None]:
    """Key, value and, where it is given, ROWTIME in ms."""
    source, jvm = planned.source, Jvm(spark)
    schemas = schemas or Schemas().writing
    context = ColumnContext(columns={}, guard=None)
    given = {
        name: column(expression, context)
        for name, expression in zip(planned.columns, planned.expressions, strict=False)
    }

    def cell(c: SchemaColumn) -> Column:
        return given.get(c.name, F.lit(None)).cast(spark_type(c.type)).alias(c.name)

    # Computed once, in a row of its own: key and value may use the same RANDOM() or UUID().
    row = _one_row(spark).select(
        *(cell(c) for c in (*source.schema.key, *source.schema.value)),
        (column(planned.rowtime, context) if planned.rowtime is not None else F.lit(None))
        .cast("bigint")
        .alias("$rowtime"),
    )
    key, value = (
        F.struct(*(F.col(f"`{c.name}`") for c in columns))
        for columns in (source.schema.key, source.schema.value)
    )
    encoded_key = F.lit(None).cast("binary")
    if source.schema.key:
        empty = reduce(and_, (F.col(f"`{c.name}`").isNull() for c in source.schema.key))
        encoded_key = jvm.encode(
            F.when(~empty, key), key_side(source.topic, source.schema, schemas)
        )
    encoded_value = jvm.encode(value, value_side(source.topic, source.schema, schemas))
    (found,) = row.select(encoded_key, encoded_value, "`$rowtime`").collect()
    return (
        None if found[0] is None else bytes(found[0]),
        None if found[1] is None else bytes(found[1]),
        found[2],
    )


def _one_row(spark: SparkSession) -> DataFrame:
    """Arrow makes it a local relation, over which Spark computes while it plans, without a job."""
    return spark.createDataFrame(pa.table({"$row": [0]}))
