"""Decodes client messages. Invalid input is a ProtocolError."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

STARTUP_BYTES = 10_000
"""As PostgreSQL bounds it; what HTTP or TLS begin with is longer, read as a length."""
VERSION = 0x0003_0000
_CANCEL, _TLS, _GSS = 80877102, 80877103, 80877104
_COLUMNS = 32_767


class ProtocolError(Exception):
    """Invalid bytes, or a message that is not allowed in the current state."""


@dataclass(frozen=True)
class StartUp:
    """The first message: who wants what. `minor` is 0 unless the client knows a later version."""

    minor: int
    parameters: dict[str, str]


@dataclass(frozen=True)
class Cancel:
    """In place of the first message: end what another connection is doing."""

    process: int
    secret: int


@dataclass(frozen=True)
class Encrypt:
    """Instead of the first message: requests TLS (or GSSAPI)."""

    tls: bool


First = StartUp | Cancel | Encrypt


@dataclass(frozen=True)
class Query:
    """The simple protocol: run all statements of a text."""

    text: str


@dataclass(frozen=True)
class Parse:
    """Prepare one statement; the types of parameters by their numbers, 0 where none is given."""

    name: str
    text: str
    types: tuple[int, ...]


@dataclass(frozen=True)
class Bind:
    """A portal: a prepared statement with its parameters' values, as their formats (0 text, 1
    binary) have them, and the formats of the columns of its results."""

    portal: str
    statement: str
    formats: tuple[int, ...]
    values: tuple[bytes | None, ...]
    result_formats: tuple[int, ...]


@dataclass(frozen=True)
class Describe:
    """Of a statement (`S`) or a portal (`P`)."""

    kind: str
    name: str


@dataclass(frozen=True)
class Execute:
    """Rows of a portal: a maximum number, 0 for all."""

    portal: str
    rows: int


@dataclass(frozen=True)
class Close:
    """Forget a statement (`S`) or a portal (`P`)."""

    kind: str
    name: str


@dataclass(frozen=True)
class Sync:
    """The end of an exchange of the extended protocol."""


@dataclass(frozen=True)
class Flush:
    """Requests the buffered output."""


@dataclass(frozen=True)
class Terminate:
    """The client goes."""


@dataclass(frozen=True)
class Password:
    """An answer while logging in: a password, or a step of SASL."""

    data: bytes


@dataclass(frozen=True)
class CopyData:
    """A piece of what COPY FROM STDIN gets."""

    data: bytes


@dataclass(frozen=True)
class CopyDone:
    """End of the data."""


@dataclass(frozen=True)
class CopyFail:
    """The client gives it up."""

    reason: str


@dataclass(frozen=True)
class FunctionCall:
    """An old way to call functions, which is not spoken here."""


Message = (
    Query
    | Parse
    | Bind
    | Describe
    | Execute
    | Close
    | Sync
    | Flush
    | Terminate
    | Password
    | CopyData
    | CopyDone
    | CopyFail
    | FunctionCall
)


class _Reader:
    """The fields of one body, one after the other."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._at = 0

    def take(self, count: int) -> bytes:
        end = self._at + count
        if count < 0 or end > len(self._body):
            raise ProtocolError("a message is shorter than it says")
        taken = self._body[self._at : end]
        self._at = end
        return taken

    def text(self) -> str:
        end = self._body.find(b"\0", self._at)
        if end < 0:
            raise ProtocolError("a text does not end")
        taken = self._body[self._at : end]
        self._at = end + 1
        return _utf8(taken)

    def number(self, form: str, size: int) -> int:
        found: int = struct.unpack(form, self.take(size))[0]
        return found

    def short(self) -> int:
        return self.number("!H", 2)

    def shorts(self) -> tuple[int, ...]:
        count = self.short()
        if count > _COLUMNS:
            raise ProtocolError("too many fields")
        return struct.unpack(f"!{count}H", self.take(2 * count))

    def rest(self) -> bytes:
        return self.take(len(self._body) - self._at)

    def end(self) -> None:
        if self._at != len(self._body):
            raise ProtocolError("a message is longer than its fields")


def _utf8(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ProtocolError("a text is not UTF-8") from None


def first_message(body: bytes) -> First:
    reader = _Reader(body)
    code = reader.number("!I", 4)
    if code in (_TLS, _GSS):
        reader.end()
        return Encrypt(code == _TLS)
    if code == _CANCEL:
        found = Cancel(reader.number("!I", 4), reader.number("!I", 4))
        reader.end()
        return found
    if code >> 16 != VERSION >> 16:
        raise ProtocolError(f"unsupported frontend protocol {code >> 16}.{code & 0xFFFF}")
    parameters = {}
    while name := reader.text():
        parameters[name] = reader.text()
    reader.end()
    return StartUp(code & 0xFFFF, parameters)


def startup_length(head: bytes) -> int:
    """How many bytes follow the four of the first message's length."""
    (length,) = struct.unpack("!I", head)
    if not 8 <= length <= STARTUP_BYTES:
        raise ProtocolError("invalid length of startup packet")
    return int(length) - 4


def body_length(head: bytes, bound: int) -> int:
    """How many bytes follow the five of a message's type and length, of which `bound` are taken."""
    (length,) = struct.unpack("!I", head[1:])
    if length < 4:
        raise ProtocolError("invalid message length")
    if length - 4 > bound:
        raise ProtocolError(f"a message of more than {bound} bytes")
    return int(length) - 4


def message_of(type: bytes, body: bytes) -> Message:
    read = _READERS.get(type)
    if read is None:
        raise ProtocolError(f"invalid frontend message type {type[0]}")
    reader = _Reader(body)
    found = read(reader)
    reader.end()
    return found


def _parse(reader: _Reader) -> Parse:
    name, text, count = reader.text(), reader.text(), reader.short()
    return Parse(name, text, struct.unpack(f"!{count}I", reader.take(4 * count)))


def _bind(reader: _Reader) -> Bind:
    portal, statement, formats = reader.text(), reader.text(), reader.shorts()
    values = tuple(_value(reader) for _ in range(reader.short()))
    found = Bind(portal, statement, formats, values, reader.shorts())
    for given, count in ((formats, len(values)), (found.result_formats, None)):
        if any(code > 1 for code in given):
            raise ProtocolError("unsupported format code")
        if count is not None and len(given) not in (0, 1, count):
            raise ProtocolError(f"bind has {len(given)} parameter formats but {count} parameters")
    return found


def _value(reader: _Reader) -> bytes | None:
    length = reader.number("!i", 4)
    return None if length == -1 else reader.take(length)


def _kind(reader: _Reader) -> str:
    kind = reader.take(1)
    if kind not in (b"S", b"P"):
        raise ProtocolError("neither a statement nor a portal")
    return kind.decode()


def _function_call(reader: _Reader) -> FunctionCall:
    reader.rest()
    return FunctionCall()


_READERS: dict[bytes, Callable[[_Reader], Message]] = {
    b"Q": lambda reader: Query(reader.text()),
    b"P": _parse,
    b"B": _bind,
    b"D": lambda reader: Describe(_kind(reader), reader.text()),
    b"E": lambda reader: Execute(reader.text(), max(0, reader.number("!i", 4))),
    b"C": lambda reader: Close(_kind(reader), reader.text()),
    b"S": lambda reader: Sync(),
    b"H": lambda reader: Flush(),
    b"X": lambda reader: Terminate(),
    b"p": lambda reader: Password(reader.rest()),
    b"d": lambda reader: CopyData(reader.rest()),
    b"c": lambda reader: CopyDone(),
    b"f": lambda reader: CopyFail(reader.text()),
    b"F": _function_call,
}


def format_of(formats: tuple[int, ...], index: int) -> int:
    """Of the field of that number: none given is text, one given is for all."""
    if not formats:
        return 0
    return formats[0] if len(formats) == 1 else formats[index]


def sasl_first(data: bytes) -> tuple[str, bytes]:
    """The mechanism that the client has chosen, and its first message."""
    reader = _Reader(data)
    mechanism = reader.text()
    length = reader.number("!i", 4)
    found = reader.take(length) if length >= 0 else b""
    reader.end()
    return mechanism, found
