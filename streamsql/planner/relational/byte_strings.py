"""BYTEA: its texts, and functions of its bytes and bits, as expressions of Spark."""

from __future__ import annotations

import re

from sqlglot import exp

from streamsql.errors import TypeMismatchError
from streamsql.nodes import Expression
from streamsql.planner.relational.expressions import typed
from streamsql.planner.relational.intervals import computed
from streamsql.planner.scopes.spans import span_of
from streamsql.types import BIGINT, BYTES, INT, STRING, SQLType


def _byte(place: str) -> str:
    return f"CAST(CONV(HEX(SUBSTRING(v.x, CAST({place} AS INT) + 1, 1)), 16, 10) AS INT)"


def _with_byte(place: str, value: str) -> str:
    before = f"SUBSTRING(v.x, 1, CAST({place} AS INT))"
    after = f"SUBSTRING(v.x, CAST({place} AS INT) + 2)"
    return f"CONCAT({before}, UNHEX(LPAD(HEX({value}), 2, '0')), {after})"


def _checked(value: str, condition: str, message: str, kind: SQLType) -> str:
    """A cast that fails is an error in a SELECT, and null in a view."""
    never = f"CAST(CONCAT({message}) AS INT) = 0"
    return f"IF({condition}, {value}, IF({never}, {'v.x' if kind == BYTES else 'v.n'}, NULL))"


def _within(value: str, size: str, kind: SQLType) -> str:
    message = f"'index ', v.n, ' out of valid range, 0..', {size} - 1"
    return _checked(value, f"v.n >= 0 AND v.n < {size}", message, kind)


_SIZE = "OCTET_LENGTH(v.x)"
_BITS = f"({_SIZE} * 8)"
_BIT = f"(SHIFTRIGHT({_byte('v.n DIV 8')}, CAST(v.n % 8 AS INT)) & 1)"
_CHANGED = f"{_byte('v.n DIV 8')} + (v.b - {_BIT}) * SHIFTLEFT(1, CAST(v.n % 8 AS INT))"
_SET = _with_byte("v.n DIV 8", _CHANGED)
_NEW_BIT = "'value ', v.b, ' is invalid, new bit must be 0 or 1'"

FUNCTIONS: dict[str, tuple[SQLType, str]] = {
    "GET_BYTE": (INT, _within(_byte("v.n"), _SIZE, INT)),
    "GET_BIT": (INT, _within(_BIT, _BITS, INT)),
    "SET_BYTE": (BYTES, _within(_with_byte("v.n", "v.b & 255"), _SIZE, BYTES)),
    "SET_BIT": (
        BYTES,
        _within(_checked(_SET, "v.b IN (0, 1)", _NEW_BIT, BYTES), _BITS, BYTES),
    ),
    "BIT_COUNT": (
        BIGINT,
        "AGGREGATE(SPLIT(HEX(v.x), ''), CAST(0 AS BIGINT), "
        "(n, d) -> n + COALESCE(BIT_COUNT(CAST(CONV(d, 16, 10) AS INT)), 0))",
    ),
    "REVERSE_BYTES": (
        BYTES,
        "UNHEX(ARRAY_JOIN(REVERSE(REGEXP_EXTRACT_ALL(HEX(v.x), '..', 0)), ''))",
    ),
}
"""Their types, and what they are over `x`, and `n` and `b` behind it."""


def called(node: Expression) -> Expression:
    kind, template = FUNCTIONS[node.name.upper()]
    return computed(template, kind, **dict(zip("xnb", node.expressions, strict=False)))


def of_text(text: Expression) -> Expression:
    """The bytes that a text writes: behind `\\x` in hexadecimal digits, otherwise in PostgreSQL's
    escape format, of which a text that is no constant has no escapes."""
    if isinstance(text, exp.Literal):
        return _bytes(_constant(text))
    written = "IF(LEFT(v.x, 2) = '\\\\x', TO_BINARY(SUBSTRING(v.x, 3), 'hex'), CAST(v.x AS BINARY))"
    return computed(written, BYTES, x=text)


def text_of(value: Expression) -> Expression:
    return computed("CONCAT('\\\\x', LOWER(HEX(v.x)))", STRING, x=value)


def _bytes(value: bytes) -> Expression:
    digits = typed(exp.Literal.string(value.hex()), STRING)
    return typed(exp.Anonymous(this="UNHEX", expressions=[digits]), BYTES)


def _constant(literal: exp.Literal) -> bytes:
    text = literal.name
    try:
        if text.startswith("\\x"):
            return bytes.fromhex(text[2:])
    except ValueError:
        raise _invalid(literal) from None
    if re.search(r"\\(?!\\|[0-3][0-7]{2})", text.replace("\\\\", "")):
        raise _invalid(literal)
    parts = re.split(r"\\(\\|[0-3][0-7]{2})", text)
    escaped = [b"\\" if part == "\\" else bytes([int(part, 8)]) for part in parts[1::2]]
    plain = [part.encode() for part in parts[::2]]
    return b"".join(a + b for a, b in zip(plain, [*escaped, b""], strict=True))


def _invalid(literal: exp.Literal) -> TypeMismatchError:
    return TypeMismatchError(
        f"invalid input syntax for type bytea: '{literal.name}'",
        hint="Write hexadecimal digits behind \\x.",
        span=span_of(literal),
    )
