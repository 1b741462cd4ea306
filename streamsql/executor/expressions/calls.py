"""Function calls on Spark: finds the declared meaning and hands it the arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, StructField, StructType
from sqlglot import exp

from streamsql import types
from streamsql.errors import InternalError
from streamsql.executor.expressions.cast import to_text
from streamsql.executor.expressions.context import Lowering
from streamsql.executor.expressions.python_worker import batches
from streamsql.executor.spark.jvm import BoundedKind, Jvm, invoke
from streamsql.executor.spark.types import spark_type
from streamsql.functions import REGISTRY
from streamsql.functions.base import (
    UNLIMITED,
    AggregateCall,
    Call,
    Function,
    Overload,
    ScalarFunction,
)
from streamsql.functions.signature import Parameter
from streamsql.nodes import Expression
from streamsql.planner.select.limits import LIMIT
from streamsql.planner.types.constants import NOT_CONSTANT, evaluate_constant
from streamsql.planner.types.scope import is_literal
from streamsql.types import SQLType, type_of


def scalar(node: exp.Anonymous, lowering: Lowering) -> Column:
    function, overload = _declaration(node)
    arguments = [
        _lambda(a, overload.signature.parameter(i), lowering)
        if isinstance(a, exp.Lambda)
        else _argument(a, lowering)
        for i, a in enumerate(node.expressions)
    ]
    facts = _facts(node, lowering)
    given = (facts, *arguments) if overload.with_call else arguments
    result: Column = overload.impl(F, *given)
    if not isinstance(function, ScalarFunction) or function.fallible is None:
        return result
    if overload.safe is not None and overload.safe(facts):
        return result
    inputs = [
        (column, argument)
        for column, argument in zip(arguments, node.expressions, strict=True)
        if isinstance(column, Column)
    ]
    return lowering.checked(result, f"{function.name}: {function.fallible}", type_of(node), *inputs)


def aggregate(
    node: Expression,
    lowering: Lowering,
    order: Column,
    jvm: Jvm | None,
    sign: Column | None = None,
) -> Column:
    """The call of an aggregate function; COUNT(*) has no arguments."""
    _, overload = _declaration(node)
    expressions = [e for e in node.expressions if not isinstance(e, exp.Star)]
    arguments = [_argument(a, lowering) for a in expressions]
    facts = _facts(node, lowering)
    limit = node.meta.get(LIMIT, UNLIMITED)
    call = AggregateCall(
        **vars(facts),
        order=order,
        bounded=lambda kind, *rest: _needed(jvm).bounded_aggregate(cast(BoundedKind, kind), *rest),
        count_distinct=lambda value: _needed(jvm).count_distinct(value),
        sign=sign,
        limit=limit,
    )
    result: Column = overload.impl(F, call, *arguments)
    return result


def _needed(jvm: Jvm | None) -> Jvm:
    if jvm is None:
        raise InternalError("an aggregate of the JVM part without it")
    return jvm


def _declaration(node: Expression) -> tuple[Function, Overload]:
    if "function" not in node.meta:
        raise InternalError(f"call of {node.this} is not resolved")
    function = node.meta.get("user_function") or REGISTRY.get(node.meta["function"])
    return function, function.overloads[node.meta["overload"]]


def _facts(node: Expression, lowering: Lowering) -> Call:
    values = [e for e in node.expressions if not isinstance(e, exp.Star)]
    return Call(
        arguments=tuple(type_of(a) for a in values),
        result=type_of(node),
        constants=tuple(_constant(a) for a in values),
        spark_type=spark_type,
        fail=_failure(lowering),
        to_text=to_text,
        java=_java,
        python=lambda name, parameters, code, *arguments, grouped: _python(
            name,
            batches(parameters, code, spark_type(type_of(node)), grouped),
            type_of(node),
            arguments,
            lowering,
        ),
    )


def _java(method: str, kind: SQLType, *arguments: Column) -> Column:
    return invoke(method, spark_type(kind), *arguments)


def _python(
    name: str,
    code: Callable[..., Any],
    kind: SQLType,
    arguments: Sequence[Column],
    lowering: Lowering,
) -> Column:
    """A user's function over Arrow batches; a row for which it fails is reported."""
    result = spark_type(kind)
    outcomes = StructType([StructField("value", result), StructField("failed", BooleanType())])
    function = cast(Any, F).arrow_udf(code, outcomes)
    # Nothing is sent to Python of a call without arguments: the literal says how many rows.
    outcome = cast(Column, function(*(arguments or (F.lit(1),))))
    failed = lowering.fail(f"{name}: the Python function failed", kind)
    return F.when(outcome["failed"], failed).otherwise(outcome["value"])


def _failure(lowering: Lowering) -> Callable[[str, SQLType], Column]:
    return lambda message, kind: lowering.fail(message, kind)


def _constant(node: Expression) -> object:
    inner = node.this if isinstance(node, exp.Cast) else node
    value = evaluate_constant(node) if is_literal(inner) else None
    return None if value is NOT_CONSTANT else value


def _lambda(node: exp.Lambda, parameter: Parameter, lowering: Lowering) -> Callable[..., Column]:
    """A callable on Columns; where a condition is wanted, a null one is a failure."""
    names = [parameter.name for parameter in node.expressions]
    condition = parameter.pattern.inner[-1].name == "BOOLEAN"
    lower = lowering.operand if condition else lowering.lower
    return lowering.function(names, lambda: lower(node.this))


def _argument(node: Expression, lowering: Lowering) -> Any:
    """A Column; of a time unit its name."""
    if type_of(node) == types.INTERVAL_UNIT:
        return node.name
    # An implicit cast of a call says, as the call does, which function that is.
    if "function" in node.meta or isinstance(node, exp.Dot):
        return lowering.contained(node)
    return lowering.lower(node)
