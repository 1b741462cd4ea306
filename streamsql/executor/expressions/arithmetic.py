"""`+ - * / %`, sign and `||` on Spark: Java's integers, exact DECIMALs, IEEE DOUBLEs."""

from __future__ import annotations

import functools
from decimal import Decimal

from pyspark.sql import Column
from pyspark.sql import functions as F
from sqlglot import exp

from streamsql import types
from streamsql.executor.expressions.context import Lowering, Rule, never_null, number
from streamsql.executor.spark.types import spark_type
from streamsql.nodes import Expression
from streamsql.types import SQLType, type_of

_OF_NULL = "an operand is null"
_BY_ZERO = "Division by zero"
_INEXACT = "The quotient has more digits than its DECIMAL type; divide DOUBLEs to round it"


def _of_values(rule: Rule) -> Rule:
    """In a lambda, a null operand is a failure, as in Java; elsewhere the result is null, which is
    equivalent."""

    @functools.wraps(rule)
    def lower(node: Expression, lowering: Lowering) -> Column:
        value = rule(node, lowering)
        operands = (node.this, node.args.get("expression"))
        if not lowering.in_lambda or all(o is None or never_null(o) for o in operands):
            return value
        return F.coalesce(value, lowering.fail(_OF_NULL, type_of(node)))

    return lower


@_of_values
def negation(node: exp.Neg, lowering: Lowering) -> Column:
    if isinstance(node.this, exp.Literal):
        return number(_negated(node.this.name), type_of(node))
    return -lowering.lower(node.this)


def _negated(text: str) -> str:
    return text[1:] if text.startswith("-") else "-" + text


@_of_values
def add(node: exp.Add, lowering: Lowering) -> Column:
    """Lowers `a + b`, of numbers or texts."""
    left, right = lowering.lower(node.left), lowering.lower(node.right)
    if type_of(node) == types.STRING:
        return F.concat(_or_null_text(left, node.left), _or_null_text(right, node.right))
    return _fitting(left + right, node, lowering, left, right)


def _or_null_text(value: Column, node: Expression) -> Column:
    return value if never_null(node) else F.coalesce(value, F.lit("null"))


@_of_values
def subtract(node: exp.Sub, lowering: Lowering) -> Column:
    left, right = lowering.lower(node.left), lowering.lower(node.right)
    return _fitting(left - right, node, lowering, left, right)


@_of_values
def multiply(node: exp.Mul, lowering: Lowering) -> Column:
    left, right = lowering.lower(node.left), lowering.lower(node.right)
    return _fitting(left * right, node, lowering, left, right)


def _fitting(
    value: Column, node: exp.Binary, lowering: Lowering, left: Column, right: Column
) -> Column:
    """Only a DECIMAL at Spark's limit of digits can overflow."""
    kind = type_of(node)
    if not types.is_decimal(kind) or types.precision_scale(kind)[0] < types.MAX_PRECISION:
        return value
    return lowering.checked(
        value, "Numeric field overflow", kind, (left, node.left), (right, node.right)
    )


@_of_values
def divide(node: exp.Div, lowering: Lowering) -> Column:
    left, right, kind = lowering.lower(node.left), lowering.lower(node.right), type_of(node)
    if kind == types.DOUBLE:
        if _is_nonzero(node.right):
            return left / right
        # Spark gives null: by IEEE it is infinite, or NaN for 0/0.
        return F.when(right == 0, left * F.lit(float("inf"))).otherwise(left / right)
    if types.is_decimal(kind):
        return _divide_decimals(left, right, node, lowering)
    quotient = F.call_function("div", left, right).cast(spark_type(kind))
    return _unless_zero(quotient, right, node, lowering)


def _divide_decimals(left: Column, right: Column, node: exp.Div, lowering: Lowering) -> Column:
    """The exact quotient; one with more digits than its type fails, as does division by zero."""
    quotient = left / right
    exact = F.when(quotient * right == left, quotient)
    message: str | Column = _INEXACT
    if not _is_nonzero(node.right):
        message = F.when(right == 0, F.lit(_BY_ZERO)).otherwise(F.lit(_INEXACT))
    inputs = (left, node.left), (right, node.right)
    return lowering.checked(exact, message, type_of(node), *inputs)


@_of_values
def modulo(node: exp.Mod, lowering: Lowering) -> Column:
    left, right, kind = lowering.lower(node.left), lowering.lower(node.right), type_of(node)
    remainder = left % right
    if kind == types.DOUBLE:
        if _is_nonzero(node.right):
            return remainder
        return F.when((right == 0) & left.isNotNull(), F.lit(float("nan"))).otherwise(remainder)
    return _unless_zero(remainder, right, node, lowering)


def _unless_zero(value: Column, right: Column, node: exp.Binary, lowering: Lowering) -> Column:
    """Spark returns null for a zero divisor; this also reports it."""
    if _is_nonzero(node.right) or not lowering.reports:
        return value
    return F.when(right == 0, lowering.fail(_BY_ZERO, type_of(node))).otherwise(value)


def _is_nonzero(node: Expression) -> bool:
    while isinstance(node, exp.Cast | exp.Neg):
        node = node.this
    return isinstance(node, exp.Literal) and not node.is_string and Decimal(node.name) != 0


def concatenate(node: exp.DPipe, lowering: Lowering) -> Column:
    left, right = lowering.lower(node.left), lowering.lower(node.right)
    return concatenated([left, right], type_of(node))


def concatenated(values: list[Column], kind: SQLType) -> Column:
    """Texts or bytes side by side, without those that are null."""
    if kind == types.STRING:
        return F.concat_ws("", *values)
    return F.concat(*(F.coalesce(value, F.lit(b"")) for value in values))
