"""Builds the elements of CREATE STREAM | TABLE: columns and constraints."""

from __future__ import annotations

from typing import NamedTuple

from streamsql import nodes as n
from streamsql.errors import ParseError, Span
from streamsql.nodes import ColumnDefinition, ConstraintDefinition, Expression
from streamsql.schema import OnViolation


class SourceColumns(NamedTuple):
    """Columns and constraints, each in their order."""

    columns: tuple[ColumnDefinition, ...]
    constraints: tuple[ConstraintDefinition, ...]


def constraints_alone(given: SourceColumns | None) -> tuple[ConstraintDefinition, ...]:
    """Of a query's result, which has its columns from the query; ParseError where others stand."""
    if given is None:
        return ()
    if given.columns:
        raise ParseError(
            "the columns of a query's result come from its SELECT",
            hint="Name them in the SELECT by AS; the parentheses contain constraints only.",
            span=given.columns[0].span,
        )
    return given.constraints


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
