"""Builds queries: SELECT, FROM with its joins, windows and the other clauses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lark import Token

from streamsql.errors import ParseError, Span
from streamsql.nodes import (
    CommonTable,
    Duration,
    Emit,
    Expression,
    Join,
    JoinType,
    Query,
    Relation,
    SelectAll,
    SelectExpression,
    SelectItem,
    SelectStruct,
    SetOperator,
    Side,
    SourceRef,
    Start,
    StartPosition,
    Subquery,
    ValueRows,
    Window,
    Within,
)
from streamsql.parser.build.items import with_tokens
from streamsql.parser.build.schemas import check_schema

MAX_AMOUNT = 2**63 - 1


Bounds = tuple[int | None, int | None]
"""LIMIT and OFFSET."""


class QueryBuilder:
    """Makes queries of the grammar's rules."""

    def query(
        self, span: Span, common_tables: tuple[CommonTable, ...] | None, *parts: Any
    ) -> Query:
        first: Query
        first, *union, order_by, emit, bounds = parts
        limit, offset = bounds or (None, None)
        return replace(
            first,
            order_by=order_by,
            emit=emit,
            limit=limit,
            offset=offset,
            span=span,
            union=tuple(union),
            common_tables=common_tables or (),
        )

    def values_query(self, span: Span, *parts: Any) -> Query:
        return self.query(span, None, *parts)

    def values(self, span: Span, *rows: tuple[Expression, ...]) -> Query:
        if len({len(row) for row in rows}) > 1 or not rows[0]:
            raise ParseError(
                "the rows of VALUES have different numbers of values"
                if rows[0]
                else "a row of VALUES has no value",
                span=span,
            )
        return Query((SelectAll(span=span),), ValueRows(rows, span=span), span=span)

    def common_tables(self, span: Span, *tables: CommonTable) -> tuple[CommonTable, ...]:
        names = [table.name for table in tables]
        for table in tables:
            if names.count(table.name) > 1:
                raise ParseError(f"{table.name} is defined twice in WITH", span=tables[-1].span)
        return tables

    def common_table(self, span: Span, name: str, query: Query) -> CommonTable:
        return CommonTable(name, query, span)

    def combined(self, span: Span, operator: SetOperator, select: Query) -> Query:
        return replace(select, set_operator=operator)

    def union_all(self, span: Span) -> SetOperator:
        return SetOperator.UNION_ALL

    def union_distinct(self, span: Span) -> SetOperator:
        return SetOperator.UNION

    def except_(self, span: Span) -> SetOperator:
        return SetOperator.EXCEPT

    def intersect(self, span: Span) -> SetOperator:
        return SetOperator.INTERSECT

    def distinct(self, span: Span) -> bool:
        return True

    def select(
        self,
        span: Span,
        distinct: bool | None,
        items: tuple[SelectItem, ...],
        relation: Relation | None,
        window: Window | None,
        where: Expression | None,
        group_by: tuple[Expression, ...],
        partition_by: tuple[Expression, ...],
        having: Expression | None,
        qualify: Expression | None,
    ) -> Query:
        return Query(
            items,
            relation or ValueRows(span=span),
            window=window,
            where=where,
            group_by=group_by,
            partition_by=partition_by,
            having=having,
            span=span,
            distinct=bool(distinct),
            qualify=qualify,
        )

    def select_items(self, span: Span, *items: SelectItem) -> tuple[SelectItem, ...]:
        return items

    def select_expression(
        self, span: Span, expression: Expression, alias: str | None = None
    ) -> SelectItem:
        return SelectExpression(expression, alias, span)

    def select_all(self, span: Span, source: str | None = None) -> SelectItem:
        return SelectAll(source, span)

    def select_struct(self, span: Span, expression: Expression) -> SelectItem:
        return SelectStruct(expression, span)

    def from_(self, span: Span, relation: Relation) -> Relation:
        return relation

    # -- FROM ------------------------------------------------------------------------------------

    def source_ref(
        self, span: Span, name: str, alias: str | None, start: StartPosition | None
    ) -> SourceRef:
        return SourceRef(name, alias, span, start)

    def schema_source_ref(
        self,
        span: Span,
        schema: str,
        name: str,
        alias: str | None,
        start: StartPosition | None,
    ) -> SourceRef:
        check_schema(schema, span)
        return SourceRef(name, alias, span, start)

    def subquery(self, span: Span, query: Query, alias: str | None) -> Subquery:
        return Subquery(query, alias, span)

    def value_rows(
        self, span: Span, query: Query, alias: str | None, columns: tuple[str, ...] | None
    ) -> Side:
        values = query.relation
        assert isinstance(values, ValueRows)
        rows = values.rows
        if columns is not None and len(columns) != len(rows[0]):
            raise ParseError(
                f"{len(columns)} names for the {len(rows[0])} columns of VALUES", span=span
            )
        if query == Query(query.items, values):
            return ValueRows(rows, alias, columns or (), span)
        # Names are those of the first rows.
        named = replace(values, columns=columns or ())
        return Subquery(replace(query, relation=named), alias, span)

    def alias(self, span: Span, name: str) -> str:
        return name

    def start_beginning(self, span: Span) -> StartPosition:
        return StartPosition(Start.BEGINNING, span=span)

    def start_latest(self, span: Span) -> StartPosition:
        return StartPosition(Start.LATEST, span=span)

    def start_timestamp(self, span: Span, text: str) -> StartPosition:
        return StartPosition(Start.TIMESTAMP, text, span=span)

    def start_offsets(self, span: Span, *texts: str) -> StartPosition:
        offsets = [_offset(span, text) for text in texts]
        if len(dict(offsets)) < len(offsets):
            raise ParseError("a partition is named twice in OFFSETS", span=span)
        return StartPosition(Start.OFFSETS, offsets=tuple(sorted(offsets)), span=span)

    def join(
        self,
        span: Span,
        left: Relation,
        type: JoinType,
        right: Side,
        within: Within | None,
        on: Expression,
    ) -> Join:
        return Join(left, right, type, on, within, span)

    def join_using(
        self,
        span: Span,
        left: Relation,
        type: JoinType,
        right: Side,
        within: Within | None,
        names: tuple[str, ...],
    ) -> Join:
        return Join(left, right, type, None, within, span, names)

    def inner_join(self, span: Span) -> JoinType:
        return JoinType.INNER

    def left_join(self, span: Span) -> JoinType:
        return JoinType.LEFT

    def right_join(self, span: Span) -> JoinType:
        return JoinType.RIGHT

    def full_join(self, span: Span) -> JoinType:
        return JoinType.FULL

    def within(
        self, span: Span, before: Duration, after: Duration, grace: Duration | None
    ) -> Within:
        return Within(before, after, grace)

    def within_same(self, span: Span, size: Duration, grace: Duration | None) -> Within:
        return Within(size, size, grace)

    def duration(self, span: Span, amount: str, unit: str) -> Duration:
        return Duration(integer(span, amount), unit)

    @with_tokens
    def time_unit(self, span: Span, unit: Token) -> str:
        return str(unit.value).removesuffix("S")

    # -- the other clauses -----------------------------------------------------------------------

    def nothing(self, span: Span) -> None:
        return None

    def no_expressions(self, span: Span) -> tuple[Expression, ...]:
        return ()

    def where(self, span: Span, condition: Expression) -> Expression:
        return condition

    def having(self, span: Span, condition: Expression) -> Expression:
        return condition

    def qualify(self, span: Span, condition: Expression) -> Expression:
        return condition

    def grouping(self, span: Span, *expressions: Expression) -> tuple[Expression, ...]:
        return expressions

    def group_by(self, span: Span, expressions: tuple[Expression, ...]) -> Any:
        return _at_least_one("GROUP BY", span, expressions)

    def partition_by(self, span: Span, expressions: tuple[Expression, ...]) -> Any:
        return _at_least_one("PARTITION BY", span, expressions)

    def order_by(self, span: Span, *orders: Expression) -> tuple[Expression, ...]:
        return orders

    def nulls_as_usual(self, span: Span, order: Expression) -> Expression:
        return order

    @with_tokens
    def nulls_placed(self, span: Span, order: Expression, nulls: Token, place: Token) -> Expression:
        if nulls.upper() != "NULLS" or place.upper() not in ("FIRST", "LAST"):
            raise ParseError(
                f"'{nulls} {place}' does not belong into ORDER BY",
                hint="An expression may be followed by ASC or DESC, and NULLS FIRST or NULLS LAST.",
                span=span,
            )
        order.set("nulls_first", place.upper() == "FIRST")
        return order

    def emit_changes(self, span: Span) -> Emit:
        return Emit.CHANGES

    def emit_final(self, span: Span) -> Emit:
        return Emit.FINAL

    def limit(self, span: Span, count: int, skipped: int | None = None) -> Bounds:
        return _bounds(span, count, skipped)

    def offset(self, span: Span, skipped: int, count: int | None = None) -> Bounds:
        return _bounds(span, count, skipped)

    def integer(self, span: Span, digits: str) -> int:
        return integer(span, digits)

    def negative_integer(self, span: Span, digits: str) -> int:
        return integer(span, "-" + digits)


def _bounds(span: Span, count: int | None, skipped: int | None) -> Bounds:
    if skipped is not None and skipped < 0:
        raise ParseError("OFFSET must not be negative", span=span)
    return count, skipped


def _at_least_one(
    clause: str, span: Span, expressions: tuple[Expression, ...]
) -> tuple[Expression, ...]:
    if not expressions:
        raise ParseError(f"{clause} requires at least one expression", span=span)
    return expressions


def _offset(span: Span, text: str) -> tuple[int, int]:
    partition, _, offset = text.partition(":")
    if not all(part.isascii() and part.isdecimal() for part in (partition, offset)):
        raise ParseError(
            f"'{text}' is not a partition and an offset",
            hint="Write OFFSETS ('0:12', '1:34'): partition 0 from offset 12, 1 from 34.",
            span=span,
        )
    return integer(span, partition), integer(span, offset)


def integer(span: Span, digits: str) -> int:
    """The value of an integer literal within BIGINT."""
    if len(digits.lstrip("-0")) > 19 or abs(int(digits)) > MAX_AMOUNT:
        raise ParseError(f"Invalid numeric literal: {digits}", span=span)
    return int(digits)
