"""Lookup joins: adds the looked-up columns to each row."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamsql.executor.expressions.expression import column, predicate
from streamsql.executor.frames.context import (
    NULL_COLUMN,
    SYSTEM_COLUMNS,
    TIME_COLUMN,
    Scope,
    quoted,
    record_type,
    system_columns,
)
from streamsql.executor.frames.guard import expression_context
from streamsql.executor.operators.lowering import Inputs, Lowering, row_by_row
from streamsql.executor.spark.drivers import database_driver
from streamsql.nodes import JoinType
from streamsql.planner.operators import LookupJoin
from streamsql.schema import ROWTIME

_FOUND, _MET = "$found", "$met"
_STEP = "Join"


def lower(node: LookupJoin, inputs: Inputs, scope: Scope) -> DataFrame:
    """The rows with the looked-up columns; a row without a value has no match."""
    (rows,) = inputs
    context = expression_context(node.input.schema, scope, _STEP)
    names = [c.name for c in node.lookup.schema]
    keys = [column(e, context).alias(n) for e, n in zip(node.keys, names, strict=False)]
    found = rows.where(~quoted(NULL_COLUMN)).withColumn(_FOUND, _look_up(keys, node, scope))
    if node.type is JoinType.INNER:
        found = found.where(quoted(_FOUND).isNotNull())
    added = [c.name for c in node.added]
    before = [n for n in rows.columns if n not in SYSTEM_COLUMNS and n != ROWTIME.name]
    columns = [
        *(quoted(name) for name in before),
        *(quoted(_FOUND).getField(n).alias(name) for n, name in zip(names, added, strict=True)),
        quoted(TIME_COLUMN).alias(ROWTIME.name),
        *system_columns(),
    ]
    return _meeting(found.select(*columns), node, added, scope)


def _look_up(keys: list[Column], node: LookupJoin, scope: Scope) -> Column:
    lookup = node.lookup.lookup
    assert lookup is not None
    said = {
        "name": node.lookup.name,
        "connection": lookup.connection,
        "place": lookup.place,
        "format": lookup.format,
        "table": lookup.table,
        "user": lookup.user,
        "password": lookup.password,
        "ttl": str(lookup.ttl_ms),
        "rows": str(lookup.rows),
        "per_second": str(lookup.per_second or 0),
    }
    jars = database_driver(scope.context.spark) if lookup.connection == "JDBC" else []
    schema = record_type(node.lookup.schema)
    return scope.jvm.look_up(F.struct(*keys), said, schema, len(keys), jars, scope.log, _STEP)


def _meeting(rows: DataFrame, node: LookupJoin, added: list[str], scope: Scope) -> DataFrame:
    """Removes looked-up values that fail the further condition."""
    if node.condition is None:
        return rows
    context = expression_context(node.schema, scope, _STEP)
    met = F.coalesce(predicate(node.condition, context), F.lit(False))
    rows = rows.withColumn(_MET, met)
    kept = [
        F.when(quoted(_MET), quoted(name)).alias(name) if name in added else quoted(name)
        for name in rows.columns
        if name != _MET
    ]
    return rows.select(*kept)


LOWERING = Lowering(lower, row_by_row(lower))
