"""CONSTRAINT in CREATE STREAM | TABLE."""

from __future__ import annotations

from collections.abc import Mapping

from streamsql.catalog import Source
from streamsql.errors import PlanError
from streamsql.nodes import ConstraintDefinition
from streamsql.planner.select.constraints import condition_text
from streamsql.schema import Constraint
from streamsql.types import SQLType, quote


def declared_constraints(
    definitions: tuple[ConstraintDefinition, ...], source: Source, types: Mapping[str, SQLType]
) -> tuple[Constraint, ...]:
    """The constraints of a source that has its columns."""
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
