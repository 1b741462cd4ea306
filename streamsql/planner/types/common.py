"""The one type of several expressions: of an IN list, an ARRAY's elements, a MAP's values.

Literals follow the lax rules of the dialect: text may stand for a number, a number for text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from streamsql import types
from streamsql.errors import TypeMismatchError
from streamsql.ksqldb import says
from streamsql.nodes import Expression
from streamsql.planner.types.constants import coerce_text
from streamsql.planner.types.scope import is_literal, span_of, text_of
from streamsql.types import SQLType, type_of


def common_type_of(expressions: Sequence[Expression], prefix: str = "") -> SQLType:
    """The type all are brought to: the first's that is not NULL, widened by the others.

    NULL's type if all are NULL; TypeMismatchError names the first that does not fit.
    """
    target: SQLType = types.NULL
    for expression in expressions:
        given = type_of(expression)
        if types.is_null(target):
            target = given
        elif not types.is_null(given):
            target = _widened(target, expression, prefix)
    for expression in expressions:
        _check_text(expression, target, prefix)
    return target


def _widened(target: SQLType, expression: Expression, prefix: str) -> SQLType:
    given = type_of(expression)
    if _is_lax(expression, target):
        return target
    both = types.common_type(target, given)
    if both is None:
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
    return both


def lax_literal(given: SQLType, target: SQLType) -> bool:
    """Whether a literal of one type may stand where the other is wanted, beyond widening."""
    if given == types.STRING:
        return target == types.BOOLEAN or types.is_numeric(target) or types.is_time(target)
    return target == types.STRING


def _is_lax(expression: Expression, target: SQLType) -> bool:
    """Whether it is a literal, or a container made of literals, that may stand for the target."""
    if is_literal(expression):
        return lax_literal(type_of(expression), target)
    parts = list(_parts(expression, target))
    if not parts or not any(_is_lax(part, inner) for part, inner in parts):
        return False
    return all(
        isinstance(part, exp.Null) or types.widens_to(type_of(part), inner) or _is_lax(part, inner)
        for part, inner in parts
    )


def _parts(expression: Expression, target: SQLType) -> Iterator[tuple[Expression, SQLType]]:
    """What a constructor is made of, each part with the type that it has in the target."""
    if isinstance(expression, exp.Array) and types.is_array(target):
        for element in expression.expressions:
            yield element, types.element_type(target)
    elif isinstance(expression, exp.Map) and types.is_map(target):
        inner = types.key_type(target), types.element_type(target)
        for part, kind in zip(("keys", "values"), inner, strict=True):
            for element in expression.args[part].expressions:
                yield element, kind
    elif isinstance(expression, exp.Struct) and types.is_struct(target):
        kinds = dict(types.fields(target))
        for field in expression.expressions:
            if field.this.name in kinds:
                yield field.expression, kinds[field.this.name]


def _check_text(expression: Expression, target: SQLType, prefix: str) -> None:
    """Text in place of a value of another type must be readable as one."""
    for part, inner in _parts(expression, target):
        _check_text(part, inner, prefix)
    if not (is_literal(expression) and type_of(expression) == types.STRING):
        return
    if target == types.STRING or coerce_text(expression.name, target) is not None:
        return
    raise TypeMismatchError(
        f'{prefix}invalid input syntax for type {types.to_sql(target)}: "{expression.name}".',
        span=span_of(expression),
    )
