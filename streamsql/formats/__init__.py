"""The record formats by name."""

from __future__ import annotations

from streamsql.errors import ConfigError, UnsupportedError, did_you_mean
from streamsql.formats.base import Format, Side
from streamsql.formats.delimited import DelimitedFormat
from streamsql.formats.json import JsonFormat
from streamsql.formats.kafka import KafkaFormat
from streamsql.formats.none import NoneFormat

__all__ = ["FORMATS", "PLANNED_FORMATS", "Format", "Side", "format_named"]

FORMATS: dict[str, Format] = {
    f.name: f for f in (JsonFormat(), DelimitedFormat(), KafkaFormat(), NoneFormat())
}

PLANNED_FORMATS = ("AVRO", "PROTOBUF", "PROTOBUF_NOSR", "JSON_SR")
"""Known by name, not run yet."""


def format_named(name: str) -> Format:
    """The format of that name, in any case; ConfigError or UnsupportedError where there is none."""
    upper = name.upper()
    found = FORMATS.get(upper)
    if found is not None:
        return found
    if upper in PLANNED_FORMATS:
        raise UnsupportedError(
            f"format {upper} is not supported yet",
            hint=f"Use one of {', '.join(FORMATS)}.",
        )
    raise ConfigError(
        f"Unknown format: {upper}",
        hint=did_you_mean(upper, (*FORMATS, *PLANNED_FORMATS))
        or f"The formats are {', '.join(FORMATS)}.",
    )
