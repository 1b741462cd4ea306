"""A query over one topic's records as a compiled plan, which the JVM runs without a Spark job.

The plan is lowered as any other; what it reads are records that the caller has, and what it makes
are rows as push_rows.py reads them. Failures of records and expressions give null as everywhere,
but are not logged: the query that has written the record, or reads the topic, has done so.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from streamsql.executor.frames.context import NULL_COLUMN, LoweringContext, Scope, quoted
from streamsql.executor.lowering import streaming as lower
from streamsql.executor.operators import sink
from streamsql.executor.spark.failures import SPARK_FAILURES, rejected
from streamsql.planner.plans.logical import QueryPlan
from streamsql.schema import Schema

_HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
RECORDS = StructType(
    [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("timestampType", IntegerType()),
        StructField("headers", ArrayType(_HEADER)),
    ]
)
"""The columns of Spark's Kafka source."""

NO_LOG = ""
"""The processing log of programs: none."""


def compiled_plan(plan: QueryPlan, schema: Schema, context: LoweringContext) -> Any:
    """The Java CompiledPlan that gives the columns of `schema` of the plan's rows.

    InternalError where the plan needs a Spark job.
    """
    own = replace(
        context, records=lambda topic: _records(context.spark), processing_log_topic=NO_LOG
    )
    needed = lower.needed_columns(plan.root)
    scope = Scope(own, "pull query", plan.emit, plan.root, needed)
    rows = lower.lower_rows(plan.root, scope).where(~quoted(NULL_COLUMN))
    values = sink.lower_push(rows, schema, NO_LOG, scope).select("value")
    try:
        java = cast(Any, values)._jdf
        return cast(Any, context.spark)._jvm.io.streamsql.serving.CompiledPlan.of(java)
    except SPARK_FAILURES as error:
        raise rejected(error) from error


def _records(spark: SparkSession) -> DataFrame:
    session = cast(Any, spark)
    java = session._jvm.io.streamsql.serving.CompiledPlan.source(
        session._jsparkSession, RECORDS.json()
    )
    return ClassicDataFrame(java, spark)
