"""Constants in a WHERE clause as values of key columns."""

from __future__ import annotations

from decimal import Decimal
from enum import Enum

from streamsql import types
from streamsql.errors import StreamSQLError
from streamsql.nodes import Expression
from streamsql.planner.types.constants import NOT_CONSTANT, evaluate_constant
from streamsql.results import Value
from streamsql.types import SQLType
from streamsql.values.nested import is_scalar


class Unknown(Enum):
    """UNKNOWN: the value is unknown at planning time. NONE: no key has it."""

    UNKNOWN = 0
    NONE = 1


NO_VALUE = Unknown.NONE


def constant_of(expression: Expression) -> Value | Unknown:
    try:
        value = evaluate_constant(expression)
    except StreamSQLError:
        # A failure here occurs for each row, too, where it is reported.
        return Unknown.UNKNOWN
    return Unknown.UNKNOWN if value is NOT_CONSTANT else value


def fitting(value: Value | Unknown, source: SQLType, target: SQLType) -> Value | Unknown:
    """The key value of type `target` that equals the constant, in the form of results."""
    if isinstance(value, Unknown):
        return value
    if value is None:
        return NO_VALUE
    if types.is_numeric(target):
        return _number(value, target) if types.is_numeric(source) else Unknown.UNKNOWN
    if source != target:
        return Unknown.UNKNOWN
    return value if is_scalar(target) else Unknown.UNKNOWN


def _number(value: Value, target: SQLType) -> Value | Unknown:
    if not isinstance(value, int | float | Decimal):
        return Unknown.UNKNOWN
    if target == types.DOUBLE:
        # 0.0 and -0.0 are equal but not written alike.
        return float(value) if value else Unknown.UNKNOWN
    if isinstance(value, float):
        # Compared as DOUBLEs, of which one may equal several integers.
        return Unknown.UNKNOWN
    if types.is_decimal(target):
        precision, scale = types.precision_scale(target)
        exact = Decimal(value)
        scaled = round(exact, scale)
        fits = scaled == exact and abs(exact) < Decimal(10) ** (precision - scale)
        return scaled if fits else NO_VALUE
    if value != int(value):
        return NO_VALUE
    bits = 31 if target == types.INT else 63
    whole = int(value)
    return whole if -(1 << bits) <= whole < 1 << bits else NO_VALUE
