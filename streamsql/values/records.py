"""Encodes keys and values of records in Python, so that an INSERT needs no JVM. The bytes are those
of the JVM codecs (io.streamsql): tests/cases/codecs holds vectors for both. Formats with schemas
are encoded in the JVM only."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

from streamsql.errors import InternalError
from streamsql.schema import Column, FormatSpec, Schema, Topic
from streamsql.types import SQLType
from streamsql.values.nested import json_writer, scalar
from streamsql.values.scalars import SCALARS, json_string

Cells = Mapping[str, Any]
"""Values by column."""
Encoder = Callable[[Cells], bytes | None]


def can_encode(topic: Topic) -> bool:
    """Whether both formats are supported here."""
    return topic.key_format.name in _FORMATS and topic.value_format.name in _FORMATS


def key_encoder(topic: Topic, schema: Schema) -> Encoder:
    """Encodes keys; None if all key columns are null. A single column is unwrapped."""
    columns = schema.key
    encode = _FORMATS[topic.key_format.name](topic.key_format, columns, len(columns) != 1)
    return lambda cells: None if all(cells.get(c.name) is None for c in columns) else encode(cells)


def value_encoder(topic: Topic, schema: Schema) -> Encoder:
    """Encodes values; null columns are written as null."""
    columns, spec = schema.value, topic.value_format
    wrapped = len(columns) != 1 or spec.properties.get("wrap") != "false"
    return _FORMATS[spec.name](spec, columns, wrapped)


def _json(spec: FormatSpec, columns: Sequence[Column], wrapped: bool) -> Encoder:
    writers = [json_writer(c.type, attrgetter("record_json")) for c in columns]
    if not wrapped:
        (column,), (write,) = columns, writers
        return lambda cells: (
            None if (cell := cells.get(column.name)) is None else write(cell).encode()
        )
    members = [
        (c.name, json_string(c.name) + ":", w) for c, w in zip(columns, writers, strict=True)
    ]

    def encode(cells: Cells) -> bytes:
        parts = (
            name + ("null" if (cell := cells.get(column)) is None else write(cell))
            for column, name, write in members
        )
        return ("{" + ",".join(parts) + "}").encode()

    return encode


# -- DELIMITED -------------------------------------------------------------------------------------


def _delimited(spec: FormatSpec, columns: Sequence[Column], wrapped: bool) -> Encoder:
    delimiter = spec.properties.get("delimiter", ",")
    writers = [(c.name, scalar(c.type).record) for c in columns]

    def encode(cells: Cells) -> bytes | None:
        if len(writers) == 1 and cells.get(writers[0][0]) is None:
            return None
        texts = (
            "" if (cell := cells.get(name)) is None else _csv(write(cell), delimiter, i == 0)
            for i, (name, write) in enumerate(writers)
        )
        return delimiter.join(texts).encode()

    return encode


def _csv(text: str, delimiter: str, first: bool) -> str:
    """Quotes a value if CSV requires it."""
    if not text:
        return '""' if first else ""
    special = any(c in text for c in (delimiter, '"', "\n", "\r"))
    special = special or (first and not (text[0].isascii() and text[0].isalnum()))
    if special or text[0] <= "#" or text[-1] <= " ":
        return '"' + text.replace('"', '""') + '"'
    return text


_LAYOUTS = {"INTEGER": struct.Struct(">i"), "BIGINT": struct.Struct(">q")}
_LAYOUTS["DOUBLE"] = struct.Struct(">d")


def pack(t: SQLType, value: Any) -> bytes:
    """Encodes a value as Kafka's serializers do; struct.error if a number is too large."""
    return packer(t)(value)


def packer(t: SQLType) -> Callable[[Any], bytes]:
    entry = scalar(t)
    if layout := _LAYOUTS.get(entry.name):
        return layout.pack
    if entry.name == "BYTES":
        return bytes
    return _text if entry.name == "STRING" else partial(_unpackable, entry.name)


def _text(value: Any) -> bytes:
    return str(value).encode()


def _unpackable(name: str, value: Any) -> bytes:
    raise InternalError(f"the KAFKA format cannot hold {value!r}, a {name}")


def unpack(t: SQLType, data: bytes) -> Any:
    """The inverse of `pack`; struct.error or ValueError for other bytes."""
    entry = scalar(t)
    if layout := _LAYOUTS.get(entry.name):
        return layout.unpack(data)[0]
    return data if entry is SCALARS["BYTES"] else data.decode()


def _kafka(spec: FormatSpec, columns: Sequence[Column], wrapped: bool) -> Encoder:
    if not columns:
        return lambda cells: None
    (column,) = columns
    name, write = column.name, packer(column.type)
    return lambda cells: None if (cell := cells.get(name)) is None else write(cell)


def _none(spec: FormatSpec, columns: Sequence[Column], wrapped: bool) -> Encoder:
    return lambda cells: None


_FORMATS: dict[str, Callable[[FormatSpec, Sequence[Column], bool], Encoder]] = {
    "JSON": _json,
    "DELIMITED": _delimited,
    "KAFKA": _kafka,
    "NONE": _none,
}
