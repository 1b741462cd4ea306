"""Extends representations of scalars to ARRAY, MAP and STRUCT: as JSON text, or as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from streamsql.types import (
    SQLType,
    element_type,
    fields,
    is_array,
    is_decimal,
    is_map,
    is_struct,
    key_type,
    to_sql,
)
from streamsql.values.scalars import SCALARS, Scalar, Writer, json_string

Codec = Callable[[Any], Any]
"""Converts a value that is not null."""
Leaf = Callable[[Scalar], Codec]
"""Selects a representation of a scalar."""


def scalar(t: SQLType) -> Scalar:
    return SCALARS["DECIMAL" if is_decimal(t) else to_sql(t)]


def is_scalar(t: SQLType) -> bool:
    return not (is_array(t) or is_map(t) or is_struct(t))


# -- JSON ------------------------------------------------------------------------------------------


def json_writer(t: SQLType, leaf: Callable[[Scalar], Writer]) -> Writer:
    if is_array(t):
        return partial(_json_array, json_writer(element_type(t), leaf))
    if is_map(t):
        key = _key_text(key_type(t))
        return partial(_json_map, key, json_writer(element_type(t), leaf))
    if is_struct(t):
        members = [(n, json_string(n) + ":", json_writer(kind, leaf)) for n, kind in fields(t)]
        return partial(_json_struct, members)
    return leaf(scalar(t))


def _json_array(element: Writer, values: Sequence[Any]) -> str:
    return "[" + ",".join("null" if v is None else element(v) for v in values) + "]"


def _json_map(key: Writer, element: Writer, entries: Mapping[Any, Any]) -> str:
    # JSON keys are text: a null key is the word, as in Java.
    items = (
        f"{json_string('null' if k is None else key(k))}:{'null' if v is None else element(v)}"
        for k, v in entries.items()
    )
    return "{" + ",".join(items) + "}"


def _key_text(t: SQLType) -> Writer:
    return scalar(t).text if is_scalar(t) else str


def _json_struct(members: Sequence[tuple[str, str, Writer]], value: Mapping[str, Any]) -> str:
    items = (
        key + ("null" if (v := value.get(name)) is None else member(v))
        for name, key, member in members
    )
    return "{" + ",".join(items) + "}"


# -- Python ----------------------------------------------------------------------------------------


def converter(
    t: SQLType,
    leaf: Leaf,
    of_map: Callable[[Codec, Codec, Any], Any] | None = None,
    of_struct: Callable[[Sequence[tuple[str, Codec]], Any], Any] | None = None,
) -> Codec:
    """Converts values of a type by applying `leaf` to their scalars, in lists and dicts. `of_map`
    (given the codecs of key and value) and `of_struct` (given fields with codecs) override the
    dicts."""
    again = partial(converter, leaf=leaf, of_map=of_map, of_struct=of_struct)
    if is_array(t):
        return partial(each, again(element_type(t)))
    if is_map(t):
        return partial(of_map or _dict, again(key_type(t)), again(element_type(t)))
    if is_struct(t):
        return partial(of_struct or _members, [(name, again(kind)) for name, kind in fields(t)])
    return leaf(scalar(t))


def each(codec: Codec, values: Sequence[Any]) -> list[Any]:
    """Applies a codec to values that are not null."""
    return [None if value is None else codec(value) for value in values]


def _dict(key: Codec, value: Codec, entries: Mapping[Any, Any]) -> dict[Any, Any]:
    return {
        None if k is None else key(k): None if v is None else value(v) for k, v in entries.items()
    }


def _members(kinds: Sequence[tuple[str, Codec]], struct: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: None if (value := struct.get(name)) is None else codec(value) for name, codec in kinds
    }
