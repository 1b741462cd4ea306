"""The conditions of constraints: restrictions and binding."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from streamsql.catalog import Source
from streamsql.errors import PlanError, UnsupportedError
from streamsql.nodes import ConstraintDefinition, Expression
from streamsql.parser import parse_expression
from streamsql.planner.operators import Scan
from streamsql.planner.scopes.scope import Scope
from streamsql.planner.scopes.spans import span_of
from streamsql.planner.scopes.text import expression_text
from streamsql.planner.types.binding import aggregates_in, bind, resolve_names, table_functions_in
from streamsql.planner.types.inference import require_boolean, unrepeatable_calls
from streamsql.schema import Constraint
from streamsql.types import SQLType

_CLAUSE = "CONSTRAINT"


def condition_text(condition: Expression, source: Source, types: Mapping[str, SQLType]) -> str:
    """A condition over a source's records, or a query's results, as the catalog stores it: without
    custom types, which may be dropped. Raises a StreamSQLError for an invalid one."""
    for part in _of_several(condition):
        raise PlanError(
            f"A constraint is about one record: {expression_text(part)} is not.",
            hint="Use HAVING or WHERE for conditions on the result of a query.",
            span=span_of(part),
        )
    scope = _scope(source, types)
    resolved = resolve_names(condition, scope, _CLAUSE)
    require_boolean(bind(condition, scope, _CLAUSE), _CLAUSE)
    for call, function in unrepeatable_calls(resolved):
        raise UnsupportedError(
            f"{function.name} is not supported in a constraint: its result must be the same "
            "when a record is read again",
            hint="The WHERE of a query can call it. The time of a record is ROWTIME.",
            span=span_of(call),
        )
    return expression_text(resolved)


def _of_several(condition: Expression) -> list[Expression]:
    """The parts that read other records, or give several rows for one."""
    queries = [part for part in condition.find_all(exp.In) if part.args.get("query") is not None]
    others = condition.find_all(exp.Exists, exp.Window)
    return [
        *queries,
        *others,
        *aggregates_in(condition),
        *table_functions_in(condition),
    ]


def bound_constraints(
    constraints: tuple[Constraint, ...], source: Source, types: Mapping[str, SQLType]
) -> tuple[ConstraintDefinition, ...]:
    return tuple(
        ConstraintDefinition(
            constraint.name,
            bind(parse_expression(constraint.condition), _scope(source, types), _CLAUSE),
            constraint.on_violation,
        )
        for constraint in constraints
    )


def _scope(source: Source, types: Mapping[str, SQLType]) -> Scope:
    """A result has its columns; a source record also has its time and position."""
    schema = source.schema if source.created_by_query else Scan(source, source.name).schema
    return Scope(source.name, schema, types=types)
