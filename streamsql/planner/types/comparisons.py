"""Types of comparisons, BETWEEN, IN, LIKE and IS: comparable types, and conversions.

Text compared with ROWTIME, WINDOWSTART or WINDOWEND is a timestamp in ISO form.
"""

from __future__ import annotations

import re

from sqlglot import exp

from streamsql import types
from streamsql.errors import TypeMismatchError, UnsupportedError
from streamsql.ksqldb import says
from streamsql.nodes import Expression
from streamsql.planner.scopes.qualified import bare_name
from streamsql.planner.types import differences
from streamsql.planner.types.arithmetic import base_name
from streamsql.planner.types.common import common_type_of
from streamsql.planner.types.scope import (
    COMPARES,
    Scope,
    cast_to,
    describe,
    span_of,
    text_of,
    typed,
)
from streamsql.planner.types.timestamps import parse_timestamp
from streamsql.types import SQLType, type_of

OPERATORS: dict[type[Expression], tuple[str, str]] = {
    exp.EQ: ("EQUAL", "="),
    exp.NEQ: ("NOT_EQUAL", "<>"),
    exp.LT: ("LESS_THAN", "<"),
    exp.LTE: ("LESS_THAN_OR_EQUAL", "<="),
    exp.GT: ("GREATER_THAN", ">"),
    exp.GTE: ("GREATER_THAN_OR_EQUAL", ">="),
    exp.NullSafeNEQ: ("IS_DISTINCT_FROM", "IS DISTINCT FROM"),
    exp.NullSafeEQ: ("IS_NOT_DISTINCT_FROM", "IS NOT DISTINCT FROM"),
}
_UNORDERED = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ)
_TIME_COLUMNS = frozenset({"ROWTIME", "WINDOWSTART", "WINDOWEND"})


def comparison(node: exp.Binary, scope: Scope) -> Expression:
    """Types `= <> < <= > >=` and IS DISTINCT FROM: BOOLEAN of two operands of one type."""
    if (lengths := differences.compared(node, scope)) is not None:
        return lengths
    left, right = scope.infer(node.left), scope.infer(node.right)
    if type(node) not in (exp.NullSafeEQ, exp.NullSafeNEQ):
        left, right = magic_timestamp(left, right), magic_timestamp(right, left)
    left, right = _comparable(type(node), left, right, node)
    return typed(node, types.BOOLEAN, this=left, expression=right)


def between(node: exp.Between, scope: Scope) -> Expression:
    """Types BETWEEN, whose bounds get the value's type."""
    if (lengths := differences.between(node, scope)) is not None:
        return lengths
    value, low, high = (scope.infer(node.args[part]) for part in ("this", "low", "high"))
    low, high = magic_timestamp(low, value), magic_timestamp(high, value)
    above, from_ = _comparable(exp.GTE, value, low, node)
    below, to = _comparable(exp.LTE, value, high, node)
    if type_of(above) != type_of(below):
        # The value and both bounds get a common type.
        wide = _comparison_type(type_of(above), type_of(below), False)
        if wide is None:
            raise _incomparable(exp.LTE, low, high, node)
        above = cast_to(value, wide)
        if types.is_decimal(wide):
            # DECIMALs of any precision are compared directly; an INTEGER bound is converted.
            _, from_ = _comparable(exp.GTE, above, low, node)
            _, to = _comparable(exp.LTE, above, high, node)
        else:
            from_, to = cast_to(low, wide), cast_to(high, wide)
    return typed(node, types.BOOLEAN, this=above, low=from_, high=to)


def in_list(node: exp.In, scope: Scope) -> Expression:
    """Types IN, whose items and value get one type."""
    value = scope.infer(node.this)
    items = [scope.infer(item) for item in node.expressions]
    target = common_type_of([value, *items], "Invalid Predicate: ")
    return typed(
        node,
        types.BOOLEAN,
        this=cast_to(value, target),
        expressions=[cast_to(item, target) for item in items],
    )


def like(node: exp.Like | exp.ILike, scope: Scope) -> Expression:
    """Types LIKE and ILIKE, of two texts."""
    value, pattern = scope.infer(node.this), scope.infer(node.expression)
    _check_texts("ILIKE" if isinstance(node, exp.ILike) else "LIKE", node, value, pattern)
    return typed(node, types.BOOLEAN, this=value, expression=pattern)


def _check_texts(operator: str, node: Expression, *sides: Expression) -> None:
    for side in sides:
        if type_of(side) != types.STRING:
            raise TypeMismatchError(
                f"{operator} compares STRINGs only, but {describe(side)} is not one",
                hint="Use CAST(x AS STRING).",
                span=span_of(side) or span_of(node),
            )


def similar(node: exp.SimilarTo, scope: Scope) -> Expression:
    """Types SIMILAR TO: REGEXP_LIKE with SQL's pattern as one of Java's."""
    value, pattern = scope.infer(node.this), node.expression
    _check_texts("SIMILAR TO", node, value)
    if not isinstance(pattern, exp.Literal) or not pattern.is_string:
        raise UnsupportedError(
            "SIMILAR TO takes a pattern that is a literal",
            hint="Patterns that come with the rows are for REGEXP_LIKE(text, pattern) and ~.",
            span=span_of(pattern) or span_of(node),
        )
    return _regexp_like(node, node.this, [exp.Literal.string(of_similar(pattern.name))], scope)


def of_similar(pattern: str) -> str:
    """A pattern of SIMILAR TO as a regular expression of Java's, for the whole text."""
    wild, inside, made, characters = {"%": ".*", "_": "."}, False, [], iter(pattern)
    for character in characters:
        if character == "\\":
            made.append("\\" + next(characters, "\\"))
        elif inside or character in "|*+?{}()[":
            inside = (inside or character == "[") and character != "]"
            made.append(character)
        else:
            made.append(wild.get(character) or re.escape(character))
    return f"(?s)^(?:{''.join(made)})$"


def matches(node: exp.RegexpLike | exp.RegexpILike, scope: Scope) -> Expression:
    """Types `~` and `~*`: REGEXP_LIKE."""
    flags = [exp.Literal.string("i")] if isinstance(node, exp.RegexpILike) else []
    sides = [scope.infer(side) for side in (node.this, node.expression)]
    _check_texts("~*" if flags else "~", node, *sides)
    return _regexp_like(node, node.this, [node.expression.copy(), *flags], scope)


def _regexp_like(
    node: Expression, text: Expression, pattern: list[Expression], scope: Scope
) -> Expression:
    call = exp.Anonymous(this="REGEXP_LIKE", expressions=[text.copy(), *pattern])
    call.meta.update({**node.meta, COMPARES: True})
    return scope.infer(call)


def escape(node: exp.Escape, scope: Scope) -> Expression:
    character = scope.infer(node.expression)
    text = character.name if isinstance(character, exp.Literal) else ""
    if len(text) != 1:
        raise TypeMismatchError(
            "ESCAPE must be a single character", span=span_of(node.expression) or span_of(node)
        )
    return typed(node, types.BOOLEAN, this=scope.infer(node.this), expression=character)


def is_(node: exp.Is, scope: Scope) -> Expression:
    null = typed(node.expression, types.NULL)
    return typed(node, types.BOOLEAN, this=scope.infer(node.this), expression=null)


def magic_timestamp(text: Expression, other: Expression) -> Expression:
    """A text literal compared with a time column as ms since the epoch; other expressions are
    unchanged."""
    if not (
        isinstance(text, exp.Literal)
        and text.is_string
        and isinstance(other, exp.Column)
        and bare_name(other) in _TIME_COLUMNS
        and type_of(other) == types.BIGINT
    ):
        return text
    millis = parse_timestamp(text.name, hour_24=True)
    if millis is None:
        raise TypeMismatchError(
            f"Failed to parse timestamp '{text.name}'",
            hint="Write it as 2024-12-31T23:59:59.000+0000; it may stop after any part.",
            span=span_of(text),
        )
    return typed(text, types.BIGINT, this=str(millis), is_string=False)


def _comparable(
    operator: type[Expression], left: Expression, right: Expression, node: Expression
) -> tuple[Expression, Expression]:
    a, b = type_of(left), type_of(right)
    _, symbol = OPERATORS[operator]
    if types.is_null(a) or types.is_null(b):
        if operator in (exp.NullSafeEQ, exp.NullSafeNEQ) and a != b:
            target = b if types.is_null(a) else a
            return cast_to(left, target), cast_to(right, target)
        raise TypeMismatchError(
            f"Comparison with NULL not supported: {text_of(left)} {symbol} {text_of(right)}",
            hint="Use IS NULL or IS NOT NULL.",
            span=span_of(node),
            ksqldb=says(
                "compared-with-null",
                left=base_name(a).upper(),
                operator=symbol,
                right=base_name(b).upper(),
            ),
        )
    common = _comparison_type(a, b, operator in _UNORDERED)
    if common is None:
        raise _incomparable(operator, left, right, node)
    if types.is_decimal(common):
        # DECIMALs are compared directly, regardless of their digits.
        a, b = (types.decimal(*types.precision_scale(side)) for side in (a, b))
        return cast_to(left, a), cast_to(right, b)
    return cast_to(left, common), cast_to(right, common)


def _incomparable(
    operator: type[Expression], left: Expression, right: Expression, node: Expression
) -> TypeMismatchError:
    name, _ = OPERATORS[operator]
    return TypeMismatchError(
        f"Cannot compare {describe(left)} to {describe(right)} with {name}.",
        span=span_of(node),
    )


def _comparison_type(a: SQLType, b: SQLType, unordered: bool) -> SQLType | None:
    """The type in which values of two types are compared, or None if they can't be."""
    if types.is_numeric(a) and types.is_numeric(b):
        return types.common_type(a, b)
    if a == b and (a in (types.STRING, types.BYTES) or types.is_time(a)):
        return a
    times = {types.DATE, types.TIMESTAMP}
    if {a, b} == {types.STRING, types.TIME}:
        return types.TIME
    if {a, b} <= {types.STRING, *times}:
        return types.DATE if {a, b} == {types.STRING, types.DATE} else types.TIMESTAMP
    if not unordered:
        return None
    if a == b == types.BOOLEAN:
        return a
    containers = (types.is_array, types.is_map, types.is_struct)
    return types.common_type(a, b) if any(is_(a) and is_(b) for is_ in containers) else None
