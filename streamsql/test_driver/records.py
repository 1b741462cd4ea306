"""Conversion of test records between JSON and bytes: one JSON value per key or value. JSON and JSON
changes: the document; DELIMITED: its text; KAFKA: the number or string, BYTES in base64; NONE:
null. A key or value {"$raw": text} is the bytes of that text in any format."""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Callable, Sequence

from streamsql.catalog import Source
from streamsql.errors import ConfigError
from streamsql.formats import Side
from streamsql.kafka.records import Headers, NewRecord, Record
from streamsql.schema import Column, FormatSpec, KeyWindow
from streamsql.test_driver.json_values import JSON, JSONObject, from_text, to_text
from streamsql.test_driver.registries import CaseRegistry
from streamsql.types import STRING
from streamsql.values.nested import scalar
from streamsql.values.records import pack, unpack
from streamsql.values.wire import to_json_value

# -- to bytes ------------------------------------------------------------------------------------


def encode(record: JSONObject, source: Source | None, registry: CaseRegistry) -> NewRecord:
    """The bytes of an input record, written as `source` says; without a source, as JSON.

    ConfigError where the record does not fit the source.
    """
    try:
        if source is None:
            key, value = _encode_text(record.get("key")), _encode_json(record.get("value"))
        else:
            key = _encode(source, Side.KEY, record.get("key"), registry)
            value = _encode(source, Side.VALUE, record.get("value"), registry)
        return NewRecord(
            _with_window(key, record.get("window")),
            value,
            int(record.get("timestamp", 0)),
            headers=_encode_headers(record.get("headers") or ()),
        )
    except (ValueError, TypeError, struct.error, binascii.Error) as error:
        raise ConfigError(
            f"cannot write the input record {to_text(dict(record))}", detail=f"{error}."
        ) from error


def _encode(source: Source, side: Side, value: JSON, registry: CaseRegistry) -> bytes | None:
    spec, columns = _side(source, side)
    if value is None:
        return None
    if isinstance(value, dict) and set(value) == {"$raw"}:
        return str(value["$raw"]).encode()
    encoder = _ENCODERS.get(spec.name)
    if encoder is not None:
        return encoder(columns, value)
    return registry.encode(source, side, value) if columns else _encode_text(value)


def _side(source: Source, side: Side) -> tuple[FormatSpec, Sequence[Column]]:
    topic, schema = source.topic, source.schema
    if side is Side.KEY:
        return topic.key_format, schema.key
    return topic.value_format, schema.value


def _encode_json(value: JSON) -> bytes | None:
    return None if value is None else to_text(value).encode()


def _encode_text(value: JSON) -> bytes | None:
    if value is None:
        return None
    return (value if isinstance(value, str) else to_text(value)).encode()


def _encode_kafka(columns: Sequence[Column], value: JSON) -> bytes | None:
    kind = columns[0].type if columns else STRING
    return _encode_text(value) if kind == STRING else pack(kind, scalar(kind).of_packed(value))


_ENCODERS: dict[str, Callable[[Sequence[Column], JSON], bytes | None]] = {
    "JSON": lambda columns, value: _encode_json(value),
    "DELIMITED": lambda columns, value: _encode_text(value),
    "KAFKA": _encode_kafka,
    "NONE": lambda columns, value: None,
    **{
        name: lambda columns, value: _encode_json(value)
        for name in ("DEBEZIUM_JSON", "MAXWELL_JSON", "CANAL_JSON")
    },
}


def _with_window(key: bytes | None, window: JSONObject | None) -> bytes | None:
    if key is None or window is None:
        return key
    start, end = struct.pack(">q", window["start"]), struct.pack(">q", window["end"])
    return key + end + start if window.get("type") == "session" else key + start


def _encode_headers(headers: Sequence[JSONObject]) -> Headers:
    return [
        (str(h["KEY"]), None if h.get("VALUE") is None else base64.b64decode(h["VALUE"]))
        for h in headers
    ]


# -- from bytes ----------------------------------------------------------------------------------


def decode(record: Record, source: Source, topic: str, registry: CaseRegistry) -> JSONObject:
    """A record of the topic `topic` as tests write it; bytes that cannot be read are a text."""
    key, window = record.key, None
    if key is not None and source.topic.window is not None:
        key, window = _split_window(key, source.topic.window)
    return {
        "topic": topic,
        "key": _decode(source, Side.KEY, key, registry),
        "value": _decode(source, Side.VALUE, record.value, registry),
        "timestamp": record.timestamp,
        "window": window,
        "headers": [
            {"KEY": k, "VALUE": None if v is None else base64.b64encode(v).decode()}
            for k, v in record.headers
        ],
    }


def _split_window(key: bytes, window: KeyWindow) -> tuple[bytes, JSONObject]:
    if window.has_end:
        end, start = struct.unpack(">qq", key[-16:])
        return key[:-16], {"start": start, "end": end, "type": "session"}
    (start,) = struct.unpack(">q", key[-8:])
    return key[:-8], {"start": start, "end": start + (window.size_ms or 0), "type": "time"}


def _decode(source: Source, side: Side, data: bytes | None, registry: CaseRegistry) -> JSON:
    if data is None:
        return None
    spec, columns = _side(source, side)
    decoder = _DECODERS.get(spec.name)
    try:
        return decoder(columns, data) if decoder else registry.decode(source, side, data)
    except (ValueError, struct.error):
        return _decode_text(data)


def _decode_text(data: bytes) -> str:
    return data.decode("utf-8", errors="backslashreplace")


def _decode_kafka(columns: Sequence[Column], data: bytes) -> JSON:
    kind = columns[0].type if columns else STRING
    return to_json_value(scalar(kind))(unpack(kind, data))


_DECODERS: dict[str, Callable[[Sequence[Column], bytes], JSON]] = {
    "JSON": lambda columns, data: from_text(data),
    "DELIMITED": lambda columns, data: _decode_text(data),
    "KAFKA": _decode_kafka,
    "NONE": lambda columns, data: None,
}
