"""WATERMARK FOR and APPEND ONLY in CREATE STREAM | TABLE."""

from __future__ import annotations

from sqlglot import exp

from streamsql.catalog import Catalog, Source
from streamsql.errors import BindError, PlanError, Span, UnsupportedError, did_you_mean
from streamsql.nodes import CreateSource, Expression
from streamsql.planner.relational.binder.expressions import Allowed, ExpressionBinder
from streamsql.planner.relational.binder.pending import Pending
from streamsql.planner.relational.binder.queries import QueryBinder
from streamsql.planner.relational.binder.scopes import Scope
from streamsql.planner.relational.intervals import span
from streamsql.schema import Kind, Schema, Watermark
from streamsql.types import INTERVAL, TIMESTAMP, quote, to_sql


def check_not_append_only(statement: CreateSource) -> None:
    """UnsupportedError for APPEND ONLY of what is no plain table."""
    if statement.append_only:
        raise UnsupportedError(
            f"APPEND ONLY is of tables without WITH, and {quote(statement.name)} has a topic that "
            "others write.",
            hint="A stream is a source whose rows are only added: CREATE STREAM.",
            span=statement.span,
        )


def declared_watermark(statement: CreateSource, schema: Schema) -> Watermark | None:
    definition = statement.watermark
    if definition is None:
        return None
    if statement.kind is Kind.TABLE and not statement.append_only:
        raise PlanError(
            f"{quote(statement.name)} has a watermark, and rows that may change.",
            hint="Add APPEND ONLY behind the columns; a stream needs nothing more.",
            span=definition.span,
        )
    column = schema.find(definition.column)
    if column is None:
        raise BindError(
            f"column {definition.column} of WATERMARK FOR does not exist",
            hint=did_you_mean(definition.column, schema.names),
            span=definition.span,
        )
    if column.type != TIMESTAMP:
        raise PlanError(
            f"a watermark is of a TIMESTAMP, and {column.name} is {to_sql(column.type)}",
            span=definition.span,
        )
    delay = _delay(definition.value, column.name)
    if delay is None:
        raise UnsupportedError(
            "A watermark is its column, less a constant INTERVAL without months.",
            hint=f"For example WATERMARK FOR {column.name} AS {column.name} - INTERVAL '5' MINUTE.",
            span=definition.span,
        )
    return Watermark(column.name, delay)


def _delay(value: Expression, column: str) -> int | None:
    """Microseconds; None: the value is of another form."""
    while isinstance(value, exp.Paren):
        value = value.this
    by: Expression | None = None
    if isinstance(value, exp.Sub):
        value, by = value.this, value.expression
    if not isinstance(value, exp.Column) or value.name != column:
        return None
    if by is None:
        return 0
    queries = QueryBinder(Catalog())
    bound = ExpressionBinder(Scope(), Pending(), queries.bind, Allowed("WATERMARK FOR")).bind(by)
    delay = span(bound) if bound.type == INTERVAL else None
    return delay if delay is not None and delay >= 0 else None


def check_no_watermark(column: str, source: Source, at: Span | None) -> None:
    """PlanError if the watermark of the source is of the column."""
    if source.watermark is not None and source.watermark.column == column:
        raise PlanError(
            f"Cannot alter column {quote(column)}: the watermark of {quote(source.name)} is of it.",
            span=at,
        )
