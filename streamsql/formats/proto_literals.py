"""The literals of .proto texts, and default values in descriptors."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence

from google.protobuf.descriptor_pb2 import FieldDescriptorProto

_F = FieldDescriptorProto
_FLOATS = (_F.TYPE_FLOAT, _F.TYPE_DOUBLE)
_ESCAPE = re.compile(
    rb"\\(?:([abfnrtv\\'\"?])|([0-7]{1,3})|[xX]([0-9A-Fa-f]{1,2})"
    rb"|u([0-9A-Fa-f]{4})|U(00[01][0-9A-Fa-f]{5})|)"
)
_NAMED = dict(zip(b"abfnrtv\\'\"?", b"\a\b\f\n\r\t\v\\'\"?", strict=True))
_SHORT = {10: "\\n", 13: "\\r", 9: "\\t", 34: '\\"', 39: "\\'", 92: "\\\\"}


def integer(text: str) -> int:
    """A decimal, hexadecimal (0x) or octal (0) number; ValueError if invalid."""
    return int(text, 8 if re.fullmatch(r"0[0-7]+", text) else 0)


def text_of(tokens: Sequence[str]) -> bytes:
    """The value of adjacent quoted texts; ValueError if invalid."""
    if not tokens or any(token[0] not in "\"'" for token in tokens):
        raise ValueError("not a text")
    return b"".join(_ESCAPE.sub(_unescaped, token[1:-1].encode()) for token in tokens)


def _unescaped(match: re.Match[bytes]) -> bytes:
    named, octal, short, long, longer = match.groups()
    if named:
        return bytes([_NAMED[named[0]]])
    if octal or short:
        return bytes([(int(octal, 8) if octal else int(short, 16)) & 0xFF])
    if long or longer:
        return chr(int(long or longer, 16)).encode()
    raise ValueError("an unknown escape sequence")


def default_text(field: FieldDescriptorProto, tokens: Sequence[str]) -> str:
    """A field's default value in the form of descriptors; ValueError if it does not match the
    type."""
    if field.type == _F.TYPE_STRING:
        return text_of(tokens).decode()
    if field.type == _F.TYPE_BYTES:
        return escaped(text_of(tokens))
    negative = tokens[0] == "-"
    (token,) = tokens[negative:]
    sign = "-" if negative else ""
    if field.type_name or field.type == _F.TYPE_BOOL:
        return sign + token
    if field.type not in _FLOATS:
        return f"{-integer(token) if negative else integer(token)}"
    if token in ("inf", "nan"):
        return sign + token
    return sign + _floating(token, field.type == _F.TYPE_FLOAT)


def _floating(token: str, single: bool) -> str:
    """The shortest of C's notations that is parsed as the same number."""
    number = float(integer(token)) if re.fullmatch(r"0\w+", token) else float(token.rstrip("fF"))
    if not single:
        short = f"{number:.15g}"
        return short if float(short) == number else f"{number:.17g}"
    number = _single(number)
    forms = (f"{number:.{digits}g}" for digits in (6, 7, 8, 9))
    return next((f for f in forms if _single(float(f)) == number), "inf")


def _single(number: float) -> float:
    try:
        (rounded,) = struct.unpack("<f", struct.pack("<f", number))
    except OverflowError:
        return float("inf")
    return float(rounded)


def escaped(value: bytes) -> str:
    """Bytes as ASCII text, with C's escapes."""
    return "".join(
        _SHORT.get(byte, chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}") for byte in value
    )


def quoted(text: str) -> str:
    """The text as a literal; non-ASCII letters are unchanged."""
    return '"' + "".join(c if ord(c) > 127 else escaped(c.encode()) for c in text) + '"'
