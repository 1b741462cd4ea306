"""Values of constant expressions, computed without Spark, for INSERT .. VALUES.

Values are those of streamsql.values.
"""

from __future__ import annotations

import binascii
import math
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation, localcontext
from enum import Enum
from typing import Any, Final

from sqlglot import exp

from streamsql import types
from streamsql.errors import TypeMismatchError
from streamsql.nodes import Expression
from streamsql.planner.types.scope import span_of, text_of
from streamsql.planner.types.timestamps import parse_timestamp
from streamsql.types import SQLType, type_of
from streamsql.values.nested import scalar
from streamsql.values.scalars import SCALARS, day_millis, java_double, of_day_millis, of_millis


class NotConstant(Enum):
    """The answer for an expression that needs Spark to be evaluated."""

    NOT_CONSTANT = 0


NOT_CONSTANT: Final = NotConstant.NOT_CONSTANT


class _Misfit(ValueError):
    """A value of the right form that the target cannot hold."""


_EXACT = Context(prec=80)


def evaluate_constant(expression: Expression) -> Any:
    """The value of a typed expression, or NOT_CONSTANT.

    Raises TypeMismatchError if a cast fails.
    """
    rule = _RULES.get(type(expression))
    return NOT_CONSTANT if rule is None else rule(expression)


def _literal(node: exp.Literal) -> Any:
    kind = type_of(node)
    if node.is_string:
        return node.name
    if kind == types.DOUBLE:
        return float(node.name)
    return _decimal(Decimal(node.name), kind) if types.is_decimal(kind) else int(node.name)


def _negation(node: exp.Neg) -> Any:
    value = evaluate_constant(node.this)
    if value is NOT_CONSTANT or value is None:
        return value
    return _wrap(-value, type_of(node))


def _arithmetic(node: exp.Binary) -> Any:
    left, right = evaluate_constant(node.left), evaluate_constant(node.right)
    if left is NOT_CONSTANT or right is NOT_CONSTANT:
        return NOT_CONSTANT
    kind = type_of(node)
    # Spark knows how the rest rounds and overflows: only results that cannot differ are computed
    # here.
    if left is None or right is None or kind not in (types.INT, types.BIGINT):
        return NOT_CONSTANT
    if isinstance(node, exp.Add):
        return _wrap(left + right, kind)
    if isinstance(node, exp.Sub):
        return _wrap(left - right, kind)
    return _wrap(left * right, kind) if isinstance(node, exp.Mul) else NOT_CONSTANT


def _wrap(value: Any, kind: SQLType) -> Any:
    """Integers wrap around at their width, as in Java."""
    bits = 32 if kind == types.INT else 64 if kind == types.BIGINT else 0
    if not bits:
        return value
    half = 1 << (bits - 1)
    return (value + half) % (1 << bits) - half


def _array(node: exp.Array) -> Any:
    values = [evaluate_constant(e) for e in node.expressions]
    return NOT_CONSTANT if NOT_CONSTANT in values else values


def _map(node: exp.Map) -> Any:
    keys, values = (evaluate_constant(node.args[part]) for part in ("keys", "values"))
    if keys is NOT_CONSTANT or values is NOT_CONSTANT:
        return NOT_CONSTANT
    return dict(zip(keys, values, strict=True))


def _struct(node: exp.Struct) -> Any:
    values = {f.this.name: evaluate_constant(f.expression) for f in node.expressions}
    return NOT_CONSTANT if NOT_CONSTANT in values.values() else values


def _cast(node: exp.Cast) -> Any:
    value = evaluate_constant(node.this)
    if value is NOT_CONSTANT or value is None:
        return value
    source, target = type_of(node.this), node.to
    if _is_container(source) and target == types.STRING:
        return NOT_CONSTANT
    try:
        if node.meta.get("lax"):
            return coerce_value(value, source, target)
        return _convert(value, source, target)
    except (ValueError, ArithmeticError, binascii.Error) as error:
        reason = f": {error}" if isinstance(error, _Misfit) else ""
        raise TypeMismatchError(
            f"Cannot convert {text_of(node.this)} to {types.to_sql(target)}{reason}",
            span=span_of(node),
        ) from None


_RULES: dict[type[Expression], Callable[[Any], Any]] = {
    exp.Literal: _literal,
    exp.Boolean: lambda node: bool(node.this),
    exp.Null: lambda node: None,
    exp.Neg: _negation,
    exp.Add: _arithmetic,
    exp.Sub: _arithmetic,
    exp.Mul: _arithmetic,
    exp.Array: _array,
    exp.Map: _map,
    exp.Struct: _struct,
    exp.Cast: _cast,
    exp.Paren: lambda node: evaluate_constant(node.this),
}


# -- casts ---------------------------------------------------------------------------------------


def coerce_text(text: str, target: SQLType) -> Any:
    """Value of a text literal as `target`; None if impossible."""
    try:
        return coerce_value(text, types.STRING, target)
    except (ValueError, ArithmeticError, binascii.Error):
        return None


def coerce_value(value: Any, source: SQLType, target: SQLType) -> Any:
    """Converts a value as INSERT VALUES does: like a cast, but a DECIMAL must fit without rounding,
    and a BOOLEAN requires a boolean literal. ValueError if invalid."""
    if _is_container(target):
        return _convert_parts(value, source, target, coerce_value)
    if value is None:
        return None
    if target == types.BOOLEAN and source == types.STRING:
        return _boolean(value)
    if types.is_decimal(target) and source != types.DOUBLE:
        return _fitting(_number(value), target)
    return _convert(value, source, target)


def _is_container(kind: SQLType) -> bool:
    return types.is_array(kind) or types.is_map(kind) or types.is_struct(kind)


def _convert_parts(
    value: Any, source: SQLType, target: SQLType, convert: Callable[[Any, SQLType, SQLType], Any]
) -> Any:
    if value is None:
        return None
    if types.is_struct(target):
        given = dict(types.fields(source))
        return {
            name: convert(value[name], given[name], kind) if name in given else None
            for name, kind in types.fields(target)
        }
    inner = types.element_type(source), types.element_type(target)
    if types.is_array(target):
        return [convert(element, *inner) for element in value]
    key = types.key_type(source), types.key_type(target)
    return {convert(k, *key): convert(v, *inner) for k, v in value.items()}


def _boolean(text: str) -> bool:
    lowered = text.strip().lower()
    if lowered and any(word.startswith(lowered) for word in ("true", "yes")):
        return True
    if lowered and any(word.startswith(lowered) for word in ("false", "no")):
        return False
    raise _Misfit(f"'{text}' is neither true nor false")


def _fitting(value: Decimal, target: SQLType) -> Decimal:
    with localcontext(_EXACT):
        rounded = _decimal(value, target)
        if rounded != value:
            raise _Misfit(f"{value} has more digits than {types.to_sql(target)}")
    return rounded


def _convert(value: Any, source: SQLType, target: SQLType) -> Any:
    if value is None or source == target:
        return value
    if _is_container(target):
        return _convert_parts(value, source, target, _convert)
    if types.is_decimal(target):
        return _decimal(_number(value), target)
    return _CONVERSIONS[target.this](value, source)


def _number(value: Any) -> Decimal:
    number: Decimal = _parsed(Decimal, str(value).strip())
    return number


def _decimal(value: Decimal, target: SQLType) -> Decimal:
    precision, scale = types.precision_scale(target)
    with localcontext(_EXACT):
        try:
            rounded = value.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)
        except InvalidOperation:
            raise _Misfit(f"{value} has too many digits") from None
        if abs(rounded) >= Decimal(10) ** (precision - scale):
            raise _Misfit(
                f"Numeric field overflow: A field with precision {precision} and scale {scale} "
                f"must round to an absolute value less than 10^{precision - scale}. Got {value}"
            )
    return rounded


def _integer(bits: int) -> Callable[[Any, SQLType], int]:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def convert(value: Any, source: SQLType) -> int:
        if source == types.STRING:
            number = _parsed(int, value)
            if not low <= number <= high:
                raise _Misfit(f"{value} is out of range")
            return int(number)
        if source == types.DOUBLE:
            return 0 if math.isnan(value) else int(max(low, min(high, value)))
        return int(_wrap(int(value), types.INT if bits == 32 else types.BIGINT))

    return convert


def _parsed(read: Callable[[Any], Any], value: Any) -> Any:
    """The number in a text, except for 1_000, which only Python accepts."""
    if isinstance(value, str) and "_" in value:
        raise ValueError(value)
    return read(value)


def _string(value: Any, source: SQLType) -> str:
    if source == types.TIME:
        return str(value.isoformat("seconds" if value.second else "minutes"))
    return java_double(value) if source == types.DOUBLE else scalar(source).text(value)


def _timestamp(value: Any, source: SQLType) -> datetime:
    if source == types.DATE:
        return datetime.combine(value, time())
    found = parse_timestamp(value)
    if found is None:
        raise ValueError(value)
    return of_millis(found)


def _date(value: Any, source: SQLType) -> date:
    if source == types.TIMESTAMP:
        moment: datetime = value
        return moment.date()
    parts = value.strip().split("-")
    year, month, day = map(int, [*parts, *["1"] * (3 - len(parts))])
    return date(year, month, day)


def _time(value: Any, source: SQLType) -> time:
    if source == types.TIMESTAMP:
        return of_day_millis(day_millis(value.time()))
    moment = datetime.strptime(value.strip(), _time_pattern(value))
    return of_day_millis(day_millis(moment.time()))


def _time_pattern(text: str) -> str:
    return "%H:%M:%S.%f" if "." in text else "%H:%M:%S" if text.count(":") > 1 else "%H:%M"


_CONVERSIONS: dict[object, Callable[[Any, SQLType], Any]] = {
    types.BOOLEAN.this: lambda v, source: (
        len(v.strip()) > 0 and any(word.startswith(v.strip().lower()) for word in ("true", "yes"))
    ),
    types.INT.this: _integer(32),
    types.BIGINT.this: _integer(64),
    types.DOUBLE.this: lambda v, source: _parsed(float, v),
    types.STRING.this: _string,
    types.TIMESTAMP.this: _timestamp,
    types.DATE.this: _date,
    types.TIME.this: _time,
    types.BYTES.this: lambda v, source: SCALARS["BYTES"].of_text(v),
}
