"""Cells between server and client: JSON that preserves every value exactly. JSON types (numbers
except DECIMAL, booleans, text) are unchanged, others are text; a MAP is a list of pairs, a STRUCT a
list of field values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from streamsql.values.scalars import SCALARS, Scalar

if TYPE_CHECKING:
    # A client reads scalars without the types.
    from streamsql.types import SQLType

Codec = Callable[[Any], Any]
JSON = Any
"""Types of the json module."""
NATIVE = frozenset({"BOOLEAN", "INTEGER", "BIGINT", "DOUBLE", "STRING"})


def encoder(t: SQLType | None) -> Codec:
    """Converts values of the type to JSON; None for values of SHOW."""
    if t is None:
        return _untyped
    from streamsql.types import is_null
    from streamsql.values.nested import converter

    return _same if is_null(t) else converter(t, to_json_value, _pairs, _cells)


def decoder(t: SQLType | None) -> Codec:
    """The inverse of `encoder`."""
    if t is None:
        return _same
    from streamsql.types import is_null
    from streamsql.values.nested import converter

    return _same if is_null(t) else converter(t, scalar_decoder, _of_pairs, _of_cells)


def encode_cells(codecs: Sequence[Codec], values: Sequence[Any]) -> list[JSON]:
    """Applies each column's codec, for encoding and decoding."""
    pairs = zip(codecs, values, strict=True)
    return [None if value is None else codec(value) for codec, value in pairs]


def to_json_value(entry: Scalar) -> Codec:
    """Converts scalars to types of the json module."""
    if entry.name == "DOUBLE":
        return _double
    return _same if entry.name in NATIVE else entry.text


def scalar_decoder(entry: Scalar) -> Codec:
    """The inverse of `to_json_value`."""
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
