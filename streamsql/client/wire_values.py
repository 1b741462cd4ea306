"""Cells on their way between server and client: JSON that keeps every value exactly, by its type.

DECIMAL is text, BYTES base64, DATE, TIME and TIMESTAMP (UTC, no zone) ISO 8601, a DOUBLE that is no
number its name, a MAP a list of pairs and a STRUCT a list of its fields' values.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import partial
from typing import Any

from streamsql.results import Value
from streamsql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    NULL,
    PRIMITIVES,
    STRING,
    TIME,
    TIMESTAMP,
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

JSON = Any
"""What the json module reads and writes."""
Codec = Callable[[Any], Any]
"""From a value that is not null to its other form."""


def encoder(t: SQLType | None) -> Codec:
    """The function that turns values of the type into JSON; None: values as SHOW has them."""
    if t is None:
        return _untyped
    return _codec(t, _ENCODERS, _encode_map, _encode_struct)


def decoder(t: SQLType | None) -> Codec:
    """The inverse of `encoder`."""
    if t is None:
        return _same
    return _codec(t, _DECODERS, _decode_map, _decode_struct)


def encode_cells(codecs: Sequence[Codec], values: Sequence[Value]) -> list[JSON]:
    """Cells, each by its column's codec; also decodes."""
    pairs = zip(codecs, values, strict=True)
    return [None if value is None else codec(value) for codec, value in pairs]


def type_text(t: SQLType | None) -> str | None:
    """A type as it is sent."""
    return None if t is None else to_sql(t)


def type_of_text(text: str | None) -> SQLType | None:
    """The type that `type_text` wrote."""
    if text is None:
        return None
    known = NULL if text == "NULL" else PRIMITIVES.get(text)
    if known is not None:
        return known
    from streamsql.api.language import parse_type

    return parse_type(text)


def _codec(
    t: SQLType,
    primitives: Mapping[str, Codec],
    of_map: Callable[..., Any],
    of_struct: Callable[..., Any],
) -> Codec:
    again = partial(_codec, primitives=primitives, of_map=of_map, of_struct=of_struct)
    if is_decimal(t):
        return primitives["DECIMAL"]
    if is_array(t):
        return partial(_list, again(element_type(t)))
    if is_map(t):
        return partial(of_map, again(key_type(t)), again(element_type(t)))
    if is_struct(t):
        return partial(of_struct, [(name, again(kind)) for name, kind in fields(t)])
    return primitives[to_sql(t)]


def _list(codec: Codec, values: Sequence[Any]) -> list[Any]:
    return [None if value is None else codec(value) for value in values]


def _encode_map(key: Codec, value: Codec, entries: Mapping[Any, Any]) -> list[Any]:
    return [[key(k), None if v is None else value(v)] for k, v in entries.items()]


def _decode_map(key: Codec, value: Codec, pairs: Sequence[Any]) -> dict[Any, Any]:
    return {key(k): None if v is None else value(v) for k, v in pairs}


def _encode_struct(kinds: Sequence[tuple[str, Codec]], struct: Mapping[str, Any]) -> list[Any]:
    cells = ((codec, struct.get(name)) for name, codec in kinds)
    return [None if value is None else codec(value) for codec, value in cells]


def _decode_struct(kinds: Sequence[tuple[str, Codec]], cells: Sequence[Any]) -> dict[str, Any]:
    pairs = zip(kinds, cells, strict=True)
    return {name: None if cell is None else codec(cell) for (name, codec), cell in pairs}


def _same(value: Any) -> Any:
    return value


def _untyped(value: Any) -> JSON:
    match value:
        case None | bool() | int() | str():
            return value
        case list() | tuple():
            return [_untyped(v) for v in value]
        case dict():
            return {str(k): _untyped(v) for k, v in value.items()}
    return _double(value) if isinstance(value, float) else str(value)


def _double(value: Any) -> float | str:
    number = float(value)
    return number if math.isfinite(number) else _NAMES[str(number)]


_NAMES = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _decimal(value: Any) -> str:
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def _bytes(value: Any) -> str:
    return base64.b64encode(value).decode()


def _iso(value: date | time) -> str:
    return value.isoformat()


def _timestamp(value: datetime) -> str:
    return without_zone(value).isoformat()


def without_zone(value: datetime) -> datetime:
    """The moment in UTC, as TIMESTAMP has it; what has no zone is taken to be UTC."""
    return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value


_ENCODERS: dict[str, Codec] = {
    to_sql(BOOLEAN): _same,
    to_sql(INT): _same,
    to_sql(BIGINT): _same,
    to_sql(DOUBLE): _double,
    "DECIMAL": _decimal,
    to_sql(STRING): _same,
    to_sql(BYTES): _bytes,
    to_sql(DATE): _iso,
    to_sql(TIME): _iso,
    to_sql(TIMESTAMP): _timestamp,
    to_sql(NULL): _same,
}
_DECODERS: dict[str, Codec] = {
    **_ENCODERS,
    to_sql(DOUBLE): float,
    "DECIMAL": Decimal,
    to_sql(BYTES): base64.b64decode,
    to_sql(DATE): date.fromisoformat,
    to_sql(TIME): time.fromisoformat,
    to_sql(TIMESTAMP): datetime.fromisoformat,
}
