"""Resolves references to custom types (CREATE TYPE)."""

from __future__ import annotations

from collections.abc import Mapping

from streamsql.errors import BindError, Span, UnsupportedError, did_you_mean
from streamsql.types import (
    MAX_PRECISION,
    PRIMITIVES,
    SQLType,
    array,
    custom_name,
    element_type,
    fields,
    is_array,
    is_custom,
    is_decimal,
    is_map,
    is_struct,
    key_type,
    map_,
    precision_scale,
    struct,
    to_sql,
)

_ELSEWHERE = {
    **dict.fromkeys(("BINARY", "VARBINARY", "BLOB"), "BYTES"),
    "TINYINT": "INT",
    "LONG": "BIGINT",
    "NUMBER": "DECIMAL(precision, scale)",
    "DATETIME": "TIMESTAMP",
}
"""Type names of databases and their equivalents."""


def _known_elsewhere(name: str) -> str | None:
    return f"It is called {_ELSEWHERE[name]} here." if name in _ELSEWHERE else None


def resolve_type(t: SQLType, types: Mapping[str, SQLType], span: Span | None = None) -> SQLType:
    """The type with every custom name inside replaced; BindError for an unknown one,
    UnsupportedError for a DECIMAL that is too wide for Spark."""
    if is_custom(t):
        name = custom_name(t)
        if name not in types:
            raise BindError(
                f"Cannot resolve unknown type: {name}",
                hint=_known_elsewhere(name)
                or did_you_mean(name, (*types, *PRIMITIVES))
                or "SHOW TYPES lists custom types.",
                span=span,
            )
        return types[name]
    if is_array(t):
        return array(resolve_type(element_type(t), types, span))
    if is_map(t):
        return map_(
            resolve_type(key_type(t), types, span), resolve_type(element_type(t), types, span)
        )
    if is_struct(t):
        return struct([(name, resolve_type(kind, types, span)) for name, kind in fields(t)])
    if is_decimal(t) and precision_scale(t)[0] > MAX_PRECISION:
        raise UnsupportedError(
            f"{to_sql(t)}: more than {MAX_PRECISION} digits are not supported",
            hint=f"Use DECIMAL({MAX_PRECISION}, s), DOUBLE or STRING.",
            span=span,
        )
    return t
