"""Writes a record's key and value in Python, for INSERT .. VALUES: one record needs no JVM.

The bytes are those that the JVM codecs (io.streamsql) write for the queries.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from streamsql.catalog import Source
from streamsql.errors import InternalError
from streamsql.planner.types.constants import java_double
from streamsql.schema import Column, FormatSpec, Schema, Topic
from streamsql.types import (
    BIGINT,
    DOUBLE,
    INT,
    SQLType,
    element_type,
    fields,
    is_array,
    is_map,
    is_struct,
)

Cells = Mapping[str, Any]
"""Values by column, as `streamsql.planner.types.constants` makes them."""

_EPOCH = date(1970, 1, 1)


def can_encode(topic: Topic) -> bool:
    """Whether both formats are written here; those with schemas only the JVM writes."""
    return topic.key_format.name in _FORMATS and topic.value_format.name in _FORMATS


def encode_key(topic: Topic, schema: Schema, cells: Cells) -> bytes | None:
    """The key; None where all of its columns are null. A lone column stands for itself."""
    if not schema.key or all(cells.get(c.name) is None for c in schema.key):
        return None
    return _encode(topic.key_format, schema.key, cells, wrapped=len(schema.key) > 1)


def encode_record(source: Source, cells: Cells) -> tuple[bytes | None, bytes | None]:
    """Key and value of a row that is there: columns that are null are written as null."""
    topic, columns = source.topic, source.schema.value
    wrapped = len(columns) != 1 or topic.value_format.properties.get("wrap") != "false"
    value = _encode(topic.value_format, columns, cells, wrapped=wrapped)
    return encode_key(topic, source.schema, cells), value


def _encode(
    spec: FormatSpec, columns: Sequence[Column], cells: Cells, *, wrapped: bool
) -> bytes | None:
    return _FORMATS[spec.name](spec, columns, cells, wrapped)


def _json(spec: FormatSpec, columns: Sequence[Column], cells: Cells, wrapped: bool) -> bytes | None:
    if wrapped:
        pairs = ((c.name, _json_text(cells.get(c.name), c.type)) for c in columns)
        return _object(pairs).encode()
    (column,) = columns
    value = cells.get(column.name)
    return None if value is None else _json_text(value, column.type).encode()


def _json_text(value: Any, t: SQLType) -> str:
    if value is None:
        return "null"
    if is_array(t):
        return "[" + ",".join(_json_text(v, element_type(t)) for v in value) + "]"
    if is_map(t):
        return _object((k, _json_text(v, element_type(t))) for k, v in value.items())
    if is_struct(t):
        return _object((name, _json_text(value.get(name), kind)) for name, kind in fields(t))
    if t == DOUBLE:
        number = java_double(float(value))
        return number if number[-1].isdigit() else json.dumps(number)
    plain = _plain(value)
    if isinstance(plain, str):
        return json.dumps(plain, ensure_ascii=False)
    return "true" if plain is True else "false" if plain is False else f"{plain:f}"


def _object(pairs: Any) -> str:
    return "{" + ",".join(f"{json.dumps(k, ensure_ascii=False)}:{v}" for k, v in pairs) + "}"


def _plain(value: Any) -> bool | Decimal | str:
    """A primitive as the formats write it: times are numbers, BYTES base64."""
    if isinstance(value, (bool, str)):
        return value
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, date):
        return Decimal((value - _EPOCH).days)
    return Decimal(value)


def _delimited(
    spec: FormatSpec, columns: Sequence[Column], cells: Cells, wrapped: bool
) -> bytes | None:
    delimiter = spec.properties.get("delimiter", ",")
    texts = [
        _delimited_text(cells.get(c.name), c.type, delimiter, first=i == 0)
        for i, c in enumerate(columns)
    ]
    if len(columns) == 1 and cells.get(columns[0].name) is None:
        return None
    return delimiter.join(texts).encode()


def _delimited_text(value: Any, t: SQLType, delimiter: str, *, first: bool) -> str:
    if value is None:
        return ""
    plain = java_double(float(value)) if t == DOUBLE else _plain(value)
    if isinstance(plain, bool):
        plain = "true" if plain else "false"
    if isinstance(plain, Decimal):
        plain = f"{plain:f}"
    return _quoted(plain, delimiter, first)


def _quoted(text: str, delimiter: str, first: bool) -> str:
    """Between quotes where a reader of CSV needs them."""
    if not text:
        return '""' if first else ""
    special = any(c in text for c in (delimiter, '"', "\n", "\r"))
    special = special or (first and not (text[0].isascii() and text[0].isalnum()))
    if special or text[0] <= "#" or text[-1] <= " ":
        return '"' + text.replace('"', '""') + '"'
    return text


def _kafka(
    spec: FormatSpec, columns: Sequence[Column], cells: Cells, wrapped: bool
) -> bytes | None:
    (column,) = columns
    value = cells.get(column.name)
    if value is None:
        return None
    for kind, layout in ((INT, ">i"), (BIGINT, ">q"), (DOUBLE, ">d")):
        if column.type == kind:
            return struct.pack(layout, value)
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    raise InternalError(f"the KAFKA format cannot hold {value!r}")


def _none(spec: FormatSpec, columns: Sequence[Column], cells: Cells, wrapped: bool) -> bytes | None:
    return None


_FORMATS: dict[str, Callable[[FormatSpec, Sequence[Column], Cells, bool], bytes | None]] = {
    "JSON": _json,
    "DELIMITED": _delimited,
    "KAFKA": _kafka,
    "NONE": _none,
}
