"""Canonical forms of schemas for comparison; rejects invalid schemas."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

from streamsql.errors import StreamSQLError
from streamsql.registry.avro_names import resolved
from streamsql.registry.records import AVRO, JSON, PROTOBUF, RegistryError


def canonical(schema_type: str, text: str, references: Mapping[str, str]) -> str:
    """The schema's text; RegistryError 42201 where it is not one. `references` are texts."""
    try:
        match schema_type:
            case "AVRO":
                return _avro(text, references)
            case "JSON":
                return json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False)
            case "PROTOBUF":
                return _protobuf(text)
    except (ValueError, KeyError, TypeError, StreamSQLError) as error:
        raise RegistryError(42201, f"Invalid schema: {error}") from error
    raise RegistryError(42201, f"Invalid schema type {schema_type}")


def serialized(schema_type: str, text: str, name: str = "default") -> str:
    """A Protobuf schema as its descriptor in base64; others unchanged."""
    if schema_type != PROTOBUF:
        return text
    from streamsql.formats.proto_parser import parse_proto

    file = parse_proto(text, name)
    return base64.b64encode(file.SerializeToString()).decode()


def _avro(text: str, references: Mapping[str, str]) -> str:
    # Python clients send a bare name (string) instead of a quoted one.
    stripped = text.strip()
    parsed = stripped if stripped.isidentifier() else json.loads(text)
    schema = _plain(parsed)
    _check_avro(schema, references)
    return json.dumps(schema, separators=(",", ":"), ensure_ascii=False)


def _plain(schema: Any) -> Any:
    """`{"type": "int"}` is `"int"`."""
    if isinstance(schema, dict):
        if set(schema) == {"type"} and isinstance(schema["type"], str):
            return schema["type"]
        return {k: _plain(v) if k != "default" else v for k, v in schema.items()}
    return [_plain(s) for s in schema] if isinstance(schema, list) else schema


def _check_avro(schema: Any, references: Mapping[str, str]) -> None:
    resolved(schema, [json.loads(t) for t in references.values()])


def _protobuf(text: str) -> str:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.message import DecodeError

    from streamsql.formats.proto_parser import parse_proto
    from streamsql.formats.proto_printer import print_proto

    try:
        file = FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError, DecodeError):
        file = parse_proto(text)
    if not file.message_type and not file.enum_type:
        raise ValueError("no messages")
    return print_proto(file)


__all__ = ["AVRO", "JSON", "PROTOBUF", "canonical", "serialized"]
