"""JSON of tests: numbers with all digits, formatting, and comparison."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

JSON = Any
"""A JSON value; numbers with a fraction are Decimals, so that they keep their digits."""

JSONObject = Mapping[str, Any]

TOLERANCE = Decimal("1e-6")
"""Relative: doubles are written by different algorithms."""
EXACT_DIGITS = 17
"""A number with more digits than a double has is a DECIMAL and must be exactly equal."""

# -- text ----------------------------------------------------------------------------------------


def to_text(value: JSON) -> str:
    """Strict JSON in one line; special numbers are the strings NaN, Infinity, -Infinity."""
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
    """A JSON document; decimal numbers are Decimals. ValueError if invalid."""
    return json.loads(text, parse_float=Decimal, parse_constant=str)


# -- equality ------------------------------------------------------------------------------------


def agree(expected: JSON, found: JSON) -> bool:
    """Whether `found` equals `expected`; field names may be in upper case."""
    if expected is None or found is None:
        return expected is found
    if isinstance(expected, dict):
        return isinstance(found, dict) and _objects_agree(expected, found)
    if isinstance(expected, list):
        return (
            isinstance(found, list)
            and len(expected) == len(found)
            and all(agree(e, f) for e, f in zip(expected, found, strict=True))
        )
    if isinstance(expected, bool) or isinstance(found, bool):
        return expected is found
    if isinstance(expected, str):
        return expected == found or (_is_number(found) and _is_text_of(expected, found))
    return _is_number(expected) and _is_number(found) and _numbers_agree(expected, found)


def _objects_agree(expected: dict[str, JSON], found: dict[str, JSON]) -> bool:
    if len(expected) != len(found):
        return False
    for name, value in expected.items():
        actual = name if name in found else name.upper()
        if actual not in found or not agree(value, found[actual]):
            return False
    return True


def _is_number(value: JSON) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _is_text_of(text: str, number: JSON) -> bool:
    try:
        return Decimal(text) == _decimal(number)
    except InvalidOperation:
        return False


def _numbers_agree(expected: JSON, found: JSON) -> bool:
    if isinstance(expected, int) and isinstance(found, int):
        return expected == found
    wanted, actual = _decimal(expected), _decimal(found)
    if len(wanted.as_tuple().digits) > EXACT_DIGITS:
        return wanted == actual
    return abs(wanted - actual) <= TOLERANCE * abs(wanted)


def _decimal(number: JSON) -> Decimal:
    return Decimal(repr(number)) if isinstance(number, float) else Decimal(number)
