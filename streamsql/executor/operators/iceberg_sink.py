"""IcebergSink: rows in the form of a table of Iceberg."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from pyspark.sql import DataFrame

from streamsql import types
from streamsql.errors import InternalError
from streamsql.executor.frames.context import Scope, quoted
from streamsql.executor.operators.lowering import Inputs, Lowering, row_by_row
from streamsql.executor.operators.table_sink import placed
from streamsql.executor.spark.external import IcebergTarget
from streamsql.executor.spark.lakes import catalog_properties, lake_jars
from streamsql.executor.spark.types import spark_type
from streamsql.planner.operators import IcebergSink, name_in_table
from streamsql.schema import Column
from streamsql.types import SQLType

_PRIMITIVES = {
    types.BOOLEAN.this: "boolean",
    types.INT.this: "int",
    types.BIGINT.this: "long",
    types.DOUBLE.this: "double",
    types.STRING.this: "string",
    types.BYTES.this: "binary",
    types.DATE.this: "date",
    types.TIME.this: "time",
    types.TIMESTAMP.this: "timestamptz",
}


def lower(node: IcebergSink, inputs: Inputs, scope: Scope) -> DataFrame:
    (rows,) = inputs
    columns = (quoted(c.name).cast(spark_type(c.type)).alias(c.name) for c in node.schema)
    return placed(rows, columns, scope)


def target_of(node: IcebergSink, scope: Scope) -> IcebergTarget:
    target, spark = node.target, scope.context.spark
    there = {column.name: column.there for column in node.columns}
    columns = [replace(column, name=there[column.name]) for column in node.schema]
    keys = tuple(there[key] for key in node.keys)
    jars = lake_jars(node.catalog, target.path, spark)
    return IcebergTarget(
        name=target.name,
        topic=node.topic,
        catalog=node.catalog,
        properties=catalog_properties(
            node.catalog, node.url, target.path, target.user, target.password
        ),
        table=target.table,
        schema=iceberg_schema(columns, keys),
        columns=tuple(column.name for column in node.schema),
        dropped=node.dropped,
        kept=node.kept,
        keys=keys,
        partition_by=tuple(
            f"{part.name} {part.width} {there[part.column]}" for part in node.partition_by
        ),
        retention_ms=node.retention_ms,
        jars=tuple(jars),
        interval_ms=node.interval_ms,
    )


def iceberg_schema(columns: Sequence[Column], keys: Sequence[str]) -> str:
    """The columns as Iceberg's JSON, the keys required; ids are those of this text alone."""
    ids = count(1)
    fields = [_field(c.name, c.type, c.name in keys, ids) for c in columns]
    identifiers = [field["id"] for field, c in zip(fields, columns, strict=True) if c.name in keys]
    schema = {"type": "struct", "schema-id": 0, "fields": fields}
    return json.dumps(schema | ({"identifier-field-ids": identifiers} if identifiers else {}))


def _field(name: str, t: SQLType, required: bool, ids: Iterator[int]) -> dict[str, Any]:
    own = next(ids)
    return {"id": own, "name": name_in_table(name), "required": required, "type": _type(t, ids)}


def _type(t: SQLType, ids: Iterator[int]) -> Any:
    if types.is_decimal(t):
        precision, scale = types.precision_scale(t)
        return f"decimal({precision}, {scale})"
    if types.is_array(t):
        return {
            "type": "list",
            "element-id": next(ids),
            "element": _type(types.element_type(t), ids),
            "element-required": False,
        }
    if types.is_map(t):
        return {
            "type": "map",
            "key-id": next(ids),
            "key": _type(types.key_type(t), ids),
            "value-id": next(ids),
            "value": _type(types.element_type(t), ids),
            "value-required": False,
        }
    if types.is_struct(t):
        return {
            "type": "struct",
            "fields": [_field(name, kind, False, ids) for name, kind in types.fields(t)],
        }
    if t.this not in _PRIMITIVES:
        raise InternalError(f"no type of Iceberg for {types.to_sql(t)}")
    return _PRIMITIVES[t.this]


LOWERING = Lowering(lower, row_by_row(lower))
