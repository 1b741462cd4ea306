"""Comparisons, IN, BETWEEN, LIKE and IS NULL on Spark: two-valued, null gives FALSE."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F
from sqlglot import exp

from streamsql.executor.expressions import calls
from streamsql.executor.expressions.context import Lowering, never_null
from streamsql.functions.maps import comparable
from streamsql.nodes import Expression
from streamsql.planner.types.scope import is_comparison
from streamsql.types import type_of

_OPERATORS: dict[type[Expression], Callable[[Column, Column], Column]] = {
    exp.EQ: lambda a, b: a == b,
    exp.NEQ: lambda a, b: a != b,
    exp.LT: lambda a, b: a < b,
    exp.LTE: lambda a, b: a <= b,
    exp.GT: lambda a, b: a > b,
    exp.GTE: lambda a, b: a >= b,
}


def compared(node: exp.Binary, lowering: Lowering) -> Column:
    """Spark's comparison: null if a side is null."""
    left, right = (_comparable(side, lowering) for side in (node.left, node.right))
    return _OPERATORS[type(node)](left, right)


def comparison(node: exp.Binary, lowering: Lowering) -> Column:
    """Lowers `= <> < <= > >=`: false where an operand is NULL."""
    result = compared(node, lowering)
    if never_null(node.left) and never_null(node.right):
        return result
    return _or_false(result)


def null_safe(node: exp.Binary, lowering: Lowering) -> Column:
    """Lowers IS [NOT] DISTINCT FROM, to which NULL is a value."""
    left, right = (_comparable(side, lowering) for side in (node.left, node.right))
    equal = left.eqNullSafe(right)
    return equal if isinstance(node, exp.NullSafeEQ) else ~equal


def between(node: exp.Between, lowering: Lowering) -> Column:
    return _or_false(ranged(node, lowering))


def ranged(node: exp.Between, lowering: Lowering) -> Column:
    """Spark's BETWEEN: null if that is not known."""
    value, low, high = (lowering.lower(node.args[part]) for part in ("this", "low", "high"))
    return value.between(low, high)


def in_list(node: exp.In, lowering: Lowering) -> Column:
    return _or_false(listed(node, lowering))


def listed(node: exp.In, lowering: Lowering) -> Column:
    """Spark's IN: null if that is not known."""
    value = _comparable(node.this, lowering)
    return value.isin(*(_comparable(item, lowering) for item in node.expressions))


def is_null(node: exp.Is, lowering: Lowering) -> Column:
    return lowering.lower(node.this).isNull()


def like(node: exp.Like | exp.ILike | exp.Escape, lowering: Lowering) -> Column:
    """Lowers LIKE, of which a null is a failure, as in ksqlDB, and ILIKE, which that lacks."""
    match = node.this if isinstance(node, exp.Escape) else node
    if isinstance(match, exp.ILike):
        return _or_false(matched(node, lowering))
    return lowering.checked_condition(matched(node, lowering), "LIKE of null")


def matched(node: exp.Like | exp.ILike | exp.Escape, lowering: Lowering) -> Column:
    """Spark's LIKE: null if a side is null."""
    escape = node.expression.name if isinstance(node, exp.Escape) else None
    match = node.this if isinstance(node, exp.Escape) else node
    value, pattern = lowering.lower(match.this), lowering.lower(match.expression)
    function = F.ilike if isinstance(match, exp.ILike) else F.like
    if escape is None:
        # Spark's default escape is a backslash; SQL has none.
        pattern = _without_escapes(match.expression, pattern)
        return function(value, pattern)
    return function(value, pattern, F.lit(escape))


def called(node: exp.Anonymous, lowering: Lowering) -> Column:
    """Lowers a call; operators (`~`, SIMILAR TO) compare: null is false."""
    value = calls.scalar(node, lowering)
    return _or_false(value) if is_comparison(node) else value


def _without_escapes(node: Expression, pattern: Column) -> Column:
    if isinstance(node, exp.Literal):
        return F.lit(node.name.replace("\\", "\\\\"))
    return F.replace(pattern, F.lit("\\"), F.lit("\\\\"))


def _or_false(result: Column) -> Column:
    return F.coalesce(result, F.lit(False))


def _comparable(node: Expression, lowering: Lowering) -> Column:
    value: Column = comparable(F, lowering.lower(node), type_of(node))
    return value
