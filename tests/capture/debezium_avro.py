"""Rows' changes as Debezium's PostgreSQL connector writes them with Confluent's Avro converter.

Ids of schemas stand before each record, which is read by the schema that wrote it. Times and
decimals have the names of Kafka Connect's types in addition to Avro's own.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import fastavro

from streamsql.registry.client import RegistryClient

UNAVAILABLE = "__debezium_unavailable_value"
_MICROS = {"type": "long", "connect.version": 1, "connect.name": "io.debezium.time.MicroTimestamp"}
_ZONED = {
    "type": "string",
    "connect.version": 1,
    "connect.name": "io.debezium.time.ZonedTimestamp",
}
_PRICE = {
    "type": "bytes",
    "scale": 2,
    "precision": 8,
    "connect.version": 1,
    "connect.parameters": {"scale": "2", "connect.decimal.precision": "8"},
    "connect.name": "org.apache.kafka.connect.data.Decimal",
    "logicalType": "decimal",
}
COLUMNS: tuple[tuple[str, object], ...] = (
    ("name", "string"),
    ("price", _PRICE),
    ("made", _MICROS),
    ("seen", _ZONED),
)
"""The table's columns at first, without its key; all may be null."""


class Envelopes:
    """What a connector writes of a table: schemas in a registry, records by their ids."""

    def __init__(self, registry: RegistryClient, topic: str) -> None:
        self._registry = registry
        self._topic = topic
        key = {"type": "record", "name": "Key", "namespace": "shop.goods", "fields": [_ID]}
        self._key = self._registered("key", key)
        self.columns(COLUMNS)

    def columns(self, columns: tuple[tuple[str, object], ...]) -> None:
        """The table's columns from now on, without its key."""
        self._value = self._registered("value", _envelope(columns))

    def key(self, number: int) -> bytes:
        return _framed(self._key, {"id": number})

    def change(
        self, op: str, before: Mapping[str, object] | None, after: Mapping[str, object] | None
    ) -> bytes:
        """A change; its number in the database's log is that of its row."""
        row = after or before or {}
        source = {"version": "3.0", "db": "shop", "table": "goods", "lsn": row.get("id")}
        change = {"before": before, "after": after, "source": source, "op": op, "ts_ms": 5}
        return _framed(self._value, change)

    def _registered(self, part: str, schema: dict[str, object]) -> tuple[int, Any]:
        text = json.dumps(schema)
        number = self._registry.register(f"{self._topic}-{part}", "AVRO", text)
        return number, fastavro.parse_schema(schema)


_ID = {"name": "id", "type": "int"}


def _envelope(columns: tuple[tuple[str, object], ...]) -> dict[str, object]:
    nullable = [{"name": n, "type": ["null", t], "default": None} for n, t in columns]
    value = {"type": "record", "name": "Value", "fields": [_ID, *nullable]}
    source = {
        "type": "record",
        "name": "Source",
        "namespace": "io.debezium.connector.postgresql",
        "fields": [
            {"name": "version", "type": "string"},
            {"name": "db", "type": "string"},
            {"name": "table", "type": "string"},
            {"name": "lsn", "type": ["null", "long"], "default": None},
        ],
    }
    fields = [
        {"name": "before", "type": ["null", value], "default": None},
        {"name": "after", "type": ["null", "Value"], "default": None},
        {"name": "source", "type": source},
        {"name": "op", "type": "string"},
        {"name": "ts_ms", "type": ["null", "long"], "default": None},
    ]
    return {"type": "record", "name": "Envelope", "namespace": "shop.goods", "fields": fields}


def _framed(schema: tuple[int, Any], value: Mapping[str, object]) -> bytes:
    number, parsed = schema
    out = io.BytesIO(b"\0" + number.to_bytes(4, "big"))
    out.seek(0, io.SEEK_END)
    fastavro.schemaless_writer(out, parsed, dict(value))
    return out.getvalue()
