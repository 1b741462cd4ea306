"""Encoding of a topic's keys and values for the JVM codecs."""

from __future__ import annotations

from pyspark.sql.types import StructType

from streamsql.executor.frames.context import record_type
from streamsql.executor.spark.jvm import SideFormat
from streamsql.formats import Side
from streamsql.registry.serdes import SideSchemas
from streamsql.schema import Column, FormatSpec, KeyWindow, Schema, Topic


def key_side(topic: Topic, schema: Schema, schemas: SideSchemas) -> SideFormat:
    """The key: one column is unwrapped, several are a record."""
    if not schema.key:
        return SideFormat("NONE", StructType())
    properties = dict(topic.key_format.properties)
    if len(schema.key) == 1:
        properties["wrap"] = "false"
    properties |= schemas.of(topic, schema, Side.KEY)
    return _side(topic.key_format, schema.key, {**properties, **window_properties(topic.window)})


def value_side(topic: Topic, schema: Schema, schemas: SideSchemas) -> SideFormat:
    """How values of a topic are read or written: format, columns, registered schema."""
    properties = {**topic.value_format.properties, **schemas.of(topic, schema, Side.VALUE)}
    return _side(topic.value_format, schema.value, properties)


def _side(spec: FormatSpec, columns: tuple[Column, ...], properties: dict[str, str]) -> SideFormat:
    return SideFormat(spec.name, record_type(columns), properties)


def window_properties(window: KeyWindow | None) -> dict[str, str]:
    """Windows of one size write the start after the key, the others both bounds, as sessions do."""
    if window is None:
        return {}
    if window.has_end:
        return {"window": "session"}
    return {"window": "time", "window.size": str(window.size_ms)}
