"""CONSTRAINT in CREATE STREAM | TABLE."""

from __future__ import annotations

from collections.abc import Mapping

from streamsql.catalog import Source
from streamsql.errors import PlanError, Span
from streamsql.nodes import ConstraintDefinition
from streamsql.parser import parse_expression
from streamsql.planner.select.constraints import condition_text
from streamsql.planner.types.binding import columns_in
from streamsql.schema import Constraint
from streamsql.types import SQLType, quote


def declared_constraints(
    definitions: tuple[ConstraintDefinition, ...], source: Source, types: Mapping[str, SQLType]
) -> tuple[Constraint, ...]:
    seen: set[str] = set()
    for definition in definitions:
        if definition.name in seen:
            raise PlanError(
                f"Duplicate constraint names: {quote(definition.name)}", span=definition.span
            )
        seen.add(definition.name)
    return tuple(
        Constraint(d.name, condition_text(d.condition, source, types), d.on_violation)
        for d in definitions
    )


def check_unconstrained(column: str, source: Source, span: Span | None) -> None:
    """PlanError if a constraint of the source reads the column."""
    for constraint in source.constraints:
        if any(read.name == column for read in columns_in(parse_expression(constraint.condition))):
            raise PlanError(
                f"Cannot alter column {quote(column)}: the constraint {quote(constraint.name)} is "
                "about it.",
                hint=f"CREATE OR REPLACE {source.kind.value} {quote(source.name)} changes columns "
                "and constraints together.",
                span=span,
            )
