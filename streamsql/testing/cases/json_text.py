"""JSON text whose numbers keep their digits: a Decimal is written as it stands."""

from __future__ import annotations

import json
from decimal import Decimal

from streamsql.testing.cases.case import JSON


def to_text(value: JSON) -> str:
    """Strict JSON in one line; numbers that are none are the strings NaN, Infinity, -Infinity."""
    if isinstance(value, dict):
        pairs = (
            f"{json.dumps(str(k), ensure_ascii=False)}: {to_text(v)}" for k, v in value.items()
        )
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(to_text, value)) + "]"
    if isinstance(value, Decimal) and value.is_finite():
        return str(value)
    if isinstance(value, float | Decimal):
        return _float_text(float(value))
    return json.dumps(value, ensure_ascii=False)


def _float_text(value: float) -> str:
    if value != value:
        return '"NaN"'
    if value in (float("inf"), float("-inf")):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    return json.dumps(value)


def from_text(text: str | bytes) -> JSON:
    """A JSON document; numbers with a fraction are Decimals. ValueError where it is none."""
    return json.loads(text, parse_float=Decimal, parse_constant=str)
