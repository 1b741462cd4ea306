"""Values that a database change omits because they are unchanged: taken from the previous row."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, BooleanType, DataType, StructField, StructType

from streamsql.executor.frames.context import (
    NULL_COLUMN,
    OFFSET_COLUMN,
    PARTITION_COLUMN,
    Scope,
    quoted,
)
from streamsql.executor.frames.keyed import (
    columns_type,
    input_rows,
    key_columns,
    operate,
    packed_key,
    primary_key,
    unpacked,
)
from streamsql.executor.frames.layouts import columns_of_type
from streamsql.formats.changes import PLACEHOLDER
from streamsql.planner.operators import Scan

_STEP = "Source"
_OPERATOR = "tables.StoredValues"
_DELETED, _TOLD, _WHOLE, _KNOWN = "$deleted", "$told", "$whole", "$known"


def with_stored_values(rows: DataFrame, node: Scan, scope: Scope) -> DataFrame:
    """The rows of a scan, with the places of their records; an omitted value is that of the
    previous row. A row with a value that no change has contained is reported and dropped."""
    names = [column.name for column in node.stored_values]
    if not names:
        return rows
    told = columns_type(rows, [name for name in rows.columns if name not in names])
    kept = columns_type(rows, names)
    row = _row_type(len(names))
    scope.layouts.add(
        _OPERATOR,
        f"unavailable values of {node.source.name}",
        key_columns(node.schema.key),
        columns_of_type(kept),
    )
    keyed = _keyed(rows, node, told, kept, row, scope)
    found = operate([keyed], _OPERATOR, len(row.fields), scope=scope)
    return _result(found, rows.columns, told, kept, node.source.topic.name, scope)


def _row_type(values: int) -> StructType:
    packed = (StructField(_value(number), BinaryType()) for number in range(values))
    told = StructField(_TOLD, BinaryType())
    return StructType([StructField(_DELETED, BooleanType()), told, *packed])


def _value(number: int) -> str:
    return f"$value{number}"


def _keyed(
    rows: DataFrame, node: Scan, told: StructType, kept: StructType, row: StructType, scope: Scope
) -> DataFrame:
    values = []
    for number, field in enumerate(kept.fields):
        column = quoted(field.name)
        packed = scope.jvm.pack(F.struct(column), StructType([field]))
        untold = F.coalesce(column == _placeholder(field.dataType), F.lit(False))
        values.append(F.when(~untold, packed).alias(_value(number)))
    rest = scope.jvm.pack(F.struct(*map(quoted, told.names)), told)
    whole = F.struct(quoted(NULL_COLUMN).alias(_DELETED), rest.alias(_TOLD), *values)
    places = {PARTITION_COLUMN: F.col("ROWPARTITION"), OFFSET_COLUMN: F.col("ROWOFFSET")}
    placed = rows.withColumns(places)
    key = packed_key(placed, primary_key(node.schema.key), scope)
    return input_rows(placed, key, scope.jvm.pack(whole, row))


def _placeholder(kind: DataType) -> Column:
    """The placeholder of an omitted value: see ChangedTable."""
    if isinstance(kind, ArrayType):
        return F.array(_placeholder(kind.elementType))
    text = F.lit(PLACEHOLDER)
    return text.cast("binary") if isinstance(kind, BinaryType) else text


def _result(
    found: DataFrame,
    names: list[str],
    told: StructType,
    kept: StructType,
    topic: str,
    scope: Scope,
) -> DataFrame:
    row = _row_type(len(kept.fields))
    whole = found.select(unpacked("after", row, scope).alias(_WHOLE))
    parts = whole.select(*(quoted(_WHOLE).getField(f.name).alias(f.name) for f in row.fields))
    columns = {name: scope.jvm.unpack(quoted(_TOLD), told).getField(name) for name in told.names}
    missing = F.lit(None).cast("string")
    for number, field in reversed(list(enumerate(kept.fields))):
        value = quoted(_value(number))
        columns[field.name] = scope.jvm.unpack(value, StructType([field])).getField(field.name)
        missing = F.when(value.isNull(), F.lit(field.name)).otherwise(missing)
    known = _known(F.when(~quoted(_DELETED), missing), columns, topic, scope)
    rows = parts.select(*(columns[name].alias(name) for name in names), known.alias(_KNOWN))
    return rows.where(quoted(_KNOWN).isNotNull()).select(*map(quoted, names))


def _known(missing: Column, columns: dict[str, Column], topic: str, scope: Scope) -> Column:
    """True; null, with a log entry, if the value of the named column is unknown."""
    message = F.concat(
        F.lit("$.after."),
        missing,
        F.lit(": the unchanged value is not in the database's log, and no earlier row has it: "),
        F.lit("ALTER TABLE .. REPLICA IDENTITY FULL adds it to the log (topic "),
        F.lit(f"{topic}, partition "),
        columns["ROWPARTITION"].cast("string"),
        F.lit(", offset "),
        columns["ROWOFFSET"].cast("string"),
        F.lit(")"),
    )
    report = scope.jvm.report_null(message, BooleanType(), scope.log, _STEP)
    return F.when(missing.isNull(), F.lit(True)).otherwise(report)
