"""Types of function calls: the overload meant, casts of its arguments, lambdas, the result."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from streamsql import types
from streamsql.errors import TypeMismatchError, UnsupportedError
from streamsql.functions import REGISTRY
from streamsql.functions.resolve import Resolution, resolve
from streamsql.functions.signature import (
    UNIT,
    ArgumentType,
    LambdaType,
    Pattern,
    resolve_pattern,
)
from streamsql.functions.user import SqlFunction, UserAggregate, UserFunction
from streamsql.nodes import Expression
from streamsql.planner.types.constants import evaluate_constant
from streamsql.planner.types.scope import Scope, cast_to, is_literal, span_of, text_of, typed
from streamsql.types import SQLType, type_of

COLLECTS_FOR = "collects for"
"""The meta entry of an implicit COLLECT_LIST: its user aggregate."""
UNITS = ("MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY")


def call(node: exp.Anonymous, scope: Scope) -> Expression:
    """Types a function's call by the overload that its arguments choose; BindError for an unknown
    function, TypeMismatchError where no overload fits."""
    name = str(node.this)
    function = node.meta.get("user_function") or REGISTRY.get(name, span_of(node))
    if len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Star):
        return _call_of_star(node, function.name)
    # A lambda's parameters get their types from the other arguments: its body comes second.
    given = unit_arguments(node)
    arguments = [a if isinstance(a, exp.Lambda) else _argument(a, scope) for a in given]
    found = resolve(function, [_argument_type(a) for a in arguments], span_of(node))
    done = [
        _typed_lambda(a, found.overload.signature.parameter(i).pattern, found, scope)
        if isinstance(a, exp.Lambda)
        else a
        for i, a in enumerate(arguments)
    ]
    _check_constants(function.name, found, done, node)
    cast = [
        a if isinstance(a, exp.Lambda) else _as_parameter(a, i, found) for i, a in enumerate(done)
    ]
    if isinstance(function, SqlFunction):
        raise UnsupportedError(
            f"{function.name} is a function of SQL, which only standard SQL calls.",
            hint="A materialized view can call it, and a SELECT over PostgreSQL's protocol.",
            span=span_of(node),
        )
    if isinstance(function, UserAggregate):
        cast = [_collected(function, cast, node, scope)]
        function = function.finish
        assert function is not None
    result = typed(node, _result_type(found, cast), this=function.name, expressions=cast)
    result.meta["function"] = function.name
    result.meta["overload"] = found.index
    if isinstance(function, UserFunction):
        result.meta["user_function"] = function
    return result


def _collected(
    function: UserAggregate, arguments: Sequence[Expression], node: Expression, scope: Scope
) -> Expression:
    """The list of a group's values as structs, which keep the arguments of a row together and
    distinguish it from a user's COLLECT_LIST with its limit."""
    names = [p.name.upper() for p in function.signatures[0].parameters]
    entries = [
        exp.PropertyEQ(this=exp.to_identifier(name, quoted=True), expression=argument)
        for name, argument in zip(names, arguments, strict=True)
    ]
    collect = exp.Anonymous(this="COLLECT_LIST", expressions=[exp.Struct(expressions=entries)])
    collect.meta.update({**node.meta, COLLECTS_FOR: function.name})
    return scope.infer(collect)


def _call_of_star(node: exp.Anonymous, name: str) -> Expression:
    function = REGISTRY.get(name)
    found = resolve(function, [], span_of(node))
    star = typed(node.expressions[0], types.NULL)
    result = typed(node, resolve_pattern(found.overload.signature.result, {}), this=name)
    result.set("expressions", [star])
    result.meta["function"] = name
    result.meta["overload"] = found.index
    return result


def unit(node: exp.Var, scope: Scope) -> Expression:
    """Raises TypeMismatchError: a time unit is not a value."""
    del scope
    raise TypeMismatchError(
        f"{node.name} is a time unit, which only functions take",
        hint="For example TIMESTAMPADD(DAYS, 1, t).",
        span=span_of(node),
    )


def unit_name(node: Expression) -> str:
    """MILLISECOND, SECOND, MINUTE, HOUR or DAY, of a bare word in either number."""
    return node.name.upper().removesuffix("S")


def unit_arguments(node: exp.Anonymous) -> list[Expression]:
    """A call's arguments, where a name such as DAY is a time unit if the function wants one."""
    function = REGISTRY.find(str(node.this))
    overloads = function.overloads if function else ()

    def is_unit(index: int, argument: Expression) -> bool:
        return (
            isinstance(argument, exp.Column)
            and not argument.table
            and argument.name in UNITS
            and all(
                index < len(o.signature.parameters)
                and o.signature.parameter(index).pattern.name == UNIT
                for o in overloads
            )
        )

    def as_unit(argument: Expression) -> Expression:
        word = exp.Var(this=argument.name)
        word.meta.update(argument.meta)
        return word

    return [as_unit(a) if is_unit(i, a) else a for i, a in enumerate(node.expressions)]


def _argument(node: Expression, scope: Scope) -> Expression:
    if isinstance(node, exp.Var):
        if unit_name(node) not in UNITS:
            raise TypeMismatchError(
                f"unknown time unit {node.name}",
                hint="Units are MILLISECONDS, SECONDS, MINUTES, HOURS and DAYS.",
                span=span_of(node),
            )
        return typed(node, types.INTERVAL_UNIT, this=unit_name(node))
    return scope.infer(node)


def _argument_type(node: Expression) -> ArgumentType:
    if isinstance(node, exp.Lambda):
        return LambdaType(len(node.expressions))
    return type_of(node)


def _typed_lambda(
    node: exp.Lambda, pattern: Pattern, found: Resolution, scope: Scope
) -> Expression:
    names = [p.name for p in node.expressions]
    for name in names:
        if scope.is_column(name):
            raise TypeMismatchError(
                f"Lambda function argument can't be the name of a column: {name}",
                span=span_of(node),
            )
        if name in scope.lambda_parameters or names.count(name) > 1:
            raise TypeMismatchError(
                f"Reusing lambda arguments in nested lambda is not allowed: {name}",
                span=span_of(node),
            )
    *parameters, body = pattern.inner
    kinds = {n: resolve_pattern(p, found.bindings) for n, p in zip(names, parameters, strict=True)}
    inner = scope.with_parameters(kinds).infer(node.this)
    inner = _as_body(inner, body, found, node)
    identifiers = [
        typed(identifier, kinds[identifier.name], **identifier.args)
        for identifier in node.expressions
    ]
    return typed(node, type_of(inner), this=inner, expressions=identifiers)


def _as_body(
    inner: Expression, pattern: Pattern, found: Resolution, node: exp.Lambda
) -> Expression:
    given = type_of(inner)
    bound = found.bindings
    if pattern.is_variable and pattern.name not in bound and not types.is_null(given):
        bound[pattern.name] = given
    wanted = resolve_pattern(pattern, bound)
    if not types.widens_to(given, wanted):
        raise TypeMismatchError(
            f"the lambda's body has to be {types.to_sql(wanted)}, but {text_of(inner)} is "
            f"{types.to_sql(given)}",
            span=span_of(inner) or span_of(node),
        )
    return cast_to(inner, wanted)


def _check_constants(
    name: str, found: Resolution, arguments: Sequence[Expression], node: Expression
) -> None:
    if not found.overload.signature.parameters:
        return
    for index, argument in enumerate(arguments):
        if not found.overload.signature.parameter(index).constant:
            continue
        inner = argument.this if isinstance(argument, exp.Cast) else argument
        if not is_literal(inner):
            raise TypeMismatchError(
                f"Parameter {index + 1} passed to function {name} must be a literal constant, "
                f"but was expression: '{text_of(argument)}'",
                span=span_of(argument),
            )
        # A count of rows; a BOOLEAN constant is a flag.
        pattern = found.overload.signature.parameter(index).pattern
        if pattern.name == "INT" and REGISTRY.is_aggregate(name) and evaluate_constant(inner) < 1:
            raise TypeMismatchError(
                f"Parameter {index + 1} passed to function {name} must be 1 or greater",
                span=span_of(argument),
            )
    if found.overload.check is not None:
        values = [evaluate_constant(a) if is_literal(a) else None for a in arguments]
        if (complaint := found.overload.check(values)) is not None:
            raise TypeMismatchError(f"{name} {complaint}", span=span_of(node))


def _as_parameter(argument: Expression, index: int, found: Resolution) -> Expression:
    given = type_of(argument)
    pattern = found.overload.signature.parameter(index).pattern
    if pattern.name == "ANY" or (types.is_null(given) and pattern.name in ("STRUCT", "DECIMAL")):
        return argument
    return cast_to(argument, resolve_pattern(pattern, found.bindings, given))


def _result_type(found: Resolution, arguments: Sequence[Expression]) -> SQLType:
    kinds = tuple(type_of(a) for a in arguments)
    if found.overload.returns is not None:
        return found.overload.returns(kinds)
    given = kinds[0] if kinds else None
    return resolve_pattern(found.overload.signature.result, found.bindings, given)
