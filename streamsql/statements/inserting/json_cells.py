"""Converts JSON values to cells of an inserted row. A value must have its column's type, except for
types that JSON lacks: dates, times, BYTES and special DOUBLEs are text, DECIMALs may be text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from streamsql.errors import TypeMismatchError
from streamsql.ksqldb import says
from streamsql.planner.types.constants import coerce_value
from streamsql.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    STRING,
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

_BITS = {INT.this: 32, BIGINT.this: 64}
_JAVA = {
    bool: "java.lang.Boolean",
    str: "java.lang.String",
    int: "java.lang.Integer",
    list: "io.vertx.core.json.JsonArray",
    dict: "io.vertx.core.json.JsonObject",
}
"""ksqlDB's names of JSON types in messages."""
_HALF = re.compile("[\ud800-\udfff]")
_NO_NUMBERS = ("NaN", "Infinity", "-Infinity")
_NAMES = {bool: "a boolean", str: "text", list: "an array", dict: "an object"}


def cell(value: Any, t: SQLType) -> Any:
    """The cell of a JSON value, with decimal numbers as Decimals; None for null. TypeMismatchError
    if it does not fit the type."""
    if value is None:
        return None
    if is_array(t) and isinstance(value, list):
        return [cell(item, element_type(t)) for item in value]
    if is_map(t) and isinstance(value, dict):
        return {_key(key, key_type(t)): cell(item, element_type(t)) for key, item in value.items()}
    if is_struct(t) and isinstance(value, dict):
        given = named(value)
        return {
            name: cell(given.get(quote(name), given.get(name.upper())), kind)
            for name, kind in fields(t)
        }
    found = _number(value, t) if _is_number(value) else _other(value, t)
    if found is None:
        raise _misfit(value, t)
    return found


def named(given: Mapping[str, Any]) -> dict[str, Any]:
    """Members by name: in upper case, or case-sensitive between backticks."""
    return {name if name[:1] == "`" else name.upper(): value for name, value in given.items()}


def _key(text: str, t: SQLType) -> Any:
    """A map key, which is text in JSON regardless of its type."""
    return cell(text, t) if t == STRING else _coerced(text, t)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


def _number(value: Any, t: SQLType) -> Any:
    bits = _BITS.get(t.this)
    if bits is not None:
        fits = isinstance(value, int) and -(1 << bits - 1) <= value < 1 << bits - 1
        return value if fits else None
    if t == DOUBLE:
        try:
            return float(value)
        except OverflowError:
            return None
    return _coerced(str(value), t) if is_decimal(t) else None


def _other(value: Any, t: SQLType) -> Any:
    if isinstance(value, bool):
        return value if t == BOOLEAN else None
    if not isinstance(value, str) or t in (BOOLEAN, INT, BIGINT):
        return None
    if t == DOUBLE:
        return float(value) if value in _NO_NUMBERS else None
    if is_array(t) or is_map(t) or is_struct(t):
        return None
    if t == STRING:
        # JSON allows unpaired surrogates, which UTF-8 cannot encode.
        return None if _HALF.search(value) else value
    return _coerced(value, t)


def _coerced(text: str, t: SQLType) -> Any:
    try:
        return coerce_value(text, STRING, t)
    except (ValueError, ArithmeticError) as error:
        raise TypeMismatchError(
            f"Can't coerce '{text[:100]}' into type {to_sql(t)}", detail=_detail(error)
        ) from None


def _detail(error: Exception) -> str | None:
    # Python's own messages are not shown to users.
    text = str(error)
    return f"{text}." if "digits" in text or "precision" in text else None


def _shown(value: object) -> str:
    return str(value)[:100].encode(errors="backslashreplace").decode()


def _misfit(value: Any, t: SQLType) -> TypeMismatchError:
    what = _NAMES.get(type(value), "a number")
    shown = "" if isinstance(value, (list, dict)) else f" ({_shown(value)})"
    known = says(
        "inserts-value",
        given=_JAVA.get(type(value), "java.lang.Double"),
        value=json.dumps(value, default=str) if shown == "" else str(value)[:100],
        type=to_sql(t),
    )
    return TypeMismatchError(f"Can't coerce {what}{shown} into type {to_sql(t)}", ksqldb=known)
