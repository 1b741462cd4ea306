"""A query over one topic's records as a compiled plan, which the JVM runs without a Spark job.

The plan is lowered like any other; its input are records that the caller has, its output rows as
push_rows.py reads them. Failures of records and expressions give null as usual, but are not logged:
the query that wrote or reads the topic has logged them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
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

from streamsql.catalog import Source
from streamsql.executor.frames.context import (
    END_COLUMN,
    HEADERS_COLUMN,
    HEADERS_TYPE,
    NULL_COLUMN,
    OFFSET_COLUMN,
    PARTITION_COLUMN,
    START_COLUMN,
    TIME_COLUMN,
    LoweringContext,
    Scope,
    quoted,
)
from streamsql.executor.lowering import streaming as lower
from streamsql.executor.lowering.batch import answer_frame
from streamsql.executor.operators import sink
from streamsql.executor.spark.failures import SPARK_FAILURES, rejected
from streamsql.executor.spark.jvm import Jvm
from streamsql.nodes import Emit
from streamsql.planner.operators import Scan
from streamsql.planner.plans.needs import needed_columns
from streamsql.planner.plans.query_plan import QueryPlan
from streamsql.planner.plans.statements import PullPlan
from streamsql.schema import ROWOFFSET, ROWPARTITION, ROWTIME, Schema

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
"""No processing log."""


def compiled_plan(plan: QueryPlan, schema: Schema, context: LoweringContext) -> Any:
    """The Java CompiledPlan for the columns of `schema` of the plan's rows.

    InternalError if the plan needs a Spark job.
    """
    own = _over_records(context)
    needed = needed_columns(plan.root)
    scope = Scope(own, "pull query", plan.emit, plan.root, needed)
    rows = lower.lower_rows(plan.root, scope).where(~quoted(NULL_COLUMN))
    values = sink.lower_push(rows, schema, NO_LOG, scope).select("value")
    return _compiled(values)


# -- over rows of tables ---------------------------------------------------------------------------


@dataclass(frozen=True)
class TableReader:
    """Decodes a table's records into rows, for all queries of the table."""

    plan: Any
    """The Java CompiledPlan."""
    schema: StructType
    columns: tuple[str, ...]
    """The columns of scan.py, in its order."""
    _sources: dict[tuple[SparkSession, int], DataFrame] = field(default_factory=dict)

    def source(self, spark: SparkSession, number: int) -> DataFrame:
        """The rows as a source, with that number, of another plan, in the columns of scan.py.
        Spark analyzes it once: that takes longer than the rest of a small query's plan."""
        found = self._sources.get((spark, number))
        if found is None:
            found = self._sources[spark, number] = self._source(spark, number)
        return found

    def _source(self, spark: SparkSession, number: int) -> DataFrame:
        rows = _source(spark, self.schema, number)
        known = set(rows.columns)
        found = (
            quoted(name) if name in known else _DERIVED[name]().alias(name) for name in self.columns
        )
        return rows.select(*found)


_DERIVED: dict[str, Callable[[], Column]] = {
    HEADERS_COLUMN: lambda: F.lit(None).cast(HEADERS_TYPE),
    START_COLUMN: lambda: F.lit(None).cast("bigint"),
    END_COLUMN: lambda: F.lit(None).cast("bigint"),
    ROWTIME.name: lambda: quoted(TIME_COLUMN),
    PARTITION_COLUMN: lambda: quoted(ROWPARTITION.name),
    OFFSET_COLUMN: lambda: quoted(ROWOFFSET.name),
}
"""Columns of a table's rows that are derived: the bounds of a windowed key."""


def table_reader(source: Source, context: LoweringContext) -> TableReader:
    """The reader of all columns of a table without header columns."""
    rows = _rows_of(source, context)
    bounds = (START_COLUMN, END_COLUMN) if source.is_windowed else ()
    kept = [name for name in rows.columns if name not in _DERIVED or name in bounds]
    values = rows.select(*map(quoted, kept))
    return TableReader(_compiled(values), values.schema, tuple(rows.columns))


def tables_plan(
    plan: PullPlan,
    context: LoweringContext,
    readers: Callable[[Source], TableReader],
    *,
    few: bool,
) -> tuple[Any, list[Source]]:
    """The Java CompiledPlan of the answer, and the tables that are its sources, with `few` rows or
    any number. InternalError if the plan needs a Spark job."""
    tables: list[Source] = []

    def table(scan: Scan) -> DataFrame:
        tables.append(scan.source)
        return readers(scan.source).source(context.spark, len(tables) - 1)

    own = replace(context, table=table, processing_log_topic=NO_LOG)
    return _compiled(answer_frame(plan, own, "pull query"), few=few), tables


def event_times(source: Source, context: LoweringContext) -> Any:
    """The Java CompiledPlan that computes the event time (ms, a bigint) of a source's record, or no
    row if it has none."""
    return _compiled(_rows_of(source, context).select(quoted(TIME_COLUMN)))


def _over_records(context: LoweringContext) -> LoweringContext:
    return replace(
        context, records=lambda topic: _source(context.spark, RECORDS), processing_log_topic=NO_LOG
    )


def _rows_of(source: Source, context: LoweringContext) -> DataFrame:
    """All columns of a source, without its constraints."""
    node = Scan(source, source.name)
    scope = Scope(_over_records(context), "pull query", Emit.CHANGES, node)
    return lower.lower_rows(node, scope)


def _compiled(rows: DataFrame, *, few: bool = False) -> Any:
    try:
        return Jvm(rows.sparkSession).compiled(rows, few=few)
    except SPARK_FAILURES as error:
        raise rejected(error) from error


def _source(spark: SparkSession, schema: StructType, number: int = 0) -> DataFrame:
    return Jvm(spark).source(schema, number)
