"""Avro schemas of columns, and the columns of Avro schemas, as Kafka Connect maps the types."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from streamsql.errors import ConfigError, PlanError, UnsupportedError
from streamsql.formats.registered import InferredColumns, SchemaText, upper_name
from streamsql.schema import Column
from streamsql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    MAX_PRECISION,
    STRING,
    TIME,
    TIMESTAMP,
    SQLType,
    array,
    decimal,
    element_type,
    fields,
    is_array,
    is_decimal,
    is_map,
    is_struct,
    map_,
    precision_scale,
    struct,
    to_sql,
)

NAMESPACE = "io.confluent.ksql.avro_schemas"
VALUE_NAME = f"{NAMESPACE}.KsqlDataSourceSchema"
MAP_ENTRY = "MapEntry"
"""`connect.internal.type` of the records of a map with nullable keys."""
_CONNECT = "org.apache.kafka.connect.data"

Avro = Any
"""An Avro schema as parsed JSON."""

_PRIMITIVES: tuple[tuple[SQLType, Avro], ...] = (
    (BOOLEAN, "boolean"),
    (INT, "int"),
    (BIGINT, "long"),
    (DOUBLE, "double"),
    (STRING, "string"),
    (BYTES, "bytes"),
)
_LOGICAL: tuple[tuple[SQLType, str, str, str], ...] = (
    (DATE, "int", "date", "Date"),
    (TIME, "int", "time-millis", "Time"),
    (TIMESTAMP, "long", "timestamp-millis", "Timestamp"),
)


# -- from columns --------------------------------------------------------------------------------


def avro_schema(columns: Sequence[Column], full_name: str, *, wrapped: bool) -> str:
    """The schema's JSON: a record of that name or, not wrapped, the only column's own schema."""
    if wrapped:
        return _compact(_record([(c.name, c.type) for c in columns], full_name))
    (column,) = columns
    return _compact(_schema(column.type, full_name))


def _compact(schema: Avro) -> str:
    return json.dumps(schema, separators=(",", ":"))


def _record(members: Sequence[tuple[str, SQLType]], full_name: str) -> Avro:
    namespace, _, name = full_name.rpartition(".")
    record = {"type": "record", "name": name}
    if namespace:
        record["namespace"] = namespace
    return {
        **record,
        "fields": [
            {
                "name": field,
                "type": _nullable(_schema(kind, f"{full_name}_{field}")),
                "default": None,
            }
            for field, kind in members
        ],
    }


def _nullable(schema: Avro) -> Avro:
    return ["null", schema]


def _schema(t: SQLType, path: str) -> Avro:
    """The schema of a non-null value; records in it are named after their path."""
    for kind, name in _PRIMITIVES:
        if t == kind:
            return name
    for kind, base, logical, connect in _LOGICAL:
        if t == kind:
            return {
                "type": base,
                "connect.version": 1,
                "connect.name": f"{_CONNECT}.{connect}",
                "logicalType": logical,
            }
    if is_decimal(t):
        return _decimal(*precision_scale(t))
    if is_array(t):
        return {"type": "array", "items": _nullable(_schema(element_type(t), path))}
    if is_map(t):
        return _map(element_type(t), path)
    return _record(fields(t), path)


def _decimal(precision: int, scale: int) -> Avro:
    return {
        "type": "bytes",
        "scale": scale,
        "precision": precision,
        "connect.version": 1,
        "connect.parameters": {
            "scale": str(scale),
            "connect.decimal.precision": str(precision),
        },
        "connect.name": f"{_CONNECT}.Decimal",
        "logicalType": "decimal",
    }


def _map(value: SQLType, path: str) -> Avro:
    """An array of entries: an Avro map cannot have null as a key, a SQL map can."""
    namespace, _, name = path.rpartition(".")
    value_schema = _schema(value, f"{path}_MapValue")
    return {
        "type": "array",
        "items": {
            "type": "record",
            "name": name,
            "namespace": namespace,
            "fields": [
                {"name": "key", "type": _nullable("string"), "default": None},
                {"name": "value", "type": _nullable(value_schema), "default": None},
            ],
            "connect.internal.type": MAP_ENTRY,
        },
        "connect.internal.type": MAP_ENTRY,
    }


# -- to columns ----------------------------------------------------------------------------------


def avro_columns(schema: SchemaText, lone: str | None, *, upper: bool) -> InferredColumns:
    """The columns of a schema; with `lone` the whole schema is one column of that name."""
    try:
        parsed = json.loads(schema.text)
        types = _Types(upper)
        for text in schema.references.values():
            types.sql(json.loads(text))
        if lone is not None:
            return [(lone, types.sql(parsed))]
        kind = types.sql(parsed)
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError("invalid Avro schema", detail=str(error)) from error
    if not is_struct(kind):
        raise PlanError(
            f"the schema is not of a record but of one value of type {to_sql(kind)}",
            hint="Add WRAP_SINGLE_VALUE=false to the WITH clause.",
        )
    return fields(kind)


class _Types:
    """Reads schemas as types, remembering the named ones."""

    def __init__(self, upper: bool) -> None:
        self._upper = upper
        self._named: dict[str, SQLType | None] = {}

    def sql(self, schema: Avro, namespace: str = "") -> SQLType:
        if isinstance(schema, list):
            return self._union(schema, namespace)
        if isinstance(schema, str):
            return self._by_name(schema, namespace)
        kind = schema["type"]
        if isinstance(kind, dict | list):
            return self.sql(kind, namespace)
        logical = _logical(schema)
        if logical is not None:
            return logical
        match kind:
            case "record" | "error":
                return self._record(schema, namespace)
            case "enum" | "fixed":
                found = STRING if kind == "enum" else BYTES
                self._named[_full_name(schema, namespace)] = found
                return found
            case "array":
                return self._array(schema["items"], namespace)
            case "map":
                return map_(STRING, self.sql(schema["values"], namespace))
        return self._by_name(kind, namespace)

    def _record(self, schema: Avro, namespace: str) -> SQLType:
        name = _full_name(schema, namespace)
        self._named[name] = None
        inner = name.rpartition(".")[0]
        members = [
            (upper_name(f["name"], self._upper), self.sql(f["type"], inner))
            for f in schema["fields"]
        ]
        self._named[name] = struct(members)
        return struct(members)

    def _array(self, items: Avro, namespace: str) -> SQLType:
        if isinstance(items, dict) and items.get("connect.internal.type") == MAP_ENTRY:
            (value,) = (f["type"] for f in items["fields"] if f["name"] == "value")
            return map_(STRING, self.sql(value, namespace))
        return array(self.sql(items, namespace))

    def _union(self, members: Sequence[Avro], namespace: str) -> SQLType:
        real = [m for m in members if m != "null"]
        if len(real) == 1:
            return self.sql(real[0], namespace)
        if not real:
            raise UnsupportedError("an Avro schema that is only null has no SQL type")
        return struct([(upper_name(_branch(m), self._upper), self.sql(m, namespace)) for m in real])

    def _by_name(self, name: str, namespace: str) -> SQLType:
        if name == "float":
            return DOUBLE
        for kind, primitive in _PRIMITIVES:
            if name == primitive:
                return kind
        full = name if "." in name or not namespace else f"{namespace}.{name}"
        found = self._named.get(full, self._named.get(name, BOOLEAN))
        if found is None:
            raise UnsupportedError(
                f"the Avro record {name} contains itself, which no SQL type does",
                hint="List the columns that you need.",
            )
        if full not in self._named and name not in self._named:
            raise ConfigError(f"invalid Avro schema: undefined name {name}")
        return found


def _branch(schema: Avro) -> str:
    """Name of a union's branch."""
    if isinstance(schema, str):
        return schema.rpartition(".")[2]
    return str(schema.get("name", schema["type"])).rpartition(".")[2]


def _full_name(schema: Mapping[str, Any], namespace: str) -> str:
    name = str(schema["name"])
    space = schema.get("namespace", namespace)
    return name if "." in name or not space else f"{space}.{name}"


def _logical(schema: Mapping[str, Any]) -> SQLType | None:
    logical = schema.get("logicalType")
    for kind, base, name, _ in _LOGICAL:
        if (base, name) == (schema["type"], logical):
            return kind
    if logical == "decimal" and schema["type"] in ("bytes", "fixed"):
        scale = int(schema.get("scale", 0))
        precision = min(int(schema["precision"]), MAX_PRECISION)
        return decimal(precision, min(scale, precision))
    return None
