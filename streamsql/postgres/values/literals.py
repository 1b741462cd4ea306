"""Values of parameters as literals of our SQL, which has no placeholders of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from streamsql.values.scalars import without_zone


def literal(value: Any) -> str:
    """Literal text of a value; ValueError for a number that SQL cannot represent."""
    if value is None:
        return "NULL"
    if isinstance(value, list):
        return "ARRAY[" + ", ".join(map(literal, value)) + "]"
    kind = next(kind for kind in type(value).__mro__ if kind in _LITERALS)
    return _LITERALS[kind](value)


def text_literal(text: str) -> str:
    """A quoted text. A variable reference in it is split: parameter values contain no variables."""
    quoted = "'" + text.replace("'", "''") + "'"
    return quoted.replace("${", "$' || '{")


def _double(value: float) -> str:
    if not math.isfinite(value):
        raise ValueError(f"{value} is not a number")
    text = repr(value)
    return text if "e" in text else text + "E0"


def _decimal(value: Decimal) -> str:
    text = format(value, "f")
    return text if "." in text else text + ".0"


_LITERALS: Mapping[type, Callable[[Any], str]] = {
    bool: lambda value: "TRUE" if value else "FALSE",
    int: str,
    float: _double,
    Decimal: _decimal,
    str: text_literal,
    bytes: lambda value: f"TO_BYTES('{value.hex()}', 'hex')",
    datetime: lambda value: f"'{without_zone(value).isoformat(timespec='milliseconds')}'",
    date: lambda value: f"'{value.isoformat()}'",
    time: lambda value: f"'{value.isoformat('milliseconds')}'",
}
