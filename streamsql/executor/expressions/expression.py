"""Typed expressions as Spark columns, with ksqlDB's meaning.

Comparisons are two-valued (null gives FALSE), integers divide as in Java, and an expression that
fails gives null (FALSE as a condition) and one entry in the processing log. Which rule lowers
which node says the table below; the rules are in the files of this folder that are named after
what they lower.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F
from sqlglot import exp

from streamsql.errors import InternalError
from streamsql.executor.expressions import arithmetic, calls, cast, containers
from streamsql.executor.expressions import comparisons as compare
from streamsql.executor.expressions.context import ErrorGuard, Lowering, Rule, literal
from streamsql.executor.spark.jvm import Jvm
from streamsql.executor.spark.types import spark_type
from streamsql.nodes import Expression
from streamsql.planner.types.scope import text_of
from streamsql.types import SQLType, array, type_of


@dataclass(frozen=True)
class ColumnContext:
    """Resolves the columns of an expression, and receives its failures (None: ignored)."""

    columns: Mapping[str, Column] = field(default_factory=dict)
    guard: ErrorGuard | None = None
    jvm: Jvm | None = None
    """The JVM part, which some aggregates need."""


def column(expression: Expression, context: ColumnContext) -> Column:
    """The expression's value; a failing one gives null."""
    lowering = Lowering(RULES, CONDITIONS, context.columns, context.guard, expression)
    return _guarded(lowering.lower(expression), expression, lowering)


def predicate(expression: Expression, context: ColumnContext) -> Column:
    """The expression as a condition of rows: a failing one is not met. May be null, for false."""
    lowering = Lowering(RULES, CONDITIONS, context.columns, context.guard, expression)
    return _guarded(lowering.condition(expression), expression, lowering)


class _ThreeValued(Lowering):
    """Where NULL is neither true nor false, in AND and OR too."""

    def operand(self, node: Expression) -> Column:
        return self.lower(node)


def expectation(expression: Expression, context: ColumnContext) -> Column:
    """Whether the condition is not false: as in SQL's CHECK, and unlike in WHERE, a comparison with
    NULL is NULL, which is as good as true. Null if the expression fails."""
    lowering = _ThreeValued(EXPECTATIONS, {}, context.columns, context.guard, expression)
    value = F.coalesce(lowering.lower(expression), F.lit(True))
    return _guarded(value, expression, lowering)


def aggregate(
    call: Expression, context: ColumnContext, order: Column, sign: Column | None = None
) -> Column:
    """The call of an aggregate function; `order` sorts a group's rows by their arrival, and a
    `sign` of -1 takes a row back (None: none ever is)."""
    lowering = Lowering(RULES, CONDITIONS, context.columns, None)
    return calls.aggregate(call, lowering, order, context.jvm, sign)


def table_function(call: Expression, context: ColumnContext) -> Column:
    lowering = Lowering(RULES, CONDITIONS, context.columns, context.guard)
    return _guarded(lowering.lower(call), call, lowering, array(type_of(call)))


def _guarded(
    value: Column, expression: Expression, lowering: Lowering, kind: SQLType | None = None
) -> Column:
    if lowering.guard is None or not lowering.can_fail:
        return value
    data_type = spark_type(kind or type_of(expression))
    return lowering.guard.finish(value, data_type, text_of(expression))


# -- the rules of leaves and logic -------------------------------------------------------------


def _literal(node: Expression, lowering: Lowering) -> Column:
    del lowering
    return literal(node)


def _null(node: Expression, lowering: Lowering) -> Column:
    del lowering
    return F.lit(None).cast(spark_type(type_of(node)))


def _column(node: exp.Column, lowering: Lowering) -> Column:
    return lowering.reference(node)


def _and(node: exp.And, lowering: Lowering) -> Column:
    return lowering.operand(node.left) & lowering.operand(node.right)


def _or(node: exp.Or, lowering: Lowering) -> Column:
    return lowering.operand(node.left) | lowering.operand(node.right)


def _not(node: exp.Not, lowering: Lowering) -> Column:
    return ~lowering.operand(node.this)


def _case(node: exp.Case, lowering: Lowering) -> Column:
    chain: Any = F
    for branch in node.args["ifs"]:
        chain = chain.when(lowering.operand(branch.this), lowering.lower(branch.args["true"]))
    default = node.args.get("default")
    result: Column = chain if default is None else chain.otherwise(lowering.lower(default))
    return result


def unknown(node: Expression, lowering: Lowering) -> Column:
    """The rule of a class of nodes that has none: InternalError."""
    del lowering
    raise InternalError(f"no lowering for {type(node).__name__}")


RULES: Mapping[type[Expression], Rule] = {
    exp.Literal: _literal,
    exp.Boolean: _literal,
    exp.Null: _null,
    exp.Column: _column,
    exp.And: _and,
    exp.Or: _or,
    exp.Not: _not,
    exp.Case: _case,
    exp.Neg: arithmetic.negation,
    exp.Add: arithmetic.add,
    exp.Sub: arithmetic.subtract,
    exp.Mul: arithmetic.multiply,
    exp.Div: arithmetic.divide,
    exp.Mod: arithmetic.modulo,
    exp.DPipe: arithmetic.concatenate,
    exp.EQ: compare.comparison,
    exp.NEQ: compare.comparison,
    exp.LT: compare.comparison,
    exp.LTE: compare.comparison,
    exp.GT: compare.comparison,
    exp.GTE: compare.comparison,
    exp.NullSafeEQ: compare.null_safe,
    exp.NullSafeNEQ: compare.null_safe,
    exp.Between: compare.between,
    exp.In: compare.in_list,
    exp.Like: compare.like,
    exp.ILike: compare.like,
    exp.Escape: compare.like,
    exp.Is: compare.is_null,
    exp.Cast: cast.cast,
    exp.Array: containers.array,
    exp.Map: containers.map_,
    exp.Struct: containers.struct,
    exp.Bracket: containers.subscript,
    exp.Dot: containers.field,
    exp.Anonymous: compare.called,
}

CONDITIONS: Mapping[type[Expression], Rule] = {
    exp.EQ: compare.compared,
    exp.NEQ: compare.compared,
    exp.LT: compare.compared,
    exp.LTE: compare.compared,
    exp.GT: compare.compared,
    exp.GTE: compare.compared,
}
"""Rules that may give null for false, for where that means the same."""

EXPECTATIONS: Mapping[type[Expression], Rule] = {
    **RULES,
    **CONDITIONS,
    exp.Between: compare.ranged,
    exp.In: compare.listed,
    exp.Like: compare.matched,
    exp.ILike: compare.matched,
    exp.Escape: compare.matched,
    exp.Anonymous: calls.scalar,
}
"""Rules of three-valued logic."""
