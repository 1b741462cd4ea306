"""View: the rows of a relation as those of a table, over decoded records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from streamsql.errors import InternalError
from streamsql.executor.frames.context import (
    NULL_COLUMN,
    Scope,
    made_columns,
    quoted,
)
from streamsql.executor.operators.lowering import Inputs, Lowering, present
from streamsql.executor.relational import native
from streamsql.executor.relational.bounded import Evaluation
from streamsql.executor.relational.incremental import ViewLowering
from streamsql.executor.relational.maintenance import packed
from streamsql.executor.relational.native import WEIGHT
from streamsql.executor.relational.places import same_places
from streamsql.executor.spark.bridge import Bridge
from streamsql.executor.spark.types import spark_type
from streamsql.planner.operators import View
from streamsql.planner.relational.algebra import Field


def lower(node: View, inputs: Inputs, scope: Scope) -> DataFrame:
    """The records of the view, a key at most one of a batch."""
    dataflow = scope.context.dataflow
    if dataflow is None:
        raise InternalError("a view is lowered without a dataflow")
    view = ViewLowering(
        scope,
        dataflow,
        sources={s.source.name: rows for s, rows in zip(node.scans, inputs, strict=True)},
        keys={s.source.name: [c.name for c in s.source.primary_key] for s in node.scans},
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
    cells = [hidden] if node.has_hidden_key else []
    cells += [quoted(field.id) for field in node.fields]
    columns = (
        cell.cast(spark_type(c.type)).alias(c.name)
        for cell, c in zip(cells, node.schema, strict=True)
    )
    none = F.lit(None).cast("bigint")
    place = F.lit(0), F.lit(0).cast("bigint")
    return rows.select(*columns, *made_columns(none, quoted(NULL_COLUMN), *place))


def _batch(node: View, inputs: Inputs, scope: Scope, history: bool) -> DataFrame:
    rows = present_rows(node, inputs, scope).withColumn(NULL_COLUMN, F.lit(False))
    if not node.has_hidden_key:
        return _table(node, rows, F.lit(None))
    key = node.plan.key
    rows = rows.withColumn("$bytes", packed(_kept(node) if key is None else key, scope))
    bytes_ = quoted("$bytes")
    number = F.row_number().over(Window.partitionBy(bytes_).orderBy(bytes_))
    return _table(node, rows.withColumn("$number", number), _hidden(bytes_, quoted("$number")))


def present_rows(node: View, inputs: Inputs, scope: Scope) -> DataFrame:
    """The rows of a batch, in columns named by the ids of fields."""
    with _evaluation(node, inputs, scope) as evaluation:
        return evaluation.rows(node.plan.root)


def present_cells(node: View, inputs: Inputs, scope: Scope) -> tuple[DataFrame, Mapping[str, str]]:
    """The same before the last projection, and that in SQL by the ids of fields, if it has one."""
    with _evaluation(node, inputs, scope) as evaluation:
        return evaluation.cells(node.plan.root)


@contextmanager
def _evaluation(node: View, inputs: Inputs, scope: Scope) -> Iterator[Evaluation]:
    read = zip(node.scans, present(node, inputs), strict=True)
    sources = {scan.source.read_as: rows for scan, rows in read}
    if not scope.context.raises:
        yield Evaluation(scope, sources)
        return
    bridge = Bridge.of(scope.context.spark)
    with bridge.ansi(of_stores=False) as session:
        own = replace(scope, context=replace(scope.context, spark=session))
        moved = {name: bridge.moved(rows, session) for name, rows in sources.items()}
        yield Evaluation(own, moved)


LOWERING = Lowering(lower, _batch)
