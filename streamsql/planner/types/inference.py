"""Typing: gives every node of an expression its SQL type and makes implicit casts explicit.

The table below says which rule types which node; the rules are in the infer_*.py files. Names
are bound already: a column is a `Column` without a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sqlglot import exp

from streamsql import types
from streamsql.errors import InternalError, TypeMismatchError, UnsupportedError
from streamsql.functions import REGISTRY
from streamsql.functions.base import ScalarFunction
from streamsql.ksqldb import says
from streamsql.nodes import Expression
from streamsql.planner.json_paths import value_and_path
from streamsql.planner.scopes.qualified import bare_name, qualifier
from streamsql.planner.types import arithmetic as infer_arithmetic
from streamsql.planner.types import calls as infer_calls
from streamsql.planner.types import comparisons as infer_compare
from streamsql.planner.types import containers as infer_containers
from streamsql.planner.types import differences as infer_differences
from streamsql.planner.types import moments as infer_moments
from streamsql.planner.types import subqueries as infer_queries
from streamsql.planner.types.common import lax_literal
from streamsql.planner.types.scope import (
    Columns,
    Scope,
    cast_node,
    span_of,
    text_of,
    typed,
)
from streamsql.types import SQLType, type_of


def infer(expression: Expression, columns: Columns, *, clause: str = "SELECT") -> Expression:
    """A typed copy of the expression.

    `columns` gives the type of a column; `clause` names the place in messages. Raises
    TypeMismatchError where types don't fit, BindError for unknown columns, fields and functions.
    """
    scope = Scope(columns, clause, RULES, _unknown, {})
    try:
        return scope.infer(expression)
    except TypeMismatchError as error:
        if clause in ("WHERE", "HAVING") and not error.message.startswith("Error in "):
            reason = error.message if error.ksqldb is None else error.ksqldb.text()
            raise TypeMismatchError(
                f"Error in {clause} expression: {error.message}",
                detail=error.detail,
                hint=error.hint,
                span=error.span,
                ksqldb=says(
                    "condition",
                    clause=clause,
                    reason=_as_joined(reason, expression),
                    condition=_as_joined(text_of(expression), expression),
                ),
            ) from None
        raise


def _as_joined(text: str, expression: Expression) -> str:
    """The text with columns of joined sources as ksqlDB names them after a join: A_ID."""
    for column in expression.find_all(exp.Column):
        if (alias := qualifier(column)) is not None:
            name = bare_name(column)
            text = text.replace(f"{alias}.{name}", f"{alias}_{name}")
    return text


def require_boolean(expression: Expression, clause: str) -> None:
    """Raises TypeMismatchError unless the typed expression can be a condition of `clause`."""
    given = type_of(expression)
    if given != types.BOOLEAN:
        raise TypeMismatchError(
            f"Type error in {clause} expression: Should evaluate to boolean but is "
            f"{text_of(expression)} ({types.to_sql(given)}) instead.",
            span=span_of(expression),
        )


def is_constant(expression: Expression) -> bool:
    """Whether the value is the same for every row and time: no column, aggregate or RANDOM()."""
    lambda_names = {p.name for node in expression.find_all(exp.Lambda) for p in node.expressions}
    if any(column.name not in lambda_names for column in expression.find_all(exp.Column)):
        return False
    for call in expression.find_all(exp.Anonymous):
        function = REGISTRY.find(str(call.this))
        if not (isinstance(function, ScalarFunction) and function.deterministic):
            return False
    return True


def unrepeatable_calls(expression: Expression) -> Iterator[tuple[Expression, ScalarFunction]]:
    """The calls of functions such as RANDOM() and NOW(), whose results differ each time."""
    for call in expression.find_all(exp.Anonymous):
        function = REGISTRY.find(str(call.this))
        if isinstance(function, ScalarFunction) and not function.deterministic:
            yield call, function


def coerce(expression: Expression, target: SQLType, *, lax: bool = False) -> Expression:
    """The typed expression as a value of `target`, with a Cast if the types differ. `lax` also
    reads text as a number, boolean or time and writes primitives as text, as INSERT VALUES does.
    TypeMismatchError for incompatible types."""
    given = type_of(expression)
    if given == target:
        return expression
    if not (fits_laxly if lax else types.widens_to)(given, target):
        raise TypeMismatchError(
            f"Expected type {types.to_sql(target)}, but {text_of(expression)} is "
            f"{types.to_sql(given)}",
            span=span_of(expression),
        )
    cast = cast_node(expression, target)
    cast.meta["lax"] = lax
    return cast


def fits_laxly(given: SQLType, target: SQLType) -> bool:
    """Whether a lax `coerce` accepts the type for the other one."""
    narrowed = types.is_decimal(target) and types.is_numeric(given) and given != types.DOUBLE
    return narrowed or _lax_or_wider(given, target)


def _lax(given: SQLType, target: SQLType) -> bool:
    if types.is_array(given) and types.is_array(target):
        return _lax_or_wider(types.element_type(given), types.element_type(target))
    if types.is_map(given) and types.is_map(target):
        return _lax_or_wider(types.key_type(given), types.key_type(target)) and _lax_or_wider(
            types.element_type(given), types.element_type(target)
        )
    if types.is_struct(given) and types.is_struct(target):
        wanted = dict(types.fields(target))
        return all(n in wanted and _lax_or_wider(t, wanted[n]) for n, t in types.fields(given))
    primitive = not (types.is_array(given) or types.is_map(given) or types.is_struct(given))
    return primitive and lax_literal(given, target)


def _lax_or_wider(given: SQLType, target: SQLType) -> bool:
    return types.widens_to(given, target) or _lax(given, target)


# -- the rules of leaves and logic -------------------------------------------------------------


def _literal(node: exp.Literal, scope: Scope) -> Expression:
    del scope
    kind = types.STRING if node.is_string else infer_arithmetic.number_type(node.name, node)
    return typed(node, kind, **node.args)


def _boolean(node: exp.Boolean, scope: Scope) -> Expression:
    del scope
    return typed(node, types.BOOLEAN, **node.args)


def _null(node: exp.Null, scope: Scope) -> Expression:
    del scope
    return typed(node, types.NULL)


def _column(node: exp.Column, scope: Scope) -> Expression:
    name = node.name
    if not node.table and name in scope.lambda_parameters:
        found = typed(node, scope.lambda_parameters[name], this=node.this.copy())
        found.meta["lambda"] = True
        return found
    args: dict[str, object] = {"this": node.this.copy()}
    if node.args.get("table"):
        args["table"] = node.args["table"].copy()
    return typed(node, scope.column_type(node), **args)


def _connector(node: exp.Connector, scope: Scope) -> Expression:
    sides = [_condition(scope.infer(side), type(node).__name__) for side in (node.left, node.right)]
    return typed(node, types.BOOLEAN, this=sides[0], expression=sides[1])


def _not(node: exp.Not, scope: Scope) -> Expression:
    return typed(node, types.BOOLEAN, this=_condition(scope.infer(node.this), "NOT"))


def _condition(operand: Expression, operator: str) -> Expression:
    given = type_of(operand)
    if given != types.BOOLEAN:
        raise TypeMismatchError(
            f"{operator.upper()} needs BOOLEAN operands, but {text_of(operand)} is "
            f"{types.to_sql(given)}",
            span=span_of(operand),
        )
    return operand


def _paren(node: exp.Paren, scope: Scope) -> Expression:
    return scope.infer(node.this)


def _extract(node: exp.Extract, scope: Scope) -> Expression:
    return infer_differences.part(node, scope) or infer_moments.extract(node, scope)


def _json_text(node: exp.JSONExtractScalar, scope: Scope) -> Expression:
    value, path = value_and_path(node)
    return infer_calls.call(
        exp.Anonymous(this="EXTRACTJSONFIELD", expressions=[value, exp.Literal.string(path)]),
        scope,
    )


def _json_element(node: exp.JSONExtract, scope: Scope) -> Expression:
    del scope
    raise UnsupportedError(
        "-> with a key is supported before another -> or ->> only.",
        hint="->> gives the element as a text; a field of a STRUCT is taken with column->field.",
        span=span_of(node),
    )


_UTC = frozenset({"UTC", "GMT", "ETC/UTC", "Z"})


def _at_time_zone(node: exp.AtTimeZone, scope: Scope) -> Expression:
    """A timestamp at UTC, the zone of timestamps, is the timestamp itself."""
    if node.args["zone"].name.upper() in _UTC:
        found = scope.infer(node.this)
        if type_of(found) == types.TIMESTAMP:
            return found
    raise UnsupportedError(
        "AT TIME ZONE is not supported",
        hint="Use CONVERT_TZ(timestamp, 'UTC', zone).",
        span=span_of(node),
    )


def _lambda(node: exp.Lambda, scope: Scope) -> Expression:
    del scope
    raise TypeMismatchError("a lambda can only be an argument of a function", span=span_of(node))


def _distinct(node: exp.Distinct, scope: Scope) -> Expression:
    del scope
    raise TypeMismatchError("DISTINCT belongs into aggregate functions", span=span_of(node))


def _filter(node: exp.Filter, scope: Scope) -> Expression:
    del scope
    raise TypeMismatchError(
        f"FILTER requires an aggregate function: {node.this.name} is not one",
        span=span_of(node),
    )


def _unknown(node: Expression, scope: Scope) -> Expression:
    del scope
    raise InternalError(f"no typing rule for {type(node).__name__}", span=span_of(node))


RULES: dict[type[Expression], Callable[[Any, Scope], Expression]] = {
    exp.Literal: _literal,
    exp.Boolean: _boolean,
    exp.Null: _null,
    exp.Column: _column,
    exp.Add: infer_arithmetic.arithmetic,
    exp.Sub: infer_arithmetic.arithmetic,
    exp.Mul: infer_arithmetic.arithmetic,
    exp.Div: infer_arithmetic.arithmetic,
    exp.Mod: infer_arithmetic.arithmetic,
    exp.Neg: infer_arithmetic.negation,
    exp.DPipe: infer_arithmetic.concatenation,
    exp.EQ: infer_compare.comparison,
    exp.NEQ: infer_compare.comparison,
    exp.LT: infer_compare.comparison,
    exp.LTE: infer_compare.comparison,
    exp.GT: infer_compare.comparison,
    exp.GTE: infer_compare.comparison,
    exp.NullSafeEQ: infer_compare.comparison,
    exp.NullSafeNEQ: infer_compare.comparison,
    exp.Between: infer_compare.between,
    exp.In: infer_queries.in_,
    exp.Exists: infer_queries.subquery,
    exp.Window: infer_queries.over,
    exp.Like: infer_compare.like,
    exp.ILike: infer_compare.like,
    exp.SimilarTo: infer_compare.similar,
    exp.RegexpLike: infer_compare.matches,
    exp.RegexpILike: infer_compare.matches,
    exp.Escape: infer_compare.escape,
    exp.Is: infer_compare.is_,
    exp.And: _connector,
    exp.Or: _connector,
    exp.Not: _not,
    exp.Paren: _paren,
    exp.Case: infer_containers.case,
    exp.Cast: infer_containers.cast,
    exp.Array: infer_containers.array,
    exp.Map: infer_containers.map_,
    exp.Struct: infer_containers.struct,
    exp.Bracket: infer_containers.subscript,
    exp.Dot: infer_containers.field,
    exp.Anonymous: infer_calls.call,
    exp.Lambda: _lambda,
    exp.Var: infer_calls.unit,
    exp.AtTimeZone: _at_time_zone,
    exp.JSONExtract: _json_element,
    exp.JSONExtractScalar: _json_text,
    exp.Interval: infer_moments.alone,
    exp.Extract: _extract,
    exp.Distinct: _distinct,
    exp.Filter: _filter,
}
