"""Records of formats with schemas as JSON values and back: what PRINT shows and tests compare."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from streamsql.formats.registered import SchemaText

JSON = Any
_FRAME = struct.Struct(">bi")


def framed_to_json(data: bytes, schema_of: Callable[[int], SchemaText | None]) -> JSON:
    """The value after a schema id; ValueError for invalid bytes or an unknown id."""
    if len(data) < _FRAME.size or data[0] != 0:
        raise ValueError("the record does not begin with the id of a schema")
    _, id = _FRAME.unpack_from(data)
    schema = schema_of(id)
    if schema is None:
        raise ValueError(f"no schema has the id {id}")
    body = data[_FRAME.size :]
    match schema.type:
        case "AVRO":
            from streamsql.formats.avro_json import avro_to_json

            return avro_to_json(schema, body)
        case "PROTOBUF":
            from streamsql.formats.protobuf_json import protobuf_to_json

            indexes, at = _indexes(body)
            return protobuf_to_json(schema, body[at:], indexes)
    return json.loads(body, parse_float=Decimal, parse_constant=str)


def json_to_framed(
    schema: SchemaText, value: JSON, text: Callable[[JSON], str], full_name: str | None = None
) -> bytes:
    """The record of a value written by a registered schema; `text` makes JSON, where records are
    that. ValueError where the value does not fit."""
    frame = _FRAME.pack(0, schema.id or 0)
    match schema.type:
        case "AVRO":
            from streamsql.formats.avro_json import avro_from_json

            return frame + avro_from_json(schema, value)
        case "PROTOBUF":
            from streamsql.formats.protobuf_json import indexes_of, protobuf_from_json

            indexes = indexes_of(schema, full_name)
            written = b"\0" if indexes == (0,) else _varints((len(indexes), *indexes))
            return frame + written + protobuf_from_json(schema, value, indexes)
    return frame + text(value).encode()


def _indexes(body: bytes) -> tuple[tuple[int, ...], int]:
    """Position of the message in its schema, and the offset of its bytes."""
    values: list[int] = []
    at, wanted = 0, 1
    while len(values) < wanted:
        shift = number = 0
        while True:
            if at >= len(body):
                raise ValueError("invalid Protobuf: the bytes end too early")
            byte = body[at]
            at += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        values.append((number >> 1) ^ -(number & 1))
        wanted = 1 + values[0]
    return (tuple(values[1:]) or (0,)), at


def _varints(numbers: tuple[int, ...]) -> bytes:
    out = bytearray()
    for number in numbers:
        rest = number << 1
        while rest > 0x7F:
            out.append(rest & 0x7F | 0x80)
            rest >>= 7
        out.append(rest)
    return bytes(out)
