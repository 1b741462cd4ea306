"""Types of `+ - * / %`, sign and `||`, and the casts that bring operands to one type."""

from __future__ import annotations

from sqlglot import exp

from streamsql import types
from streamsql.errors import Span, TypeMismatchError
from streamsql.nodes import Expression
from streamsql.parser.build.literals import bad_number
from streamsql.planner.types import moments
from streamsql.planner.types.scope import Scope, cast_to, span_of, text_of, typed
from streamsql.types import SQLType, type_of


def arithmetic(node: exp.Binary, scope: Scope) -> Expression:
    """Types `+ - * / %`; TypeMismatchError unless both are numbers, or texts are added."""
    if moments.has_interval(node):
        return moments.shifted(node, scope)
    left, right = scope.infer(node.left), scope.infer(node.right)
    a, b = type_of(left), type_of(right)
    if types.is_time(a) or types.is_time(b):
        dates = moments.of_dates(node, left, right, scope)
        if dates is not None:
            return dates
    new = typed(node, types.STRING, this=left, expression=right)
    if isinstance(node, exp.Add) and a == b == types.STRING:
        return new
    if types.is_null(a) or types.is_null(b):
        raise TypeMismatchError(
            f"Error processing expression: {text_of(new)}. "
            f"Arithmetic on types {_name(a)} and {_name(b)} are not supported.",
            span=span_of(node),
        )
    if not (types.is_numeric(a) and types.is_numeric(b)):
        raise TypeMismatchError(
            f"Error processing expression: {text_of(new)}. "
            f"Unsupported arithmetic types. {base_name(a)} {base_name(b)}",
            hint=_hint(node, a, b),
            span=span_of(node),
        )
    if types.is_decimal(a) or types.is_decimal(b):
        if types.DOUBLE not in (a, b):
            return _decimal_arithmetic(node, left, right)
        result = types.DOUBLE
    else:
        result = a if types.widens_to(b, a) else b
    return typed(node, result, this=cast_to(left, result), expression=cast_to(right, result))


def _decimal_arithmetic(node: exp.Binary, left: Expression, right: Expression) -> Expression:
    a = types.precision_scale(type_of(left))
    b = types.precision_scale(type_of(right))
    result = decimal_result(type(node), a, b)
    return typed(
        node,
        result,
        this=cast_to(left, types.decimal(*a)),
        expression=cast_to(right, types.decimal(*b)),
    )


def decimal_result(operator: type[exp.Expr], a: tuple[int, int], b: tuple[int, int]) -> SQLType:
    """The DECIMAL that holds the operation's result; above 38 digits the scale gives way."""
    (p1, s1), (p2, s2) = a, b
    scale = max(s1, s2)
    if operator in (exp.Add, exp.Sub):
        precision = max(p1 - s1, p2 - s2) + scale + 1
    elif operator is exp.Mul:
        precision, scale = p1 + p2 + 1, s1 + s2
    elif operator is exp.Div:
        scale = max(6, s1 + p2 + 1)
        precision = p1 - s1 + s2 + scale
    else:
        precision = min(p1 - s1, p2 - s2) + scale
    if precision > types.MAX_PRECISION:
        # Spark's own rule (it never gives up more scale than down to 6 digits), so that the
        # type announced here is the type that Spark computes.
        whole = precision - scale
        scale = max(types.MAX_PRECISION - whole, min(scale, 6))
        precision = types.MAX_PRECISION
    return types.decimal(max(precision, 1), scale)


def negation(node: exp.Neg, scope: Scope) -> Expression:
    """Types `-x`; of a literal it becomes a part."""
    inner = node.this
    if isinstance(inner, exp.Literal) and not inner.is_string:
        # The sign belongs to the number: -2147483648 is an INTEGER.
        sql_type = number_type("-" + inner.name, inner)
        return typed(node, sql_type, this=typed(inner, sql_type, **inner.args))
    operand = scope.infer(inner)
    sql_type = type_of(operand)
    if not types.is_numeric(sql_type):
        raise TypeMismatchError(
            f"Negation of {types.to_sql(sql_type)} is not supported: -{text_of(operand)}",
            span=span_of(node),
        )
    return typed(node, sql_type, this=operand)


def number_type(text: str, node: Expression) -> SQLType:
    """INTEGER, BIGINT, DECIMAL(p, s) or DOUBLE, by how the number is written."""
    if "e" in text.lower():
        if float(text) in (float("inf"), float("-inf")):
            raise TypeMismatchError(f"Number overflows DOUBLE: {text}", span=span_of(node))
        return types.DOUBLE
    if "." in text:
        whole, _, fraction = text.lstrip("-").partition(".")
        # |v| < 1 counts its zero as a digit: 0.5 is a DECIMAL(2, 1).
        precision = max(len(whole.lstrip("0")), 1) + len(fraction)
        if precision > types.MAX_PRECISION:
            raise TypeMismatchError(
                f"number with more than {types.MAX_PRECISION} digits: {text}", span=span_of(node)
            )
        return types.decimal(precision, len(fraction))
    value = int(text)
    if -(2**31) <= value < 2**31:
        return types.INT
    if -(2**63) <= value < 2**63:
        return types.BIGINT
    raise bad_number(f"Invalid numeric literal: {text}", span_of(node) or Span(0, 0, 1, 1))


def concatenation(node: exp.DPipe, scope: Scope) -> Expression:
    """Types `||`; TypeMismatchError unless both are texts, or both bytes."""
    left, right = scope.infer(node.left), scope.infer(node.right)
    a, b = type_of(left), type_of(right)
    result = next((t for t in (a, b) if not types.is_null(t)), types.STRING)
    if {a, b} - {result, types.NULL} or result not in (types.STRING, types.BYTES):
        raise TypeMismatchError(
            f"Function 'concat' does not accept parameters ({_name(a)}, {_name(b)}).",
            hint="Both sides of || are STRING, or both BYTES; use CAST(x AS STRING).",
            span=span_of(node),
        )
    return typed(node, result, this=cast_to(left, result), expression=cast_to(right, result))


def _name(t: SQLType) -> str:
    return "null" if types.is_null(t) else types.to_sql(t)


def base_name(t: SQLType) -> str:
    """The type without its parameters; `null` for that of NULL."""
    return _name(t).split("(")[0].split("<")[0]


def _hint(node: exp.Binary, a: SQLType, b: SQLType) -> str | None:
    if types.STRING in (a, b):
        return "Use CAST(x AS STRING) and || to concatenate, or CAST the text to a number."
    if types.is_time(a) or types.is_time(b):
        return (
            "Use TIMESTAMPADD, DATEADD or TIMEADD to shift a time, or an INTERVAL: "
            "ts + INTERVAL '1 day'."
        )
    return None
