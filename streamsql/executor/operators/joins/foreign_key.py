"""Joins a table with another one by a foreign key: three operators in a row.

Left rows go from their own key to the foreign key's, are joined with the right table there, and
results go back to the left row's key (io.streamsql.operators.joins.ForeignKeySubscriptions, -Join,
-Results).
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from streamsql.executor.frames.context import Scope, quoted
from streamsql.executor.frames.keyed import (
    keyed_rows,
    normalized,
    operate,
    packed_columns,
    routed,
    struct_type,
)
from streamsql.executor.operators.joins.inputs import Side
from streamsql.executor.spark.types import spark_type
from streamsql.nodes import JoinType
from streamsql.planner.operators import Join

_FOREIGN_KEY, _ROW = "$foreign_key", "$row"


def join_by_foreign_key(
    node: Join, left: Side, right: Side, scope: Scope
) -> tuple[DataFrame, StructType]:
    """The joined rows, and the type of their key: the left table's key columns as key0, key1, ..
    (`key` if there is only one)."""
    columns = node.left.schema.key
    names = [f"key{i}" for i in range(len(columns))] if len(columns) > 1 else ["key"]
    key = F.struct(
        *(
            normalized(quoted(c.name), spark_type(c.type)).alias(name)
            for c, name in zip(columns, names, strict=True)
        )
    )
    struct = F.struct(*(quoted(name) for name in packed_columns(left.rows, left.columns)))
    rows = left.rows.withColumns(
        {
            _FOREIGN_KEY: scope.jvm.pack(left.key, left.key_type),
            _ROW: scope.jvm.pack(struct, left.type),
        }
    )
    key_type = struct_type(left.rows, key)
    packed = scope.jvm.pack(key, key_type)
    changes = keyed_rows(rows, packed, 0, scope, [_FOREIGN_KEY, _ROW])
    members = operate([changes], "joins.ForeignKeySubscriptions", scope=scope)
    outer = node.type is JoinType.LEFT
    inputs = [routed(members, 0), right.keyed(1, scope)]
    results = operate(inputs, "joins.ForeignKeyJoin", outer, scope=scope)
    joined = operate([routed(results, 0)], "joins.ForeignKeyResults", scope=scope)
    return joined, key_type
