"""Records as the case files write them, and as bytes: one JSON value stands for a key or a value.

JSON: the document itself; DELIMITED: its text; KAFKA: the number or string, BYTES in base64.
"""

from __future__ import annotations

import base64
import json
import struct
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from streamsql.catalog import Source
from streamsql.schema import Column, FormatSpec, KeyWindow, WindowType
from streamsql.types import to_sql

_KAFKA: dict[str, str] = {"INTEGER": ">i", "BIGINT": ">q", "DOUBLE": ">d"}


@dataclass(frozen=True)
class Window:
    start: int
    end: int


@dataclass(frozen=True)
class Found:
    """A record of an output topic; `key` is comparable: JSON text."""

    key: Any
    value: Any
    timestamp: int
    headers: list[dict[str, str | None]]
    window: Window | None


def encode_key(source: Source, key: Any, window: dict[str, Any] | None) -> bytes | None:
    data = _encode(source.topic.key_format, source.schema.key, key)
    if data is None or window is None:
        return data
    start, end = struct.pack(">q", window["start"]), struct.pack(">q", window["end"])
    return data + end + start if window.get("type") == "session" else data + start


def encode_value(source: Source, value: Any) -> bytes | None:
    return _encode(source.topic.value_format, source.schema.value, value)


def _encode(spec: FormatSpec, columns: tuple[Column, ...], value: Any) -> bytes | None:
    if value is None or spec.name == "NONE" or not columns:
        return None
    if isinstance(value, dict) and set(value) == {"$raw"}:
        return str(value["$raw"]).encode()
    if spec.name == "JSON":
        return json.dumps(value, default=_number).encode()
    if spec.name == "DELIMITED":
        return str(value).encode()
    kind = to_sql(columns[0].type)
    if kind in _KAFKA:
        return struct.pack(_KAFKA[kind], value)
    return base64.b64decode(value) if kind == "BYTES" else str(value).encode()


def _number(value: object) -> float:
    assert isinstance(value, Decimal)
    return float(value)


def decode_key(source: Source, data: bytes | None) -> tuple[Any, Window | None]:
    window = None
    if data is not None and source.topic.window is not None:
        data, window = _split_window(data, source.topic.window)
    return _decode(source.topic.key_format, source.schema.key, data), window


def decode_value(source: Source, data: bytes | None) -> Any:
    return _decode(source.topic.value_format, source.schema.value, data)


def _split_window(data: bytes, window: KeyWindow) -> tuple[bytes, Window]:
    if window.type is WindowType.SESSION:
        end, start = struct.unpack(">qq", data[-16:])
        return data[:-16], Window(start, end)
    (start,) = struct.unpack(">q", data[-8:])
    assert window.size_ms is not None
    return data[:-8], Window(start, start + window.size_ms)


def _decode(spec: FormatSpec, columns: tuple[Column, ...], data: bytes | None) -> Any:
    if data is None:
        return None
    if spec.name == "JSON":
        return json.loads(data, parse_float=Decimal)
    if spec.name == "DELIMITED":
        return data.decode()
    kind = to_sql(columns[0].type)
    if kind in _KAFKA:
        return struct.unpack(_KAFKA[kind], data)[0]
    return base64.b64encode(data).decode() if kind == "BYTES" else data.decode()
