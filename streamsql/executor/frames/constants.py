"""Computes the record of an INSERT .. VALUES whose expressions require Spark."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from streamsql.executor.expressions.expression import ColumnContext, column
from streamsql.executor.frames.encode_rows import as_bytes, encoded
from streamsql.executor.spark.types import spark_type
from streamsql.planner.plans.statements import InsertValuesPlan
from streamsql.registry.serdes import Schemas, SideSchemas
from streamsql.schema import Column as SchemaColumn


def evaluate_record(
    spark: SparkSession, planned: InsertValuesPlan, schemas: SideSchemas | None = None
) -> tuple[bytes | None, bytes | None, int | None]:
    """Key, value and, if given, ROWTIME in ms."""
    source = planned.source
    context = ColumnContext(columns={}, guard=None)
    given = {
        name: column(expression, context)
        for name, expression in zip(planned.columns, planned.expressions, strict=False)
    }

    def cell(c: SchemaColumn) -> Column:
        return given.get(c.name, F.lit(None)).cast(spark_type(c.type)).alias(c.name)

    # Computed once, in a row of its own: key and value may share a RANDOM() or UUID().
    row = _one_row(spark).select(
        *(cell(c) for c in (*source.schema.key, *source.schema.value)),
        (column(planned.rowtime, context) if planned.rowtime is not None else F.lit(None))
        .cast("bigint")
        .alias("$rowtime"),
    )
    ((key, value, rowtime),) = row.select(
        *encoded(spark, source, schemas or Schemas().writing), "`$rowtime`"
    ).collect()
    return as_bytes(key), as_bytes(value), rowtime


def _one_row(spark: SparkSession) -> DataFrame:
    """From Arrow, Spark makes a local relation, which it evaluates while it plans, without a
    job."""
    return spark.createDataFrame(pa.table({"$row": [0]}))
