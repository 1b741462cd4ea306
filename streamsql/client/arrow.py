"""Rows as Arrow: which Arrow type an SQL type is, and tables of rows. PyArrow is loaded only here.

A TIMESTAMP is a moment, so it has the zone UTC; times are in milliseconds, as everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from streamsql.results import Field, Value
from streamsql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    NULL,
    STRING,
    TIME,
    TIMESTAMP,
    SQLType,
    contains_map,
    element_type,
    fields,
    is_array,
    is_decimal,
    is_map,
    is_struct,
    key_type,
    precision_scale,
    to_sql,
)


def arrow_type(t: SQLType) -> pa.DataType:
    """The Arrow type that holds all values of the SQL type exactly."""
    if is_decimal(t):
        return pa.decimal128(*precision_scale(t))
    if is_array(t):
        return pa.list_(arrow_type(element_type(t)))
    if is_map(t):
        return pa.map_(arrow_type(key_type(t)), arrow_type(element_type(t)))
    if is_struct(t):
        return pa.struct([pa.field(name, arrow_type(kind)) for name, kind in fields(t)])
    return _PRIMITIVE[to_sql(t)]


def arrow_table(columns: Sequence[Field], rows: Iterable[Sequence[Value]]) -> pa.Table:
    """A table with the columns' names and types, which may be empty."""
    cells = list(zip(*rows, strict=True)) or [() for _ in columns]
    arrays = [_array(field.type, values) for field, values in zip(columns, cells, strict=True)]
    return pa.Table.from_arrays(arrays, names=[field.name for field in columns])


def data_frame(table: pa.Table) -> Any:
    """The table as a pandas DataFrame, with pandas' own types that know nulls."""
    import pandas as pd

    nullable = {
        pa.bool_(): pd.BooleanDtype(),
        pa.int32(): pd.Int32Dtype(),
        pa.int64(): pd.Int64Dtype(),
    }
    return table.to_pandas(types_mapper=nullable.get)


def _array(t: SQLType | None, values: Sequence[Any]) -> pa.Array:
    if t is None:
        return _inferred(values)
    given = [_with_pairs(t, value) for value in values] if contains_map(t) else values
    return pa.array(given, arrow_type(t))


def _inferred(values: Sequence[Any]) -> pa.Array:
    """Infers the types of SHOW's cells."""
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in values])


def _with_pairs(t: SQLType, value: Any) -> Any:
    """The value with its maps as Arrow takes them: as lists of pairs."""
    if value is None:
        return None
    if is_array(t):
        return [_with_pairs(element_type(t), v) for v in value]
    if is_map(t):
        assert isinstance(value, Mapping)
        return [(k, _with_pairs(element_type(t), v)) for k, v in value.items()]
    if is_struct(t):
        return {name: _with_pairs(kind, value.get(name)) for name, kind in fields(t)}
    return value


_PRIMITIVE: dict[str, pa.DataType] = {
    to_sql(BOOLEAN): pa.bool_(),
    to_sql(INT): pa.int32(),
    to_sql(BIGINT): pa.int64(),
    to_sql(DOUBLE): pa.float64(),
    to_sql(STRING): pa.string(),
    to_sql(BYTES): pa.binary(),
    to_sql(DATE): pa.date32(),
    to_sql(TIME): pa.time32("ms"),
    to_sql(TIMESTAMP): pa.timestamp("ms", tz="UTC"),
    to_sql(NULL): pa.null(),
}
