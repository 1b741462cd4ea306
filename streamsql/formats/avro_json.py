"""Avro's bytes as JSON values and back, by their schema: for people to read and tests to compare.

Records are objects with all their fields, maps objects (also those written as lists of key and
value), BYTES base64, DECIMAL a Decimal, times the integers that they are. Queries read and write
Avro in the JVM.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from streamsql.formats.registered import SchemaText

JSON = Any
_MAP_FIELDS = ["key", "value"]


def avro_to_json(schema: SchemaText, data: bytes) -> JSON:
    """The value of the bytes, a frame left out; ValueError where they are not of the schema."""
    root, names = _parsed(schema)
    reader = _Reader(data, names)
    try:
        value = reader.value(root, "")
    except (struct.error, IndexError, KeyError, TypeError) as error:
        raise ValueError(f"invalid Avro: {error}") from error
    if reader.at != len(data):
        raise ValueError("invalid Avro: bytes after the end of the value")
    return value


def avro_from_json(schema: SchemaText, value: JSON) -> bytes:
    """The bytes of a value, without a frame; names of fields may differ in case. ValueError where
    the value does not fit."""
    root, names = _parsed(schema)
    out = bytearray()
    _Writer(out, names).value(root, "", value)
    return bytes(out)


def _parsed(schema: SchemaText) -> tuple[Any, dict[str, Any]]:
    names: dict[str, Any] = {}
    for text in schema.references.values():
        _collect(json.loads(text), "", names)
    root = json.loads(schema.text)
    _collect(root, "", names)
    return root, names


def _collect(schema: Any, namespace: str, names: dict[str, Any]) -> None:
    """All named schemas, by full name."""
    if isinstance(schema, list):
        for branch in schema:
            _collect(branch, namespace, names)
    elif isinstance(schema, dict):
        if "name" in schema and schema["type"] in ("record", "error", "enum", "fixed"):
            name = _full_name(schema, namespace)
            names[name] = schema
            namespace = name.rpartition(".")[0]
        for field in schema.get("fields", ()):
            _collect(field["type"], namespace, names)
        for inner in ("items", "values", "type"):
            if isinstance(schema.get(inner), dict | list):
                _collect(schema[inner], namespace, names)


def _full_name(schema: Mapping[str, Any], namespace: str) -> str:
    name = str(schema["name"])
    space = schema.get("namespace", namespace)
    return name if "." in name or not space else f"{space}.{name}"


class _Walk:
    """Looks names up and tells what a schema is."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names

    def look(self, schema: Any, namespace: str) -> tuple[Any, str, str]:
        """The schema with its name resolved, its kind, and the namespace inside of it."""
        if isinstance(schema, list):
            return schema, "union", namespace
        if isinstance(schema, str):
            full = f"{namespace}.{schema}" if namespace else schema
            found = self._names.get(full, self._names.get(schema))
            return ({"type": schema}, schema, namespace) if found is None else self.look(found, "")
        kind = schema["type"]
        if isinstance(kind, dict | list):
            return self.look(kind, namespace)
        if kind not in _KINDS:
            return self.look(kind, namespace)
        if "name" in schema:
            namespace = _full_name(schema, namespace).rpartition(".")[0]
        return schema, kind, namespace

    def is_map(self, items: Any, namespace: str) -> bool:
        """Whether a list's elements are pairs of key and value."""
        record, kind, _ = self.look(items, namespace)
        return kind == "record" and [f["name"] for f in record["fields"]] == _MAP_FIELDS


_KINDS = frozenset(
    "null boolean int long float double bytes string record error enum fixed array map".split()
)


class _Reader(_Walk):
    def __init__(self, data: bytes, names: dict[str, Any]) -> None:
        super().__init__(names)
        self._data = data
        self.at = 0

    def value(self, schema: Any, namespace: str) -> JSON:
        schema, kind, inner = self.look(schema, namespace)
        match kind:
            case "union":
                return self.value(schema[self._long()], inner)
            case "null":
                return None
            case "boolean":
                return self._take(1) != b"\0"
            case "int" | "long":
                return self._long()
            case "float" | "double":
                return _number(*struct.unpack("<f" if kind == "float" else "<d", self._float(kind)))
            case "bytes" | "fixed":
                size = self._long() if kind == "bytes" else int(schema["size"])
                return _from_bytes(schema, self._take(size))
            case "string":
                return self._take(self._long()).decode()
            case "enum":
                return schema["symbols"][self._long()]
            case "record" | "error":
                return {f["name"]: self.value(f["type"], inner) for f in schema["fields"]}
            case "array":
                items = [self.value(schema["items"], inner) for _ in self._blocks()]
                as_map = self.is_map(schema["items"], inner)
                return {e["key"]: e["value"] for e in items} if as_map else items
        return {
            self._take(self._long()).decode(): self.value(schema["values"], inner)
            for _ in self._blocks()
        }

    def _float(self, kind: str) -> bytes:
        return self._take(4 if kind == "float" else 8)

    def _blocks(self) -> Any:
        while (count := self._long()) != 0:
            if count < 0:
                self._long()  # the block's size in bytes
            yield from range(abs(count))

    def _take(self, size: int) -> bytes:
        taken = self._data[self.at : self.at + size]
        if size < 0 or len(taken) != size:
            raise ValueError("invalid Avro: the bytes end too early")
        self.at += size
        return taken

    def _long(self) -> int:
        shift = result = 0
        while True:
            byte = self._take(1)[0]
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (result >> 1) ^ -(result & 1)
            shift += 7


class _Writer(_Walk):
    def __init__(self, out: bytearray, names: dict[str, Any]) -> None:
        super().__init__(names)
        self._out = out

    def value(self, schema: Any, namespace: str, value: JSON) -> None:
        schema, kind, inner = self.look(schema, namespace)
        match kind:
            case "union":
                self._union(schema, inner, value)
            case "null":
                if value is not None:
                    raise ValueError(f"expected null, found {value!r}")
            case "boolean":
                self._out.append(bool(value))
            case "int" | "long":
                self._long(int(value))
            case "float" | "double":
                self._out += struct.pack("<f" if kind == "float" else "<d", float(value))
            case "bytes":
                self._bytes(_to_bytes(schema, value))
            case "fixed":
                self._out += _to_bytes(schema, value)
            case "string":
                self._bytes(str(value).encode())
            case "enum":
                self._long(schema["symbols"].index(value))
            case "record" | "error":
                self._record(schema, inner, value)
            case _:
                self._container(schema, kind, inner, value)

    def _union(self, branches: list[Any], namespace: str, value: JSON) -> None:
        kinds = [self.look(b, namespace)[1] for b in branches]
        if value is None:
            self._long(kinds.index("null"))
            return
        mark = len(self._out)
        real = [i for i, kind in enumerate(kinds) if kind != "null"]
        alike = [i for i in real if _may_be(kinds[i], value)]
        for index in alike or real:
            branch = branches[index]
            try:
                self._long(index)
                self.value(branch, namespace, value)
                return
            except (ValueError, TypeError):
                del self._out[mark:]
        raise ValueError(f"{value!r} is of none of the types {', '.join(kinds)}")

    def _record(self, schema: Any, namespace: str, value: JSON) -> None:
        if not isinstance(value, dict):
            raise ValueError(f"expected an object, found {value!r}")
        given = {str(name).lower(): v for name, v in value.items()}
        for field in schema["fields"]:
            name = field["name"]
            if name in value:
                found = value[name]
            else:
                found = given.get(name.lower(), field.get("default"))
            self.value(field["type"], namespace, found)

    def _container(self, schema: Any, kind: str, namespace: str, value: JSON) -> None:
        if kind == "array" and isinstance(value, dict):
            value = [{"key": k, "value": v} for k, v in value.items()]
        if value:
            self._long(len(value))
        if kind == "map":
            for key, item in value.items():
                self._bytes(str(key).encode())
                self.value(schema["values"], namespace, item)
        else:
            for item in value:
                self.value(schema["items"], namespace, item)
        self._long(0)

    def _bytes(self, data: bytes) -> None:
        self._long(len(data))
        self._out += data

    def _long(self, value: int) -> None:
        encoded = (value << 1) ^ (value >> 63)
        while encoded > 0x7F:
            self._out.append(encoded & 0x7F | 0x80)
            encoded >>= 7
        self._out.append(encoded)


def _may_be(kind: str, value: JSON) -> bool:
    """Whether a JSON value looks like a type: tells the branches of a union apart."""
    match kind:
        case "boolean":
            return isinstance(value, bool)
        case "int" | "long":
            return isinstance(value, int) and not isinstance(value, bool)
        case "string" | "enum":
            return isinstance(value, str)
        case "record" | "map":
            return isinstance(value, dict)
    return True


def _number(value: float) -> JSON:
    if value != value or value in (float("inf"), float("-inf")):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return value


def _from_bytes(schema: Mapping[str, Any], data: bytes) -> JSON:
    if schema.get("logicalType") != "decimal":
        return base64.b64encode(data).decode()
    unscaled = int.from_bytes(data, "big", signed=True)
    return Decimal(unscaled).scaleb(-int(schema.get("scale", 0)))


def _to_bytes(schema: Mapping[str, Any], value: JSON) -> bytes:
    if schema.get("logicalType") != "decimal":
        return base64.b64decode(value)
    unscaled = int(Decimal(str(value)).scaleb(int(schema.get("scale", 0))))
    size = schema.get("size") or (unscaled.bit_length() // 8 + 1)
    return unscaled.to_bytes(size, "big", signed=True)
