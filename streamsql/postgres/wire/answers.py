"""Encodes the server's messages."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

AUTHENTICATED = b"R\0\0\0\x08\0\0\0\0"
WANTS_PASSWORD = b"R\0\0\0\x08\0\0\0\x03"
PARSED = b"1\0\0\0\x04"
BOUND = b"2\0\0\0\x04"
CLOSED = b"3\0\0\0\x04"
NO_DATA = b"n\0\0\0\x04"
EMPTY_QUERY = b"I\0\0\0\x04"
SUSPENDED = b"s\0\0\0\x04"
COPY_DONE = b"c\0\0\0\x04"
TEXT, BINARY = 0, 1
_LENGTH = struct.Struct("!i")
_NULL = b"\xff\xff\xff\xff"


@dataclass(frozen=True)
class ColumnForm:
    """A column of a result in RowDescription."""

    name: str
    oid: int
    size: int = -1
    modifier: int = -1
    format: int = TEXT


def message(type: bytes, body: bytes = b"") -> bytes:
    return type + _LENGTH.pack(len(body) + 4) + body


def text(value: str) -> bytes:
    """A text in a message; it ends at a zero byte."""
    return value.encode("utf-8", "replace").partition(b"\0")[0] + b"\0"


def sasl_mechanisms(names: Iterable[str]) -> bytes:
    return message(b"R", b"\0\0\0\x0a" + b"".join(map(text, names)) + b"\0")


def sasl_step(data: bytes, *, last: bool) -> bytes:
    """The server's part of a SASL exchange."""
    return message(b"R", (b"\0\0\0\x0c" if last else b"\0\0\0\x0b") + data)


def parameter_status(name: str, value: str) -> bytes:
    """A setting that clients follow."""
    return message(b"S", text(name) + text(value))


def backend_key(process: int, secret: int) -> bytes:
    return message(b"K", struct.pack("!II", process, secret))


def negotiate_version(unknown: Sequence[str]) -> bytes:
    """Response to a client with a version above 3.0: it continues with 3.0."""
    body = struct.pack("!ii", 0, len(unknown))
    return message(b"v", body + b"".join(map(text, unknown)))


def ready(status: str) -> bytes:
    """The server waits; idle `I`, in a transaction `T`, in a failed one `E`."""
    return message(b"Z", status.encode())


def row_description(columns: Sequence[ColumnForm]) -> bytes:
    parts = [struct.pack("!H", len(columns))]
    for column in columns:
        rest = (0, 0, column.oid, column.size, column.modifier, column.format)
        parts.append(text(column.name) + struct.pack("!IHIhiH", *rest))
    return message(b"T", b"".join(parts))


def parameter_description(types: Sequence[int]) -> bytes:
    return message(b"t", struct.pack(f"!H{len(types)}I", len(types), *types))


def data_row(cells: Sequence[bytes | None]) -> bytes:
    """A row; None is null."""
    parts = [struct.pack("!H", len(cells))]
    for cell in cells:
        if cell is None:
            parts.append(_NULL)
        else:
            parts.append(_LENGTH.pack(len(cell)))
            parts.append(cell)
    return message(b"D", b"".join(parts))


def complete(tag: str) -> bytes:
    """A statement is done: `SELECT 3`, `CREATE TABLE`."""
    return message(b"C", text(tag))


def copy_out(columns: int, format: int) -> bytes:
    return message(b"H", struct.pack(f"!bH{columns}H", format, columns, *[format] * columns))


def copy_in(columns: int, format: int) -> bytes:
    return message(b"G", struct.pack(f"!bH{columns}H", format, columns, *[format] * columns))


def copy_data(data: bytes) -> bytes:
    return message(b"d", data)


def error(fields: Mapping[str, str]) -> bytes:
    """Error fields by the letters of the protocol."""
    return _fields(b"E", fields)


def notice(fields: Mapping[str, str]) -> bytes:
    return _fields(b"N", fields)


def _fields(type: bytes, fields: Mapping[str, str]) -> bytes:
    body = b"".join(letter.encode() + text(value) for letter, value in fields.items())
    return message(type, body + b"\0")
