"""Converts Avro to JSON values and back by schema, for display and tests. Records are objects with
all fields, maps objects (also those written as lists of key and value), BYTES base64, DECIMAL a
Decimal, times integers. fastavro does the work; our logical types represent what JSON lacks.
Queries read and write Avro in the JVM."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

import fastavro
from fastavro.read import LOGICAL_READERS
from fastavro.write import LOGICAL_WRITERS

from streamsql.formats.registered import SchemaText

JSON = Any
Avro = Any
_ROOT = "value"


def avro_to_json(schema: SchemaText, data: bytes) -> JSON:
    """The value of the bytes, without a frame; ValueError if they do not fit the schema."""
    parsed = _parsed(schema.text, tuple(schema.references.values()))
    stream = io.BytesIO(data)
    try:
        read: Any = fastavro.schemaless_reader(stream, parsed, None)
    except (EOFError, LookupError, TypeError, ValueError, ArithmeticError) as error:
        raise ValueError(f"invalid Avro: {error}") from error
    if stream.tell() != len(data):
        raise ValueError("invalid Avro: bytes after the end of the value")
    return read[_ROOT]


def avro_from_json(schema: SchemaText, value: JSON) -> bytes:
    """The bytes of a value, without a frame; names of fields may differ in case. ValueError if the
    value does not fit."""
    parsed = _parsed(schema.text, tuple(schema.references.values()))
    out = io.BytesIO()
    try:
        fastavro.schemaless_writer(out, parsed, {_ROOT: value})
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise ValueError(f"the value does not fit its Avro schema: {error}") from error
    return out.getvalue()


@lru_cache(maxsize=64)
def _parsed(text: str, references: tuple[str, ...]) -> Avro:
    """A record with the only field `value`, which is encoded as the value itself: only a record
    keeps the named types inside, including those of references."""
    names: dict[str, Avro] = {}
    for reference in references:
        fastavro.parse_schema(_plain(json.loads(reference)), names)
    root = {"name": _ROOT, "type": _plain(json.loads(text))}
    parsed = fastavro.parse_schema(
        {"type": "record", "name": "_streamsql_root_", "fields": [root]}, names
    )
    for named in names.values():
        named["logicalType"] = _ALONE
        _mark_inner(named, names)
    return parsed


def _plain(schema: Avro) -> Avro:
    """The schema without redundant nesting, and with DECIMAL as the only logical type."""
    if isinstance(schema, list):
        return [_plain(branch) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    if isinstance(schema["type"], dict | list):
        return _plain(schema["type"])
    plain = dict(schema)
    plain["decimal"] = plain.pop("logicalType", None) == "decimal"
    if "fields" in plain:
        plain["fields"] = [{**f, "type": _plain(f["type"])} for f in plain["fields"]]
    for inner in ("items", "values"):
        if inner in plain:
            plain[inner] = _plain(plain[inner])
    return plain


# -- our logical types -----------------------------------------------------------------------------

_ALONE = "streamsql"
"""Conversions for types without alternatives."""
_BRANCH = "streamsql-branch"
"""The branch of a union: a value has the first type it resembles."""
_ENTRIES = "streamsql-entries"
"""A list of key and value that is an object in JSON."""


def _mark_inner(schema: Avro, names: Mapping[str, Avro]) -> None:
    for field in schema.get("fields", ()):
        field["type"] = _marked(field["type"], names)
    for inner in ("items", "values"):
        if inner in schema:
            schema[inner] = _marked(schema[inner], names)


def _marked(schema: Avro, names: Mapping[str, Avro], kind: str = _ALONE) -> Avro:
    """The schema with our logical types; named types have them in their definitions."""
    if isinstance(schema, list):
        kind = _ALONE if sum(branch != "null" for branch in schema) == 1 else _BRANCH
        return [_marked(branch, names, kind) for branch in schema]
    if isinstance(schema, str):
        if schema in names:
            return schema
        schema = {"type": schema}
    if "name" in schema:
        return schema
    if schema["type"] == "array" and _is_entry(schema["items"], names):
        kind = _ENTRIES
    marked = {**schema, "logicalType": kind}
    _mark_inner(marked, names)
    return marked


def _is_entry(items: Avro, names: Mapping[str, Avro]) -> bool:
    record = names.get(items) if isinstance(items, str) else items
    if not isinstance(record, dict) or record["type"] != "record":
        return False
    return [field["name"] for field in record["fields"]] == ["key", "value"]


def _number(value: float, *_: object) -> JSON:
    if value != value or value in (float("inf"), float("-inf")):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return value


def _from_bytes(data: bytes, schema: Avro, *_: object) -> JSON:
    if not schema.get("decimal"):
        return base64.b64encode(data).decode()
    unscaled = int.from_bytes(data, "big", signed=True)
    return Decimal(unscaled).scaleb(-int(schema.get("scale", 0)))


def _from_entries(entries: Sequence[Mapping[str, JSON]], *_: object) -> JSON:
    return {entry["key"]: entry["value"] for entry in entries}


def _to_bytes(value: JSON, schema: Avro) -> Avro:
    if not schema.get("decimal"):
        return base64.b64decode(value)
    unscaled = int(Decimal(str(value)).scaleb(int(schema.get("scale", 0))))
    size = schema.get("size") or (unscaled.bit_length() // 8 + 1)
    return unscaled.to_bytes(size, "big", signed=True)


def _to_entries(value: JSON, _: Avro) -> Avro:
    return [{"key": k, "value": v} for k, v in value.items()]


def _to_record(value: JSON, schema: Avro) -> Avro:
    """The object with its names as the schema writes them."""
    given = {name.lower(): found for name, found in value.items()} | value
    names = [field["name"] for field in schema["fields"]]
    return {n: given.get(n, given.get(n.lower())) for n in names if {n, n.lower()} & given.keys()}


def _writer(convert: Callable[[JSON, Avro], Avro]) -> Callable[[JSON, Avro], Avro]:
    """Values that cannot be converted are unchanged: fastavro rejects them, or uses another type of
    a union."""

    def converted(value: JSON, schema: Avro) -> Avro:
        try:
            return None if value is None else convert(value, schema)
        except (TypeError, ValueError, AttributeError, ArithmeticError):
            return value

    return converted


_WRITERS: Mapping[str, Callable[[JSON, Avro], Avro]] = {
    **{f"{kind}-{_ALONE}": lambda value, _: int(value) for kind in ("int", "long")},
    **{f"{kind}-{_ALONE}": lambda value, _: float(value) for kind in ("float", "double")},
    f"string-{_ALONE}": lambda value, _: str(value),
    f"boolean-{_ALONE}": lambda value, _: bool(value),
    **{
        f"{kind}-{_BRANCH}": lambda value, _: float(value) if isinstance(value, Decimal) else value
        for kind in ("float", "double")
    },
    f"bytes-{_ALONE}": _to_bytes,
    f"bytes-{_BRANCH}": _to_bytes,
    f"fixed-{_ALONE}": _to_bytes,
    f"record-{_ALONE}": _to_record,
    f"array-{_ENTRIES}": _to_entries,
}
LOGICAL_WRITERS.update({name: _writer(convert) for name, convert in _WRITERS.items()})
for _kind in (_ALONE, _BRANCH):
    LOGICAL_READERS.update(dict.fromkeys((f"bytes-{_kind}", f"fixed-{_kind}"), _from_bytes))
    LOGICAL_READERS.update(dict.fromkeys((f"float-{_kind}", f"double-{_kind}"), _number))
LOGICAL_READERS[f"array-{_ENTRIES}"] = _from_entries
