"""Builds the elements of CREATE STREAM | TABLE: columns and constraints."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from streamsql import nodes as n
from streamsql.errors import ParseError, Span
from streamsql.nodes import (
    ColumnDefinition,
    ColumnRole,
    ConstraintDefinition,
    Expression,
    WatermarkDefinition,
)
from streamsql.schema import OnViolation


class SourceColumns(NamedTuple):
    """Columns and constraints, each in their order, and a watermark."""

    columns: tuple[ColumnDefinition, ...]
    constraints: tuple[ConstraintDefinition, ...]
    watermark: WatermarkDefinition | None = None


class PrimaryKey(NamedTuple):
    """PRIMARY KEY (columns), another way to write PRIMARY KEY behind each."""

    columns: tuple[str, ...]
    span: Span


def _keyed(columns: tuple[ColumnDefinition, ...], key: PrimaryKey) -> tuple[ColumnDefinition, ...]:
    names = [column.name for column in columns]
    if any(column.role is ColumnRole.PRIMARY_KEY for column in columns):
        raise ParseError("the table has two primary keys", span=key.span)
    if missing := [name for name in key.columns if name not in names]:
        raise ParseError(f"the table has no column {missing[0]}", span=key.span)
    return tuple(
        replace(column, role=ColumnRole.PRIMARY_KEY) if column.name in key.columns else column
        for column in columns
    )


def constraints_alone(given: SourceColumns | None) -> tuple[ConstraintDefinition, ...]:
    """Of a query's result, which has its columns from the query; ParseError where others stand."""
    if given is None:
        return ()
    if given.watermark is not None:
        raise ParseError(
            "a watermark belongs to the source of a query, and not to its result",
            span=given.watermark.span,
        )
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
        self,
        span: Span,
        *given: ColumnDefinition | ConstraintDefinition | PrimaryKey | WatermarkDefinition,
    ) -> SourceColumns:
        columns = tuple(one for one in given if isinstance(one, ColumnDefinition))
        for key in given:
            if isinstance(key, PrimaryKey):
                columns = _keyed(columns, key)
        marks = [one for one in given if isinstance(one, WatermarkDefinition)]
        if len(marks) > 1:
            raise ParseError("a source has one watermark", span=marks[1].span)
        constraints = tuple(one for one in given if isinstance(one, ConstraintDefinition))
        return SourceColumns(columns, constraints, marks[0] if marks else None)

    def watermark(self, span: Span, column: str, value: Expression) -> WatermarkDefinition:
        return WatermarkDefinition(column, value, span)

    def append_only(self, span: Span, word: str) -> bool:
        return True

    def primary_key(self, span: Span, names: tuple[str, ...]) -> PrimaryKey:
        return PrimaryKey(names, span)

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
