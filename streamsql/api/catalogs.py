"""Serialization of a catalog as JSON, for completion in remote shells and for clients that inspect
streams and tables. The form follows the fields of `Catalog` and its objects: objects by field,
types and statements as SQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from streamsql.catalog import Catalog, Source, View
from streamsql.errors import ParseError
from streamsql.nodes import CreateView, Statement
from streamsql.parser import parse, parse_type, to_sql
from streamsql.types import PRIMITIVES, SQLType
from streamsql.types import to_sql as type_text

__all__ = ["Catalog", "Source", "decode_catalog", "encode_catalog"]

JSON = Any
"""Types of the json module."""
S = TypeVar("S", bound=Statement)


def encode_catalog(catalog: Catalog) -> dict[str, JSON]:
    """Functions and views are encoded by their statements."""
    encoded: dict[str, JSON] = _encode(catalog)
    return encoded


def decode_catalog(given: Mapping[str, JSON]) -> Catalog:
    """Decodes a catalog. Views and functions that this version cannot parse, and unknown fields,
    are skipped."""
    catalog: Catalog = _decode(Catalog, given)
    for kind in Catalog.kinds():
        things = catalog.things(kind)
        for name in [name for name, thing in things.items() if thing is None]:
            del things[name]
    return catalog


def _encode(value: Any) -> JSON:
    match value:
        case SQLType():
            return type_text(value)
        case View():
            return {"reads": sorted(value.reads), "statement": value.statement}
        case Statement():
            return to_sql(value)
        case Enum():
            return value.value
        case Mapping():
            return {key: _encode(entry) for key, entry in value.items()}
        case tuple():
            return [_encode(entry) for entry in value]
        case _ if is_dataclass(value):
            return {f.name: _encode(getattr(value, f.name)) for f in fields(value)}
    return value


def _decode(kind: Any, given: JSON) -> Any:
    """Decodes a value by the annotated type of its field."""
    origin, parts = get_origin(kind) or kind, get_args(kind)
    if origin is UnionType:
        return None if given is None else _decode(parts[0], given)
    if origin is tuple:
        return tuple(_decode(parts[0], entry) for entry in given)
    if issubclass(origin, Mapping):
        return {key: _decode(parts[1], entry) for key, entry in given.items()}
    if origin is SQLType:
        return PRIMITIVES.get(given) or parse_type(given)
    if origin is View:
        made = _parsed(given["statement"], CreateView)
        if made is None:
            return None
        return View(made.name, made.query, frozenset(given["reads"]), given["statement"])
    if issubclass(origin, Statement):
        return _parsed(given, origin)
    if issubclass(origin, Enum):
        return origin(given)
    if is_dataclass(origin):
        types = _types(kind)
        return kind(**{n: _decode(types[n], entry) for n, entry in given.items() if n in types})
    return given


@cache
def _types(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _parsed(text: str, kind: type[S]) -> S | None:
    try:
        found = parse(text)
    except ParseError:
        return None
    return next((statement for statement in found if isinstance(statement, kind)), None)
