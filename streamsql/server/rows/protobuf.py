"""Rows as Protobuf messages, as ksqlDB sends them where a client accepts that."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Sequence
from decimal import Decimal
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
    is_map,
    is_struct,
)

_EPOCH = datetime.datetime(1970, 1, 1)


class RowMessages:
    """Messages of one schema; UnsupportedError where Protobuf cannot have it."""

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
    """A cell as protobuf_from_json takes it."""
    match value:
        case None:
            return None
        case bytes():
            return base64.b64encode(value).decode()
        case Decimal():
            return str(value)
        case datetime.datetime():
            return (value - _EPOCH) // datetime.timedelta(milliseconds=1)
        case datetime.date():
            return value.toordinal() - _EPOCH.toordinal()
        case datetime.time():
            moment = datetime.datetime.combine(_EPOCH, value)
            return (moment - _EPOCH) // datetime.timedelta(milliseconds=1)
        case list() if is_array(t):
            return [_item(item, element_type(t)) for item in value]
        case dict() if is_map(t):
            kind = element_type(t)
            return [{"key": str(k), "value": _json(v, kind)} for k, v in value.items()]
        case dict() if is_struct(t):
            return {name: _json(value.get(name), kind) for name, kind in fields(t)}
    return value


def _item(value: Value, t: SQLType) -> Any:
    """An element: a list of Protobuf has no nulls, so that they become the type's default."""
    if value is not None:
        return _json(value, t)
    if is_struct(t):
        return {}
    return "" if t in (STRING, BYTES) else False if t == BOOLEAN else 0
