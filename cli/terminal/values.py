"""A cell as text: for tables, for JSON and for CSV. Knows values, not layouts."""

from __future__ import annotations

from collections.abc import Sequence

from streamsql.results import Field, Value
from streamsql.values.scalars import json_text, scalar_of

NULL = "null"


def to_json(value: Value) -> str:
    """One line of JSON: every digit of a DECIMAL, BYTES in base64, times in ISO 8601."""
    match value:
        case None:
            return "null"
        case list() | tuple():
            return "[" + ",".join(map(to_json, value)) + "]"
        case dict():
            items = (f"{json_text(_name(k))}:{to_json(v)}" for k, v in value.items())
            return "{" + ",".join(items) + "}"
    return scalar_of(value).json(value)


def row_to_json(fields: Sequence[Field], values: Sequence[Value]) -> str:
    names = (json_text(field.name) for field in fields)
    cells = (f"{name}:{to_json(value)}" for name, value in zip(names, values, strict=True))
    return "{" + ",".join(cells) + "}"


def to_text(value: Value) -> str:
    """Text of a cell; the caller handles nulls."""
    match value:
        case list() | tuple():
            return "[" + ", ".join(map(_name, value)) + "]"
        case dict():
            return "{" + ", ".join(f"{_name(k)}: {_name(v)}" for k, v in value.items()) + "}"
    return scalar_of(value).text(value)


def to_csv(value: Value) -> str:
    """A cell of CSV: empty for a null, JSON for what has parts."""
    if value is None:
        return ""
    return to_json(value) if isinstance(value, (list, tuple, dict)) else to_text(value)


def _name(value: Value) -> str:
    return NULL if value is None else to_text(value)


def printable(text: str) -> str:
    """The text in one line, without what would command the terminal (escape sequences)."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _visible(c) for c in text)


def _visible(character: str) -> str:
    known = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return known.get(character) or (" " if character.isspace() else f"\\x{ord(character):02x}")
