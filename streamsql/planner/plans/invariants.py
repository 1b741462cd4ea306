"""The invariants of plans, checked after each rule so that the error names the rule."""

from __future__ import annotations

from collections.abc import Iterator

from streamsql.errors import InternalError
from streamsql.nodes import Expression
from streamsql.planner.operators import Join, Operator
from streamsql.planner.types.binding import columns_in


def check_rewrite(rule: str, before: Operator, after: Operator) -> None:
    """InternalError if a rule changed the result's schema or left an invalid plan."""
    if before.schema != after.schema:
        raise InternalError(
            f"rule {rule} changed the schema from {before.schema} to {after.schema}"
        )
    for problem in problems(after):
        raise InternalError(f"rule {rule} left a broken plan: {problem}")


def problems(plan: Operator) -> Iterator[str]:
    name = type(plan).__name__
    names = plan.schema.names
    if len(set(names)) != len(names):
        yield f"{name} has two columns of one name: {', '.join(names)}"
    for expression, source in plan.bindings:
        yield from (f"{name}: {text}" for text in _unsound(expression, source))
    if isinstance(plan, Join) and plan.left_on.type != plan.right_on.type:
        yield f"{name} compares {plan.left_on.type} with {plan.right_on.type}"
    for source in plan.inputs:
        yield from problems(source)


def _unsound(expression: Expression, source: Operator) -> Iterator[str]:
    for column in columns_in(expression):
        found = source.schema.find(column.name)
        if found is None:
            yield f"column {column.name} is not in its input"
        elif found.type != column.type:
            yield f"column {column.name} has type {column.type}, in its input {found.type}"
        if column.table:
            yield f"column {column.table}.{column.name} is still qualified"
    if expression.type is None:
        yield f"an expression has no type: {expression!r}"
