"""SQL types as Spark's and back. TIME, which Spark lacks, is a bigint: ms of the day."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import types as spark

from streamsql import types
from streamsql.errors import InternalError
from streamsql.schema import Column
from streamsql.types import SQLType

SQL_TYPE_KEY = "sql_type"
"""Metadata of a field whose SQL type is ambiguous in Spark: {"sql_type": "TIME"}."""

_PRIMITIVES: dict[object, spark.DataType] = {
    types.BOOLEAN.this: spark.BooleanType(),
    types.INT.this: spark.IntegerType(),
    types.BIGINT.this: spark.LongType(),
    types.DOUBLE.this: spark.DoubleType(),
    types.STRING.this: spark.StringType(),
    types.BYTES.this: spark.BinaryType(),
    types.DATE.this: spark.DateType(),
    types.TIME.this: spark.LongType(),
    types.TIMESTAMP.this: spark.TimestampType(),
    types.NULL.this: spark.NullType(),
    # Within a query of standard SQL only.
    types.INTERVAL_UNIT.this: spark.DayTimeIntervalType(),
}
_SQL: dict[type[spark.DataType], SQLType] = {
    type(kind): sql
    for sql, kind in (
        (types.BOOLEAN, spark.BooleanType()),
        (types.INT, spark.IntegerType()),
        (types.BIGINT, spark.LongType()),
        (types.DOUBLE, spark.DoubleType()),
        (types.STRING, spark.StringType()),
        (types.BYTES, spark.BinaryType()),
        (types.DATE, spark.DateType()),
        (types.TIMESTAMP, spark.TimestampType()),
        (types.NULL, spark.NullType()),
    )
}


def spark_type(sql_type: SQLType) -> spark.DataType:
    if types.is_decimal(sql_type):
        return spark.DecimalType(*types.precision_scale(sql_type))
    if types.is_array(sql_type):
        return spark.ArrayType(spark_type(types.element_type(sql_type)))
    if types.is_map(sql_type):
        key, value = types.key_type(sql_type), types.element_type(sql_type)
        return spark.MapType(spark_type(key), spark_type(value))
    if types.is_struct(sql_type):
        fields = types.fields(sql_type)
        return spark.StructType([_field(name, kind) for name, kind in fields])
    if sql_type.this not in _PRIMITIVES:
        raise InternalError(f"no Spark type for {types.to_sql(sql_type)}")
    return _PRIMITIVES[sql_type.this]


def sql_type(data_type: spark.DataType) -> SQLType:
    """The SQL type of a Spark type; a TIME inside a container reads as BIGINT."""
    if isinstance(data_type, spark.DecimalType):
        return types.decimal(data_type.precision, data_type.scale)
    if isinstance(data_type, spark.ArrayType):
        return types.array(sql_type(data_type.elementType))
    if isinstance(data_type, spark.MapType):
        return types.map_(sql_type(data_type.keyType), sql_type(data_type.valueType))
    if isinstance(data_type, spark.StructType):
        return types.struct([(f.name, _sql_type_of_field(f)) for f in data_type.fields])
    if type(data_type) not in _SQL:
        raise InternalError(f"no SQL type for Spark's {data_type.simpleString()}")
    return _SQL[type(data_type)]


def struct_type(columns: Iterable[Column]) -> spark.StructType:
    """The Spark type of a row with these columns."""
    return spark.StructType([_field(column.name, column.type) for column in columns])


def _field(name: str, kind: SQLType) -> spark.StructField:
    metadata = {SQL_TYPE_KEY: "TIME"} if kind == types.TIME else None
    return spark.StructField(name, spark_type(kind), True, metadata)


def _sql_type_of_field(field: spark.StructField) -> SQLType:
    return types.TIME if field.metadata.get(SQL_TYPE_KEY) == "TIME" else sql_type(field.dataType)
