"""SQL types as JSON: the name and nested types."""

from __future__ import annotations

from typing import Any

from streamsql import types
from streamsql.schema import Column, Namespace
from streamsql.types import SQLType

JSON = dict[str, Any]


def schema_info(t: SQLType) -> JSON:
    """A type: fields of a STRUCT, elements of an ARRAY or MAP, parameters of a DECIMAL."""
    info: JSON = {"type": _name(t), "fields": None, "memberSchema": None}
    if types.is_struct(t):
        info["fields"] = [
            {"name": name, "schema": schema_info(kind)} for name, kind in types.fields(t)
        ]
    elif types.is_array(t) or types.is_map(t):
        info["memberSchema"] = schema_info(types.element_type(t))
    elif types.is_decimal(t):
        precision, scale = types.precision_scale(t)
        info["parameters"] = {"precision": precision, "scale": scale}
    return info


def _name(t: SQLType) -> str:
    for name, applies in _NAMES:
        if applies(t):
            return name
    return types.to_sql(t)


_NAMES = (
    ("DECIMAL", types.is_decimal),
    ("ARRAY", types.is_array),
    ("MAP", types.is_map),
    ("STRUCT", types.is_struct),
)


def field(column: Column) -> JSON:
    """A column; value columns have no source marker."""
    info: JSON = {"name": column.name, "schema": schema_info(column.type)}
    if column.namespace is Namespace.KEY:
        info["type"] = "KEY"
    elif column.namespace is Namespace.HEADERS:
        info["type"] = "HEADER"
        if column.header is not None:
            info["headerKey"] = column.header
    return info
