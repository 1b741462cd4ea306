"""JSON schemas of columns, and the columns of JSON schemas, as Kafka Connect maps the types."""

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

Schema = Mapping[str, Any]

_CONNECT = "org.apache.kafka.connect.data"
_PRIMITIVES: tuple[tuple[SQLType, dict[str, Any]], ...] = (
    (BOOLEAN, {"type": "boolean"}),
    (INT, {"type": "integer", "connect.type": "int32"}),
    (BIGINT, {"type": "integer", "connect.type": "int64"}),
    (DOUBLE, {"type": "number", "connect.type": "float64"}),
    (STRING, {"type": "string"}),
    (BYTES, {"type": "string", "connect.type": "bytes"}),
)
_LOGICAL: tuple[tuple[SQLType, str, str], ...] = (
    (DATE, "Date", "int32"),
    (TIME, "Time", "int32"),
    (TIMESTAMP, "Timestamp", "int64"),
)


# -- from columns --------------------------------------------------------------------------------


def json_schema(columns: Sequence[Column], title: str | None, *, wrapped: bool) -> str:
    """The schema's text: an object or, not wrapped, the only column's own schema."""
    if wrapped:
        schema = _object([(c.name, c.type) for c in columns])
    else:
        schema = _nullable(_schema(columns[0].type))
    if title:
        schema["title"] = title
    return json.dumps(schema, separators=(",", ":"))


def _object(members: Sequence[tuple[str, SQLType]]) -> dict[str, Any]:
    properties = {
        name: {"connect.index": i, **_nullable(_schema(kind))}
        for i, (name, kind) in enumerate(members)
    }
    return {"type": "object", "properties": properties}


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    return {"oneOf": [{"type": "null"}, schema]}


def _schema(t: SQLType) -> dict[str, Any]:
    for kind, schema in _PRIMITIVES:
        if t == kind:
            return dict(schema)
    for kind, name, connect in _LOGICAL:
        if t == kind:
            return {"type": "integer", **_titled(name), "connect.type": connect}
    if is_decimal(t):
        precision, scale = precision_scale(t)
        parameters = {"scale": str(scale), "connect.decimal.precision": str(precision)}
        return {
            "type": "number",
            **_titled("Decimal"),
            "connect.type": "bytes",
            "connect.parameters": parameters,
        }
    if is_array(t):
        return {"type": "array", "items": _nullable(_schema(element_type(t)))}
    if is_map(t):
        values = _nullable(_schema(element_type(t)))
        return {"type": "object", "connect.type": "map", "additionalProperties": values}
    return _object(fields(t))


def _titled(name: str) -> dict[str, Any]:
    return {"title": f"{_CONNECT}.{name}", "connect.version": 1}


# -- to columns ----------------------------------------------------------------------------------


def json_columns(schema: SchemaText, lone: str | None, *, upper: bool) -> InferredColumns:
    """The columns of a schema; with `lone` the whole schema is one column of that name."""
    try:
        parsed = json.loads(schema.text)
        references = {name: json.loads(text) for name, text in schema.references.items()}
        kind = _Types(parsed, references, upper).sql(parsed)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError("invalid JSON schema", detail=str(error)) from error
    if lone is not None:
        return [(lone, kind)]
    if not is_struct(kind):
        raise PlanError(
            f"the schema is not of an object but of one value of type {to_sql(kind)}",
            hint="Add WRAP_SINGLE_VALUE=false to the WITH clause.",
        )
    return fields(kind)


class _Types:
    def __init__(self, root: Schema, references: Mapping[str, Schema], upper: bool) -> None:
        self._root = root
        self._references = references
        self._upper = upper
        self._open: set[str] = set()
        """References that are being followed."""

    def sql(self, schema: Schema) -> SQLType:
        if "$ref" in schema:
            return self._referenced(str(schema["$ref"]))
        for several in ("oneOf", "anyOf"):
            if several in schema:
                return self._one_of(schema[several])
        if "allOf" in schema and len(schema["allOf"]) == 1:
            return self.sql(schema["allOf"][0])
        kind = schema.get("type")
        if isinstance(kind, list):
            return self._one_of([{**schema, "type": t} for t in kind])
        if kind is None and "properties" in schema:
            kind = "object"
        if kind is None and ("enum" in schema or "const" in schema):
            kind = "string"
        match kind:
            case "object":
                return self._object(schema)
            case "array":
                return array(self.sql(schema["items"]))
        return _scalar(schema, kind)

    def _one_of(self, members: Sequence[Schema]) -> SQLType:
        real = [m for m in members if m.get("type") != "null"]
        if len(real) != 1:
            raise UnsupportedError(
                f"a JSON schema that allows {len(real)} types in one place has no SQL type",
                hint="List the columns that you need.",
            )
        return self.sql(real[0])

    def _object(self, schema: Schema) -> SQLType:
        properties = schema.get("properties")
        if properties:
            ordered = sorted(properties.items(), key=lambda p: p[1].get("connect.index", 0))
            return struct([(upper_name(n, self._upper), self.sql(s)) for n, s in ordered])
        values = schema.get("additionalProperties")
        if isinstance(values, dict):
            return map_(STRING, self.sql(values))
        return map_(STRING, STRING)

    def _referenced(self, name: str) -> SQLType:
        if name in self._open:
            raise UnsupportedError(
                f"the JSON schema {name} contains itself, which no SQL type does",
                hint="List the columns that you need.",
            )
        self._open.add(name)
        try:
            return self.sql(self._resolve(name))
        finally:
            self._open.discard(name)

    def _resolve(self, name: str) -> Schema:
        document, _, path = name.partition("#")
        found: Any = self._references[document] if document else self._root
        for step in path.strip("/").split("/") if path.strip("/") else ():
            found = found[step.replace("~1", "/").replace("~0", "~")]
        assert isinstance(found, dict)
        return found


def _scalar(schema: Schema, kind: object) -> SQLType:
    title, connect = str(schema.get("title", "")), schema.get("connect.type")
    if title == f"{_CONNECT}.Decimal":
        parameters = schema.get("connect.parameters", {})
        scale = int(parameters.get("scale", 0))
        precision = int(parameters.get("connect.decimal.precision", MAX_PRECISION))
        return decimal(min(precision, MAX_PRECISION), scale)
    for logical, name, _ in _LOGICAL:
        if title == f"{_CONNECT}.{name}":
            return logical
    match kind:
        case "boolean":
            return BOOLEAN
        case "integer":
            return INT if connect in ("int8", "int16", "int32") else BIGINT
        case "number":
            return DOUBLE
        case "string":
            return BYTES if connect == "bytes" else STRING
    raise UnsupportedError(f"a JSON schema of type {kind} has no SQL type")
