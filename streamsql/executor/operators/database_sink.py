"""DatabaseSink: rows in the form of a database's table."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamsql.executor.frames.context import Scope, quoted
from streamsql.executor.operators.file_sink import held
from streamsql.executor.operators.lowering import Inputs, Lowering, row_by_row
from streamsql.executor.operators.table_sink import placed
from streamsql.executor.spark.drivers import database_driver
from streamsql.executor.spark.external import DatabaseTarget
from streamsql.executor.spark.types import spark_type
from streamsql.planner.operators import DatabaseSink
from streamsql.types import SQLType, is_array, is_map, is_struct, to_sql

_JSON = "JSON"
_JSON_OPTIONS = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "ignoreNullFields": "false"}


def lower(node: DatabaseSink, inputs: Inputs, scope: Scope) -> DataFrame:
    (rows,) = inputs
    columns = (_sent(quoted(c.name), c.type).alias(c.name) for c in node.schema)
    return placed(rows, columns, scope)


def target_of(node: DatabaseSink, scope: Scope) -> DatabaseTarget:
    target, columns = node.target, node.schema.columns
    return DatabaseTarget(
        name=target.name,
        topic=node.topic,
        url=target.path,
        user=target.user,
        password=target.password,
        jars=tuple(database_driver(scope.context.spark, target.path)),
        table=target.table,
        columns=tuple(c.name for c in columns),
        types=tuple(_JSON if _is_nested(c.type) else to_sql(c.type) for c in columns),
        keys=node.keys,
        rows=node.rows,
        interval_ms=node.interval_ms,
    )


def _sent(value: Column, t: SQLType) -> Column:
    """A value as the JDBC writer reads it: of a nested one its JSON."""
    if _is_nested(t):
        return F.to_json(held(value, t, text_only=True), _JSON_OPTIONS)
    return value.cast(spark_type(t))


def _is_nested(t: SQLType) -> bool:
    return is_array(t) or is_map(t) or is_struct(t)


LOWERING = Lowering(lower, row_by_row(lower))
