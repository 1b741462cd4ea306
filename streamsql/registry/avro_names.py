"""Avro schemas with every name looked up: what the compatibility check walks over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")


@dataclass(eq=False)
class AvroType:
    """One schema; `members` are a record's fields, a union's branches, or what a list or map
    holds. Records may contain themselves."""

    kind: str
    name: str = ""
    members: list[AvroType] = field(default_factory=list)
    fields: list[AvroField] = field(default_factory=list)
    symbols: tuple[str, ...] = ()
    has_default: bool = False
    size: int = 0
    logical: tuple[object, ...] = ()


@dataclass(eq=False)
class AvroField:
    """A field of a record: its type, and by which names a reader finds it."""

    name: str
    type: AvroType
    has_default: bool
    aliases: tuple[str, ...]


def resolved(schema: Any, references: Sequence[Any] = ()) -> AvroType:
    """The schema as types; ValueError for one that is not valid."""
    names: dict[str, AvroType] = {}
    for reference in references:
        _type(reference, "", names)
    return _type(schema, "", names)


def _type(schema: Any, namespace: str, names: dict[str, AvroType]) -> AvroType:
    if isinstance(schema, list):
        return AvroType("union", members=[_type(s, namespace, names) for s in schema])
    if isinstance(schema, str):
        return _named(schema, namespace, names)
    if not isinstance(schema, dict) or "type" not in schema:
        raise ValueError(f"no type: {schema}")
    kind = schema["type"]
    if not isinstance(kind, str):
        return _type(kind, namespace, names)
    match kind:
        case "record" | "error":
            return _record(schema, namespace, names)
        case "enum" | "fixed":
            found = AvroType(
                kind,
                _full_name(schema, namespace),
                symbols=tuple(schema.get("symbols", ())),
                has_default="default" in schema,
                size=int(schema.get("size", 0)),
                logical=_logical(schema),
            )
            names[found.name] = found
            return found
        case "array" | "map":
            inner = schema["items" if kind == "array" else "values"]
            return AvroType(kind, members=[_type(inner, namespace, names)])
    found = _named(kind, namespace, names)
    logical = _logical(schema)
    return AvroType(kind, logical=logical) if kind in PRIMITIVES else found


def _record(schema: dict[str, Any], namespace: str, names: dict[str, AvroType]) -> AvroType:
    found = AvroType("record", _full_name(schema, namespace))
    names[found.name] = found
    inner = found.name.rpartition(".")[0]
    for given in schema["fields"]:
        kind = _type(given["type"], inner, names)
        aliases = tuple(given.get("aliases", ()))
        found.fields.append(AvroField(str(given["name"]), kind, "default" in given, aliases))
    return found


def _named(name: str, namespace: str, names: dict[str, AvroType]) -> AvroType:
    if name in PRIMITIVES:
        return AvroType(name)
    full = name if "." in name or not namespace else f"{namespace}.{name}"
    found = names.get(full) or names.get(name)
    if found is None:
        raise ValueError(f"undefined name: {name}")
    return found


def _full_name(schema: dict[str, Any], namespace: str) -> str:
    name = str(schema["name"])
    space = schema.get("namespace", namespace)
    return name if "." in name or not space else f"{space}.{name}"


def _logical(schema: dict[str, Any]) -> tuple[object, ...]:
    if schema.get("logicalType") != "decimal":
        return ()
    return "decimal", schema.get("precision"), schema.get("scale", 0)
