"""The common type of several expressions: of an IN list, an ARRAY's elements, a MAP's values.
Literals follow the lax rules of the dialect: text can be used as a number, a number as text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

from sqlglot import exp

from streamsql import types
from streamsql.errors import TypeMismatchError
from streamsql.ksqldb import says
from streamsql.nodes import Expression
from streamsql.planner.types.constants import coerce_text
from streamsql.planner.types.scope import is_literal, span_of, text_of
from streamsql.types import SQLType, type_of

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_KEY, _ELEMENT = "key", "element"


def common_type_of(expressions: Sequence[Expression], prefix: str = "") -> SQLType:
    """The common type: the first's that is not NULL, widened by the others.

    NULL's type if all are NULL; TypeMismatchError names the first that does not fit.
    """
    target: SQLType = types.NULL
    for expression in expressions:
        widened = _widened(target, expression, prefix)
        if widened is None:
            given = type_of(expression)
            raise TypeMismatchError(
                f"{prefix}operator does not exist: {types.to_sql(target)} = {types.to_sql(given)} "
                f"({text_of(expression)})",
                hint="You might need to add explicit type casts.",
                span=span_of(expression),
                ksqldb=says(
                    "predicate",
                    prefix=prefix,
                    target=types.to_sql(target),
                    given=types.to_sql(given),
                    expression=text_of(expression),
                ),
            )
        target = widened
    for expression in expressions:
        _check_text(expression, target, prefix)
    return target


def _widened(target: SQLType, expression: Expression, prefix: str) -> SQLType | None:
    """The type that holds values of `target` and the expression's, or None."""
    given = types.NULL if isinstance(expression, exp.Null) else type_of(expression)
    if types.is_null(given) or types.is_null(target):
        return given if types.is_null(target) else target
    if is_literal(expression) and lax_literal(given, target):
        if not types.is_numeric(target):
            return target
        given = _number_in(expression, target, prefix)
    elif _is_constructor(expression, target):
        return _widened_by_parts(target, expression, prefix)
    return types.common_type(target, given)


def _widened_by_parts(target: SQLType, expression: Expression, prefix: str) -> SQLType | None:
    """The same for a constructor, whose literals are handled separately."""
    inner = _places(target)
    for part, name in _parts(expression):
        widened = _widened(inner.get(name, types.NULL), part, prefix)
        if widened is None:
            return None
        inner[name] = widened
    if types.is_array(target):
        return types.array(inner[_ELEMENT])
    if types.is_map(target):
        return types.map_(inner[_KEY], inner[_ELEMENT])
    return types.struct(list(inner.items()))


def _number_in(literal: Expression, target: SQLType, prefix: str) -> SQLType:
    """The type of the number in a text: `'5'` is an INTEGER, `'1e3'` a DECIMAL(4, 0)."""
    text = literal.name.strip()
    if target == types.DOUBLE:
        return target
    if not _NUMBER.fullmatch(text):
        raise _unreadable(literal, target, prefix)
    if text.lstrip("+-").isdigit():
        for kind, bits in ((types.INT, 31), (types.BIGINT, 63)):
            if -(1 << bits) <= int(text) < 1 << bits:
                return kind
    _, digits, exponent = Decimal(text).as_tuple()
    scale = max(-int(exponent), 0)
    # |v| < 1 counts its zero as a digit: 0.5 is a DECIMAL(2, 1).
    return types.decimal(max(len(digits) + int(exponent), 1) + scale, scale)


def lax_literal(given: SQLType, target: SQLType) -> bool:
    """Whether a literal of one type is accepted as the other, beyond widening."""
    if given == types.STRING:
        return target == types.BOOLEAN or types.is_numeric(target) or types.is_time(target)
    return target == types.STRING


def _is_constructor(expression: Expression, target: SQLType) -> bool:
    """Whether it is a constructor of the target's kind: of an ARRAY, a MAP or a STRUCT."""
    return (
        (isinstance(expression, exp.Array) and types.is_array(target))
        or (isinstance(expression, exp.Map) and types.is_map(target))
        or (isinstance(expression, exp.Struct) and types.is_struct(target))
    )


def _parts(expression: Expression) -> Iterator[tuple[Expression, str]]:
    """Parts of a constructor with their path in the type."""
    if isinstance(expression, exp.Array):
        for element in expression.expressions:
            yield element, _ELEMENT
    elif isinstance(expression, exp.Map):
        for part, place in (("keys", _KEY), ("values", _ELEMENT)):
            for element in expression.args[part].expressions:
                yield element, place
    else:
        for field in expression.expressions:
            yield field.expression, field.this.name


def _places(kind: SQLType) -> dict[str, SQLType]:
    """The component types of a container's type, by path."""
    if types.is_struct(kind):
        return dict(types.fields(kind))
    element = {_ELEMENT: types.element_type(kind)}
    return {_KEY: types.key_type(kind), **element} if types.is_map(kind) else element


def _check_text(expression: Expression, target: SQLType, prefix: str) -> None:
    """Text in place of a value of another type must be a valid literal of it."""
    if _is_constructor(expression, target):
        places = _places(target)
        for part, place in _parts(expression):
            _check_text(part, places[place], prefix)
    if not (is_literal(expression) and type_of(expression) == types.STRING):
        return
    if target != types.STRING and coerce_text(expression.name, target) is None:
        raise _unreadable(expression, target, prefix)


def _unreadable(literal: Expression, target: SQLType, prefix: str) -> TypeMismatchError:
    return TypeMismatchError(
        f'{prefix}invalid input syntax for type {types.to_sql(target)}: "{literal.name}".',
        span=span_of(literal),
    )
