"""Cells on their way between server and client: JSON that keeps every value exactly, by its type.

What JSON has (numbers but for DECIMAL, booleans, text) is itself, anything else its text, a MAP
a list of pairs and a STRUCT a list of its fields' values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from streamsql.types import SQLType, is_null
from streamsql.values.nested import Codec, converter
from streamsql.values.scalars import SCALARS, Scalar

JSON = Any
"""What the json module reads and writes."""
NATIVE = frozenset({"BOOLEAN", "INTEGER", "BIGINT", "DOUBLE", "STRING"})


def encoder(t: SQLType | None) -> Codec:
    """The function that turns values of the type into JSON; None: values as SHOW has them."""
    if t is None:
        return _untyped
    return _same if is_null(t) else converter(t, to_json_value, _pairs, _cells)


def decoder(t: SQLType | None) -> Codec:
    """The inverse of `encoder`."""
    if t is None or is_null(t):
        return _same
    return converter(t, _of_json_value, _of_pairs, _of_cells)


def encode_cells(codecs: Sequence[Codec], values: Sequence[Any]) -> list[JSON]:
    """Cells, each by its column's codec; also decodes."""
    pairs = zip(codecs, values, strict=True)
    return [None if value is None else codec(value) for codec, value in pairs]


def to_json_value(entry: Scalar) -> Codec:
    """From a scalar's values to what the json module takes."""
    if entry.name == "DOUBLE":
        return _double
    return _same if entry.name in NATIVE else entry.text


def _of_json_value(entry: Scalar) -> Codec:
    return _same if entry.name in NATIVE - {"DOUBLE"} else entry.of_text


def _same(value: Any) -> Any:
    return value


def _double(value: float) -> float | str:
    number = float(value)
    return number if math.isfinite(number) else SCALARS["DOUBLE"].text(number)


def _pairs(key: Codec, value: Codec, entries: Mapping[Any, Any]) -> list[Any]:
    return [
        [None if k is None else key(k), None if v is None else value(v)] for k, v in entries.items()
    ]


def _of_pairs(key: Codec, value: Codec, pairs: Sequence[Any]) -> dict[Any, Any]:
    return {None if k is None else key(k): None if v is None else value(v) for k, v in pairs}


def _cells(kinds: Sequence[tuple[str, Codec]], struct: Mapping[str, Any]) -> list[Any]:
    cells = ((codec, struct.get(name)) for name, codec in kinds)
    return [None if value is None else codec(value) for codec, value in cells]


def _of_cells(kinds: Sequence[tuple[str, Codec]], cells: Sequence[Any]) -> dict[str, Any]:
    pairs = zip(kinds, cells, strict=True)
    return {name: None if cell is None else codec(cell) for (name, codec), cell in pairs}


def _untyped(value: Any) -> JSON:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return _double(value)
        case list() | tuple():
            return [_untyped(v) for v in value]
        case dict():
            return {str(k): _untyped(v) for k, v in value.items()}
    return str(value)
