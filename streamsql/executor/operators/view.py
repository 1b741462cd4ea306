"""View: the rows of a relation as those of a table, over decoded records."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from streamsql.errors import InternalError
from streamsql.executor.frames.context import (
    END_COLUMN,
    HEADERS_COLUMN,
    HEADERS_TYPE,
    NULL_COLUMN,
    OFFSET_COLUMN,
    PARTITION_COLUMN,
    START_COLUMN,
    TIME_COLUMN,
    Scope,
    quoted,
)
from streamsql.executor.operators.lowering import Inputs, Lowering, present
from streamsql.executor.relational import native
from streamsql.executor.relational.bounded import Evaluation
from streamsql.executor.relational.incremental import ViewLowering
from streamsql.executor.relational.maintenance import packed
from streamsql.executor.relational.native import WEIGHT
from streamsql.executor.relational.places import same_places
from streamsql.executor.spark.types import spark_type
from streamsql.planner.operators import View
from streamsql.planner.relational.algebra import Field
from streamsql.schema import ROW_KEY


def lower(node: View, inputs: Inputs, scope: Scope) -> DataFrame:
    """The records of the view, a key at most one of a batch."""
    dataflow = scope.context.dataflow
    if dataflow is None:
        raise InternalError("a view is lowered without a dataflow")
    view = ViewLowering(
        scope,
        dataflow,
        sources={s.source.name: rows for s, rows in zip(node.scans, inputs, strict=True)},
        keys={s.source.name: [c.name for c in s.source.schema.key] for s in node.scans},
        root=node.plan.root,
    )
    rows = view.changes(node.plan.root)
    key, fields = node.plan.key, _kept(node)
    changes = rows.select(
        view.packed(fields if key is None else key).alias("key"),
        quoted(WEIGHT).alias("weight"),
        view.packed(fields).alias("row"),
    )
    placed = same_places(node.plan.root, fields if key is None else key)
    records = view.keyed(changes, "ViewRows", key is not None, placed=placed)
    row = scope.jvm.unpack(F.col("row"), native.struct_of(fields))
    of = records.select(
        row.alias("$of"), F.col("row"), F.col("number"), F.col("deleted").alias(NULL_COLUMN)
    )
    found = of.select("*", *(quoted("$of").getField(f.id).alias(f.id) for f in fields))
    row = F.col("row") if key is None else view.packed(key)
    return _table(node, found, _hidden(row, F.col("number")))


def _hidden(row: Column, number: Column) -> Column:
    """ROW_KEY of a row, or of its key, and of its number among its equals."""
    return F.concat_ws(":", F.sha2(row, 256), number)


def _kept(node: View) -> tuple[Field, ...]:
    """The fields of the result, and those of its key."""
    return tuple(dict.fromkeys((*node.fields, *(node.plan.key or ()))))


def _table(node: View, rows: DataFrame, hidden: Column) -> DataFrame:
    """Rows of the fields as the schema's columns, with the columns of every frame."""
    fields = iter(node.fields)
    columns = [
        (hidden if c.name == ROW_KEY else quoted(next(fields).id))
        .cast(spark_type(c.type))
        .alias(c.name)
        for c in node.schema
    ]
    none = F.lit(None).cast("bigint")
    return rows.select(
        *columns,
        none.alias(TIME_COLUMN),
        quoted(NULL_COLUMN),
        F.lit(None).cast(HEADERS_TYPE).alias(HEADERS_COLUMN),
        none.alias(START_COLUMN),
        none.alias(END_COLUMN),
        F.lit(0).alias(PARTITION_COLUMN),
        F.lit(0).cast("bigint").alias(OFFSET_COLUMN),
    )


def _batch(node: View, inputs: Inputs, scope: Scope, history: bool) -> DataFrame:
    sources = {
        scan.source.name: rows for scan, rows in zip(node.scans, present(node, inputs), strict=True)
    }
    rows = Evaluation(scope, sources).rows(node.plan.root)
    rows = rows.withColumn(NULL_COLUMN, F.lit(False))
    if ROW_KEY not in node.schema.names:
        return _table(node, rows, F.lit(None))
    key = node.plan.key
    rows = rows.withColumn("$bytes", packed(_kept(node) if key is None else key, scope))
    bytes_ = quoted("$bytes")
    number = F.row_number().over(Window.partitionBy(bytes_).orderBy(bytes_))
    return _table(node, rows.withColumn("$number", number), _hidden(bytes_, quoted("$number")))


LOWERING = Lowering(lower, _batch)
