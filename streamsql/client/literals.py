"""Python values as SQL literals of a column's type: what rows that are inserted are written as."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from streamsql.client.wire_values import without_zone
from streamsql.errors import TypeMismatchError
from streamsql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIME,
    TIMESTAMP,
    SQLType,
    element_type,
    fields,
    is_array,
    is_decimal,
    is_map,
    is_struct,
    key_type,
    quote,
    to_sql,
)


def literal(value: Any, t: SQLType) -> str:
    """The SQL text of a value; TypeMismatchError for one that is not of the type."""
    if value is None:
        return f"CAST(NULL AS {to_sql(t)})"
    if is_array(t):
        items = [literal(item, element_type(t)) for item in _of(value, Sequence, t)]
        return f"ARRAY[{', '.join(items)}]" if items else _empty(t)
    if is_map(t):
        entries = _of(value, Mapping, t).items()
        pairs = [f"{literal(k, key_type(t))} := {literal(v, element_type(t))}" for k, v in entries]
        return f"MAP({', '.join(pairs)})" if pairs else _empty(t)
    if is_struct(t):
        return _struct(_of(value, Mapping, t), t)
    if is_decimal(t):
        return _decimal(value, t)
    return _RULES[to_sql(t)](value, t)


def text(value: str) -> str:
    """A text literal."""
    return "'" + value.replace("'", "''") + "'"


def _struct(value: Mapping[str, Any], t: SQLType) -> str:
    kinds = dict(fields(t))
    cells: dict[str, Any] = {}
    for given, cell in value.items():
        name = given if given in kinds else given.upper()
        if name not in kinds:
            raise TypeMismatchError(f"{to_sql(t)} has no field {given}")
        cells[name] = cell
    parts = (f"{quote(name)} := {literal(cells.get(name), kinds[name])}" for name in kinds)
    return f"STRUCT({', '.join(parts)})"


def _empty(t: SQLType) -> str:
    """SQL has no literal for a container without anything in it: one that has it taken out."""
    nothing = literal(None, element_type(t))
    if is_array(t):
        return f"FILTER(ARRAY[{nothing}], x => FALSE)"
    key = "''" if key_type(t) == STRING else f"CAST('0' AS {to_sql(key_type(t))})"
    return f"FILTER(MAP({key} := {nothing}), (k, v) => FALSE)"


def _of(value: Any, kind: Any, t: SQLType) -> Any:
    if isinstance(value, kind) and not isinstance(value, str | bytes):
        return value
    raise _misfit(value, t)


def _misfit(value: Any, t: SQLType) -> TypeMismatchError:
    shown = repr(value)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    return TypeMismatchError(f"{shown} is not a value of the type {to_sql(t)}")


def _boolean(value: Any, t: SQLType) -> str:
    if not isinstance(value, bool):
        raise _misfit(value, t)
    return "TRUE" if value else "FALSE"


def _integer(value: Any, t: SQLType) -> str:
    bits = 31 if t == INT else 63
    # Numbers of NumPy and pandas are no ints, but know which they stand for.
    number = value.__index__() if hasattr(value, "__index__") else None
    if isinstance(value, bool) or number is None or not -(1 << bits) <= number < 1 << bits:
        raise _misfit(value, t)
    return f"CAST('{number}' AS {to_sql(t)})"


def _double(value: Any, t: SQLType) -> str:
    if isinstance(value, bool | str) or not hasattr(value, "__float__"):
        raise _misfit(value, t)
    number = float(value)
    if math.isfinite(number):
        return f"CAST('{number!r}' AS DOUBLE)"
    name = "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    return f"CAST('{name}' AS DOUBLE)"


def _decimal(value: Any, t: SQLType) -> str:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise _misfit(value, t)
    number = Decimal(value)
    if not number.is_finite():
        raise _misfit(value, t)
    digits = format(number, "f")
    return digits if "." in digits else digits + ".0"


def _string(value: Any, t: SQLType) -> str:
    if not isinstance(value, str):
        raise _misfit(value, t)
    return text(value)


def _bytes(value: Any, t: SQLType) -> str:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise _misfit(value, t)
    return f"CAST('{base64.b64encode(value).decode()}' AS BYTES)"


def _date(value: Any, t: SQLType) -> str:
    if isinstance(value, datetime) or not isinstance(value, date):
        raise _misfit(value, t)
    return f"CAST('{value.isoformat()}' AS DATE)"


def _time(value: Any, t: SQLType) -> str:
    if not isinstance(value, time):
        raise _misfit(value, t)
    return f"CAST('{value.isoformat('milliseconds')}' AS TIME)"


def _timestamp(value: Any, t: SQLType) -> str:
    if not isinstance(value, datetime):
        raise _misfit(value, t)
    moment = without_zone(value).isoformat(timespec="milliseconds")
    return f"CAST('{moment}' AS TIMESTAMP)"


_RULES: dict[str, Callable[[Any, SQLType], str]] = {
    to_sql(BOOLEAN): _boolean,
    to_sql(INT): _integer,
    to_sql(BIGINT): _integer,
    to_sql(DOUBLE): _double,
    to_sql(STRING): _string,
    to_sql(BYTES): _bytes,
    to_sql(DATE): _date,
    to_sql(TIME): _time,
    to_sql(TIMESTAMP): _timestamp,
}
