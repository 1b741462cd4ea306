"""The changes of a table's rows from the view of their groups, for operators with groups."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StructField, StructType

from streamsql.executor.frames.context import Scope
from streamsql.executor.frames.keyed import input_rows, operate, routed

_PAIR = StructType([StructField(name, BinaryType()) for name in ("first", "second")])


def table_changes(
    rows: DataFrame, key: Column, member: Column, scope: Scope, headers: Column | None = None
) -> DataFrame:
    """Rows leaving and entering each group, as an operator's input by group. `key` is the packed
    primary key, `member` the `pair` of group and row; null: no row. `headers` are packed; changes
    have those of the row that causes them."""
    inputs = [input_rows(rows, key, member, headers=headers)]
    changes = operate(inputs, "tables.TableChanges", scope=scope)
    before_and_after = pair(F.col("before"), F.col("after"), scope)
    return routed(changes.withColumn("row", before_and_after), 0)


def pair(first: Column, second: Column, scope: Scope) -> Column:
    """Two packed values as one."""
    return scope.jvm.pack(F.struct(first.alias("first"), second.alias("second")), _PAIR)
