"""PostgreSQL's types for SQL types, and the codecs of their values: scalars, arrays, rows, and JSON
for the rest."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from decimal import Decimal
from typing import Any

from streamsql.errors import UnsupportedError
from streamsql.postgres.values import scalars
from streamsql.postgres.values.scalars import CODECS, Decode, Encode, ScalarCodec
from streamsql.types import (
    INTERVAL,
    NUMERIC,
    SQLType,
    element_type,
    fields,
    innermost,
    is_array,
    is_decimal,
    is_json,
    is_local,
    is_row,
    is_single,
    precision_scale,
    to_sql,
)
from streamsql.values.nested import is_scalar, json_writer
from streamsql.values.scalars import Scalar

_BY_OID = {codec.oid: codec for codec in CODECS}
_BY_ARRAY = {codec.array: codec for codec in reversed(CODECS)}
_OF_TYPE = {
    "BOOLEAN": scalars.BOOL,
    "INTEGER": scalars.INT4,
    "BIGINT": scalars.INT8,
    "DOUBLE": scalars.FLOAT8,
    "STRING": scalars.TEXT,
    "NULL": scalars.TEXT,
    "BYTES": scalars.BYTEA,
    "DATE": scalars.DATE,
    "TIME": scalars.TIME,
    "TIMESTAMP": scalars.TIMESTAMPTZ,
}
_VARLENA = 4
"""PostgreSQL's offset of a numeric's type modifier."""
_BLANKS = " \t\n\r\v\f"
_ITEM = re.compile(
    rf'[{_BLANKS}]*(?:"((?:[^"\\]|\\.)*)"|([^",{{}}\\]*))[{_BLANKS}]*(,|\}})', re.DOTALL
)

_MEMBER = re.compile(r'((?:"(?:[^"\\]|""|\\.)*"|\\.|[^"\\,()])*)([,)])', re.DOTALL)
_QUOTED = re.compile(r'"((?:[^"\\]|""|\\.)*)"|\\(.)', re.DOTALL)
_EMPTY = re.compile(rf"[{_BLANKS}]*\}}")
_INNER = re.compile(rf"[{_BLANKS}]*\{{")
_ENDING = re.compile(rf"[{_BLANKS}]*(,|\}})")
_MOST_DIMENSIONS = 6
"""As in PostgreSQL."""


@dataclass(frozen=True)
class PgType:
    """A column's type for a client."""

    codec: ScalarCodec
    array: bool = False
    modifier: int = -1

    @property
    def oid(self) -> int:
        """PostgreSQL's number of the type."""
        return self.codec.array if self.array else self.codec.oid

    @property
    def size(self) -> int:
        """Bytes of a value, -1 if they vary."""
        return -1 if self.array else self.codec.size


TEXT = PgType(scalars.TEXT)


def type_of(t: SQLType | None) -> PgType:
    """The type of a result's column; others are text."""
    if t is None:
        return TEXT
    if t == NUMERIC:
        return PgType(scalars.NUMERIC)
    if is_decimal(t):
        precision, scale = precision_scale(t)
        return PgType(scalars.NUMERIC, modifier=(precision << 16 | scale) + _VARLENA)
    if is_local(t):
        return PgType(scalars.TIMESTAMP)
    if is_json(t):
        return PgType(scalars.JSONB)
    if is_single(t):
        return PgType(scalars.FLOAT4)
    if is_array(t):
        inner = type_of(innermost(t))
        return PgType(inner.codec, array=True, modifier=inner.modifier)
    if t == INTERVAL:
        return PgType(scalars.INTERVAL)
    if is_row(t):
        return PgType(scalars.RECORD)
    return PgType(_OF_TYPE[to_sql(t)] if is_scalar(t) else scalars.JSONB)


def parameter_type(oid: int) -> PgType | None:
    """The type of that OID, as a client may specify it for a parameter."""
    if oid in _BY_OID:
        return PgType(_BY_OID[oid])
    return PgType(_BY_ARRAY[oid], array=True) if oid in _BY_ARRAY else None


# -- out -------------------------------------------------------------------------------------------


def encoder(t: SQLType | None, format: int, zone: tzinfo | None = None) -> Encode:
    """Encodes a value that is not null as a cell; timestamps in text in a zone (None: UTC)."""
    if t is None:
        return scalars.TEXT.to_text
    found = type_of(t)
    cell = _to_cell(innermost(t), found.codec, format, zone)
    return _array(found.codec, format, cell, _depth(t)) if found.array else cell


def _depth(t: SQLType) -> int:
    """How many dimensions an array has."""
    return 1 + _depth(element_type(t)) if is_array(t) else 0


def codec_encoder(found: PgType, format: int) -> Encode:
    """Encodes a value of the type's codec as a cell."""
    cell = found.codec.to_binary if format else found.codec.to_text
    return _array(found.codec, format, cell) if found.array else cell


def _array(codec: ScalarCodec, format: int, cell: Encode, depth: int = 1) -> Encode:
    if format:
        return lambda values: _array_binary(values, codec.oid, cell, depth)
    return lambda values: _array_text(values, cell, depth)


def _to_cell(t: SQLType, codec: ScalarCodec, format: int, zone: tzinfo | None) -> Encode:
    if codec is scalars.RECORD:
        return _record(t, format, zone)
    if codec is scalars.JSONB and not is_json(t):
        write, form = json_writer(t, _leaf), codec.to_binary if format else codec.to_text
        return lambda value: form(write(value))
    if t == NUMERIC:
        form = codec.to_binary if format else codec.to_text
        return lambda value: form(_without_zeros(value))
    if codec is scalars.TIMESTAMPTZ and not format and zone is not None:
        return scalars.zoned(zone)
    return codec.to_binary if format else codec.to_text


def _without_zeros(value: Decimal) -> Decimal:
    """The digits that count: a NUMERIC has as many behind the point as it needs."""
    short = value.normalize()
    return short if short.as_tuple().exponent <= 0 else short.quantize(Decimal(1))  # type: ignore[operator]


def _leaf(entry: Scalar) -> Callable[[Any], str]:
    return entry.json


def _array_text(values: list[Any], to_cell: Encode, depth: int) -> bytes:
    def cell(value: Any) -> bytes:
        return _item(to_cell(value)) if depth == 1 else _array_text(value, to_cell, depth - 1)

    return b"{" + b",".join(b"NULL" if v is None else cell(v) for v in values) + b"}"


def _item(cell: bytes) -> bytes:
    plain = cell and cell.upper() != b"NULL" and not re.search(rb'[\s{}",\\]', cell)
    return cell if plain else b'"' + cell.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'


def _record(t: SQLType, format: int, zone: tzinfo | None) -> Encode:
    """A row: '(1,"a b",)', or the number of its fields, and each field's type and value."""
    members = [(n, type_of(kind).oid, encoder(kind, format, zone)) for n, kind in fields(t)]

    def cells(row: Mapping[str, Any]) -> Iterator[tuple[int, bytes | None]]:
        for name, oid, to_cell in members:
            value = row.get(name)
            yield oid, None if value is None else to_cell(value)

    def text(row: Mapping[str, Any]) -> bytes:
        return b"(" + b",".join(_field(cell) for _, cell in cells(row)) + b")"

    def binary(row: Mapping[str, Any]) -> bytes:
        parts = [struct.pack("!i", len(members))]
        for oid, cell in cells(row):
            parts.append(struct.pack("!Ii", oid, -1 if cell is None else len(cell)))
            parts.append(cell or b"")
        return b"".join(parts)

    return binary if format else text


def _field(cell: bytes | None) -> bytes:
    if cell is None:
        return b""
    plain = cell and not re.search(rb'[\s()",\\]', cell)
    return cell if plain else b'"' + cell.replace(b"\\", b"\\\\").replace(b'"', b'""') + b'"'


def _array_binary(values: list[Any], oid: int, to_cell: Encode, depth: int) -> bytes:
    sizes = [len(values)]
    for _ in range(depth - 1):
        lengths = {-1 if value is None else len(value) for value in values}
        if -1 in lengths or len(lengths) > 1:
            raise UnsupportedError(
                "An array of arrays with different lengths has no binary form.",
                hint="Ask for its text, or use UNNEST.",
            )
        sizes += lengths
        values = [inner for value in values for inner in value]
    nulls = any(value is None for value in values)
    if not values:
        return struct.pack("!iiI", 0, 0, oid)
    parts = [struct.pack("!iiI", depth, int(nulls), oid)]
    parts += (struct.pack("!ii", size, 1) for size in sizes)
    for value in values:
        if value is None:
            parts.append(b"\xff\xff\xff\xff")
        else:
            cell = to_cell(value)
            parts += (struct.pack("!i", len(cell)), cell)
    return b"".join(parts)


# -- in --------------------------------------------------------------------------------------------


def decoder(found: PgType, format: int) -> Decode:
    codec = found.codec
    of_cell = codec.of_binary if format else codec.of_text
    if not found.array:
        return of_cell
    if format:
        return lambda data: _of_array_binary(data, of_cell)
    return lambda data: _of_array_text(data.decode(), of_cell)


def of_record(text: str) -> list[str | None]:
    """The fields of a row: '(1,"a b",)'."""
    text = text.strip(_BLANKS)
    if not text.startswith("("):
        raise ValueError("a row begins with (")
    cells: list[str | None] = []
    at = 1
    while True:
        found = _MEMBER.match(text, at)
        if found is None:
            raise ValueError("malformed row")
        cells.append(_QUOTED.sub(_plain_part, found[1]) if found[1] else None)
        at = found.end()
        if found[2] == ")":
            break
    if at != len(text):
        raise ValueError("malformed row")
    return cells


def _plain_part(found: re.Match[str]) -> str:
    """A quoted part of a field, or a character behind a backslash, as it is meant."""
    if found[1] is None:
        return found[2]
    return re.sub(r'""|\\(.)', lambda one: one[1] or '"', found[1], flags=re.DOTALL)


def _of_array_text(text: str, of_cell: Decode) -> list[Any]:
    text = text.strip(_BLANKS)
    if not text.startswith("{"):
        raise ValueError("an array begins with {")
    values, at = _items(text, 1, of_cell)
    if at != len(text):
        raise ValueError("malformed array")
    return values


def _items(text: str, at: int, of_cell: Decode) -> tuple[list[Any], int]:
    """The items of an array from behind its brace on, and the place behind it."""
    values: list[Any] = []
    if end := _EMPTY.match(text, at):
        return values, end.end()
    while True:
        if inner := _INNER.match(text, at):
            value, at = _items(text, inner.end(), of_cell)
            ending = _ENDING.match(text, at)
        else:
            value, ending = None, _ITEM.match(text, at)
        if ending is None:
            raise ValueError("malformed array")
        at = ending.end()
        if inner is None:
            value = _of_item(ending[1], ending[2], of_cell)
        values.append(value)
        if ending.groups()[-1] == "}":
            return values, at


def _of_item(quoted: str | None, plain: str, of_cell: Decode) -> Any:
    if quoted is not None:
        return of_cell(re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL).encode())
    plain = plain.strip(_BLANKS)
    if not plain:
        raise ValueError("malformed array")
    return None if plain.upper() == "NULL" else of_cell(plain.encode())


def _of_array_binary(data: bytes, of_cell: Decode) -> list[Any]:
    if len(data) < 12:
        raise ValueError("no array")
    (dimensions,) = struct.unpack("!i", data[:4])
    if dimensions == 0:
        return []
    at = 12 + 8 * dimensions
    if not 0 < dimensions <= _MOST_DIMENSIONS or len(data) < at:
        raise ValueError("an array is shorter than it says")
    sizes = [struct.unpack_from("!i", data, 12 + 8 * number)[0] for number in range(dimensions)]
    if any(size < 0 for size in sizes):
        raise ValueError("an array is shorter than it says")
    values: list[Any] = []
    for _ in range(math.prod(sizes)):
        if at + 4 > len(data):
            raise ValueError("an array is shorter than it says")
        (length,) = struct.unpack("!i", data[at : at + 4])
        at += 4
        if length == -1:
            values.append(None)
            continue
        if length < 0 or at + length > len(data):
            raise ValueError("an array is shorter than it says")
        values.append(of_cell(data[at : at + length]))
        at += length
    if at != len(data):
        raise ValueError("an array is longer than it says")
    for size in reversed(sizes[1:]):
        values = [values[first : first + size] for first in range(0, len(values), size or 1)]
    return values
