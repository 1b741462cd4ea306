"""Builds what stands among the columns of CREATE STREAM | TABLE: columns and constraints."""

from __future__ import annotations

from typing import NamedTuple

from streamsql import nodes as n
from streamsql.errors import Span
from streamsql.nodes import ColumnDefinition, ConstraintDefinition, Expression
from streamsql.schema import OnViolation


class SourceColumns(NamedTuple):
    """Columns and constraints, each in their order."""

    columns: tuple[ColumnDefinition, ...]
    constraints: tuple[ConstraintDefinition, ...]


class ConstraintBuilder:
    """CONSTRAINT .. EXPECT (..) ON VIOLATION .."""

    def source_columns(
        self, span: Span, *given: ColumnDefinition | ConstraintDefinition
    ) -> SourceColumns:
        return SourceColumns(
            tuple(one for one in given if isinstance(one, ColumnDefinition)),
            tuple(one for one in given if isinstance(one, ConstraintDefinition)),
        )

    def constraint(
        self, span: Span, name: str, condition: Expression, on_violation: OnViolation
    ) -> ConstraintDefinition:
        return n.ConstraintDefinition(name, condition, on_violation, span)

    def drop_row(self, span: Span) -> OnViolation:
        return OnViolation.DROP_ROW

    def to_errors(self, span: Span, errors: None) -> OnViolation:
        return OnViolation.TO_ERRORS

    def fail(self, span: Span) -> OnViolation:
        return OnViolation.FAIL
