"""The record formats by name."""

from __future__ import annotations

from streamsql.errors import ConfigError, did_you_mean
from streamsql.formats.avro import AvroFormat
from streamsql.formats.base import Format, Side
from streamsql.formats.changes import (
    CanalJsonFormat,
    DebeziumAvroFormat,
    DebeziumJsonFormat,
    MaxwellJsonFormat,
)
from streamsql.formats.delimited import DelimitedFormat
from streamsql.formats.json import JsonFormat, JsonSchemaFormat
from streamsql.formats.kafka import KafkaFormat
from streamsql.formats.none import NoneFormat
from streamsql.formats.protobuf import ProtobufFormat, ProtobufNoSrFormat

__all__ = ["FORMATS", "Format", "Side", "format_named"]

FORMATS: dict[str, Format] = {
    f.name: f
    for f in (
        JsonFormat(),
        JsonSchemaFormat(),
        AvroFormat(),
        ProtobufFormat(),
        ProtobufNoSrFormat(),
        DelimitedFormat(),
        KafkaFormat(),
        NoneFormat(),
        DebeziumJsonFormat(),
        DebeziumAvroFormat(),
        MaxwellJsonFormat(),
        CanalJsonFormat(),
    )
}


def format_named(name: str) -> Format:
    """A format by name, ignoring case; ConfigError if unknown."""
    upper = name.upper()
    found = FORMATS.get(upper)
    if found is not None:
        return found
    raise ConfigError(
        f"Unknown format: {upper}",
        hint=did_you_mean(upper, FORMATS) or f"The formats are {', '.join(FORMATS)}.",
    )
