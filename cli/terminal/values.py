"""A cell as text: for tables, for JSON and for CSV. Knows values, not layouts."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal

from streamsql.results import Field, Value

NULL = "null"


def to_json(value: Value) -> str:
    """One line of JSON: every digit of a DECIMAL, BYTES in base64, times in ISO 8601."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return repr(value) if math.isfinite(value) else f'"{_not_finite(value)}"'
        case Decimal():
            return format(value, "f")
        case list() | tuple():
            return "[" + ",".join(map(to_json, value)) + "]"
        case dict():
            items = (f"{_json_text(str(k))}:{to_json(v)}" for k, v in value.items())
            return "{" + ",".join(items) + "}"
    return _json_text(_plain(value))


def row_to_json(fields: Sequence[Field], values: Sequence[Value]) -> str:
    """One JSON object a row."""
    names = (_json_text(field.name) for field in fields)
    cells = (f"{name}:{to_json(value)}" for name, value in zip(names, values, strict=True))
    return "{" + ",".join(cells) + "}"


def to_text(value: Value) -> str:
    """What a table shows; a null is the caller's business."""
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return repr(value) if math.isfinite(value) else _not_finite(value)
        case Decimal():
            return format(value, "f")
        case list() | tuple():
            return "[" + ", ".join(map(_nested, value)) + "]"
        case dict():
            return "{" + ", ".join(f"{k}: {_nested(v)}" for k, v in value.items()) + "}"
    return _plain(value)


def to_csv(value: Value) -> str:
    """A cell of CSV: empty for a null, JSON for what has parts."""
    if value is None:
        return ""
    return to_json(value) if isinstance(value, (list, tuple, dict)) else to_text(value)


def _nested(value: Value) -> str:
    return NULL if value is None else to_text(value)


def _plain(value: Value) -> str:
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case datetime():
            moment = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
            return moment.isoformat(timespec="milliseconds")
        case time():
            return value.isoformat(timespec="milliseconds" if value.microsecond else "seconds")
        case date():
            return value.isoformat()
    return str(value)


def _not_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _json_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def printable(text: str) -> str:
    """The text in one line, without what would command the terminal (escape sequences)."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _visible(c) for c in text)


def _visible(character: str) -> str:
    known = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return known.get(character) or (" " if character.isspace() else f"\\x{ord(character):02x}")
