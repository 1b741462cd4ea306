"""Rows as Protobuf messages in ksqlDB's form."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from streamsql.errors import UnsupportedError
from streamsql.formats.protobuf_json import protobuf_from_json
from streamsql.formats.protobuf_schema import nesting_problem, protobuf_schema
from streamsql.formats.registered import SchemaText
from streamsql.results import Value
from streamsql.schema import Schema
from streamsql.types import (
    BOOLEAN,
    BYTES,
    STRING,
    SQLType,
    element_type,
    fields,
    is_array,
    is_decimal,
    is_map,
    is_struct,
)
from streamsql.values.nested import scalar


class RowMessages:
    """Messages of one schema; UnsupportedError if Protobuf does not support it."""

    def __init__(self, schema: Schema) -> None:
        for column in schema:
            problem = nesting_problem(column.type)
            if problem is not None:
                raise UnsupportedError(f"column {column.name}: {problem}")
        self._columns = [(column.name, column.type) for column in schema]
        self.proto = protobuf_schema(schema.columns, None, None, map_entries=True)
        self._schema = SchemaText("PROTOBUF", self.proto)

    def base64(self, values: Sequence[Value]) -> str:
        """A row's message, as text."""
        cells = zip(self._columns, values, strict=True)
        row = {name: _json(value, kind) for (name, kind), value in cells}
        return base64.b64encode(protobuf_from_json(self._schema, row)).decode()


def _json(value: Value, t: SQLType) -> Any:
    if value is None:
        return None
    if is_array(t):
        assert isinstance(value, list)
        return [_item(item, element_type(t)) for item in value]
    if is_map(t):
        assert isinstance(value, dict)
        kind = element_type(t)
        return [{"key": str(k), "value": _json(v, kind)} for k, v in value.items()]
    if is_struct(t):
        assert isinstance(value, dict)
        return {name: _json(value.get(name), kind) for name, kind in fields(t)}
    packed = scalar(t).packed(value)
    return str(packed) if is_decimal(t) else packed


def _item(value: Value, t: SQLType) -> Any:
    """An element: Protobuf lists contain no nulls, which become the type's default."""
    if value is not None:
        return _json(value, t)
    if is_struct(t):
        return {}
    return "" if t in (STRING, BYTES) else False if t == BOOLEAN else 0
