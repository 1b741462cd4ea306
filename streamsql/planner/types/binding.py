"""From a written expression to one with resolved names and types."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from streamsql import types
from streamsql.errors import BindError, InternalError
from streamsql.functions import REGISTRY, AggregateFunction
from streamsql.nodes import Expression
from streamsql.planner.scopes.custom_types import resolve_type
from streamsql.planner.scopes.scope import Scope
from streamsql.planner.scopes.spans import span_of
from streamsql.planner.types.calls import unit_arguments
from streamsql.planner.types.inference import infer
from streamsql.types import type_of


def bind(expression: Expression, scope: Scope, clause: str) -> Expression:
    """The expression over the scope's columns, typed; `clause` names the place in messages."""
    return typed(resolve_names(expression, scope, clause), scope, clause)


def typed(expression: Expression, scope: Scope, clause: str) -> Expression:
    """Adds types to an expression with resolved names."""
    return infer(expression, {c.name: c.type for c in scope.schema}, clause=clause)


def resolve_names(expression: Expression, scope: Scope, clause: str) -> Expression:
    """A copy in which every column is bare and exists in the scope."""

    def resolve(node: Expression) -> Expression:
        if isinstance(node, exp.Lambda):
            _check_lambda(node, scope)
        if isinstance(node, exp.Anonymous):
            node.set("expressions", unit_arguments(node))
        if isinstance(node, exp.Column) and not is_lambda_parameter(node):
            if not node.table and node.name in _CLOCK and not scope.has_column(node.name):
                return _clock(node)
            return _like(scope.resolve(node, clause), node)
        if isinstance(node, exp.Cast):
            node.set("to", resolve_type(node.to, scope.types, span_of(node)))
        return node

    return expression.transform(resolve)


_CLOCK = {
    "CURRENT_TIMESTAMP": None,
    "LOCALTIMESTAMP": None,
    "CURRENT_DATE": types.DATE,
    "CURRENT_TIME": types.TIME,
}
"""PostgreSQL's column-like time functions, and their part of NOW()."""


def _clock(column: exp.Column) -> Expression:
    now: Expression = exp.Anonymous(this="NOW")
    now.meta.update(column.meta)
    part = _CLOCK[column.name]
    if part is None:
        return now
    cast = exp.Cast(this=now, to=part.copy())
    cast.meta.update(column.meta)
    return cast


def reference(name: str, like: Expression) -> exp.Column:
    node = exp.Column(this=exp.to_identifier(name, quoted=True))
    node.type = type_of(like)
    return _like(node, like)


def _like(node: exp.Column, original: Expression) -> exp.Column:
    node.meta.update({**original.meta, **node.meta})
    return node


def replace(
    expression: Expression, replacement: Callable[[Expression], Expression | None]
) -> Expression:
    """A copy in which each topmost part with a replacement is replaced."""

    def replaced(node: Expression) -> Expression:
        new = replacement(node)
        return node if new is None else new

    return expression.transform(replaced)


def is_lambda_parameter(column: exp.Column) -> bool:
    if column.table:
        return False
    node = column.parent
    while node is not None:
        if isinstance(node, exp.Lambda) and column.name in _parameters(node):
            return True
        node = node.parent
    return False


def _parameters(node: exp.Lambda) -> list[str]:
    return [parameter.name for parameter in node.expressions]


def _check_lambda(node: exp.Lambda, scope: Scope) -> None:
    """A lambda's parameters must not hide a column or a parameter of a lambda around it."""
    outer: set[str] = set()
    parent = node.parent
    while parent is not None:
        if isinstance(parent, exp.Lambda):
            outer.update(_parameters(parent))
        parent = parent.parent
    for name in _parameters(node):
        if scope.has_column(name):
            raise BindError(
                f"Lambda function argument can't be a column name: {name}", span=span_of(node)
            )
        if name in outer:
            raise BindError(
                f"Reusing lambda arguments in nested lambda is not allowed: {name}",
                span=span_of(node),
            )


# -- looking for calls ---------------------------------------------------------------------------


def is_aggregate(node: Expression) -> bool:
    # A typed call of a user aggregate is a scalar call over the collected values.
    return (
        isinstance(node, exp.Anonymous)
        and REGISTRY.is_aggregate(node.name)
        and "user_function" not in node.meta
    )


def aggregate_function(call: Expression) -> AggregateFunction:
    function = REGISTRY.get(call.name)
    if not isinstance(function, AggregateFunction):
        raise InternalError(f"{call.name} is not an aggregate function")
    return function


def is_table_function(node: Expression) -> bool:
    return isinstance(node, exp.Anonymous) and REGISTRY.is_table_function(node.name)


def aggregates_in(expression: Expression) -> list[Expression]:
    """The outermost aggregate calls, from left to right."""
    return _outermost(expression, is_aggregate)


def table_functions_in(expression: Expression) -> list[Expression]:
    """The outermost table function calls, from left to right."""
    return _outermost(expression, is_table_function)


def columns_in(expression: Expression) -> list[exp.Column]:
    """The columns an expression reads, lambda parameters left out."""
    return [c for c in expression.find_all(exp.Column) if not is_lambda_parameter(c)]


def _outermost(expression: Expression, wanted: Callable[[Expression], bool]) -> list[Expression]:
    """Excludes aggregates of a window function, which create no groups."""
    found = []
    for node in expression.dfs(prune=lambda node: wanted(node) or isinstance(node, exp.Window)):
        if wanted(node):
            found.append(node)
    return found
