"""Builds queries: SELECT, FROM with its joins, windows and the other clauses."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

from lark import Token
from sqlglot import exp

from streamsql.errors import ParseError, Span
from streamsql.nodes import (
    CommonTable,
    Duration,
    Emit,
    Expression,
    Join,
    JoinType,
    Matched,
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
    VersionAsOf,
    Window,
    Within,
)
from streamsql.parser.build.grouping import (
    GroupingSets,
    crossed,
    keys_of,
    plain_keys,
    sets_of,
)
from streamsql.parser.build.items import with_tokens
from streamsql.parser.build.over import place, resolve_windows
from streamsql.parser.build.schemas import check_schema
from streamsql.types import is_numeric

MAX_AMOUNT = 2**63 - 1


@dataclass(frozen=True)
class Bounds:
    """LIMIT and OFFSET."""

    limit: int | None = None
    offset: int | None = None
    with_ties: bool = False


@dataclass(frozen=True)
class Tail:
    """The clauses that apply to all of a query's SELECTs together."""

    order_by: tuple[Expression, ...] = ()
    emit: Emit | None = None
    bounds: Bounds = Bounds()


@dataclass(frozen=True)
class Common:
    """A WITH clause."""

    tables: tuple[CommonTable, ...]
    recursive: bool


Windows = dict[str, exp.Window]


@dataclass(frozen=True)
class Selected:
    """A SELECT, or VALUES, without the clauses behind it; `windows` are those that it names."""

    query: Query
    windows: Windows = field(default_factory=dict)


Grouped = Expression | GroupingSets


class QueryBuilder:
    """Makes queries of the grammar's rules."""

    def query(self, span: Span, common: Common | None, *parts: Any) -> Query:
        selected: Selected | Query
        selected, *union, tail = parts
        if isinstance(selected, Selected):
            first = selected.query
            resolve_windows(tail.order_by, selected.windows)
        else:
            first = _alone(selected)
        return replace(
            first,
            order_by=tail.order_by,
            emit=tail.emit,
            limit=tail.bounds.limit,
            offset=tail.bounds.offset,
            with_ties=tail.bounds.with_ties,
            span=span,
            union=tuple(union),
            common_tables=common.tables if common else (),
            recursive=bool(common and common.recursive),
        )

    values_query = query

    def tailed_query(self, span: Span, first: Query, tail: Tail) -> Query:
        return self.query(span, None, first, tail)

    def parentheses(self, span: Span, query: Query) -> Query:
        return query

    def no_tail(self, span: Span) -> Tail:
        return Tail()

    def tail(self, span: Span, tail: Tail) -> Tail:
        return tail

    def sorted_tail(
        self,
        span: Span,
        order_by: tuple[Expression, ...],
        emit: Emit | None,
        bounds: Bounds | None,
    ) -> Tail:
        return Tail(order_by, emit, bounds or Bounds())

    def emitted_tail(self, span: Span, emit: Emit, bounds: Bounds | None) -> Tail:
        return Tail(emit=emit, bounds=bounds or Bounds())

    def bounded_tail(self, span: Span, bounds: Bounds) -> Tail:
        return Tail(bounds=bounds)

    def value_rows(
        self, span: Span, *rows: tuple[Expression, ...]
    ) -> tuple[tuple[Expression, ...], ...]:
        return rows

    def values(self, span: Span, rows: tuple[tuple[Expression, ...], ...]) -> Selected:
        if len({len(row) for row in rows}) > 1 or not rows[0]:
            raise ParseError(
                "the rows of VALUES have different numbers of values"
                if rows[0]
                else "a row of VALUES has no value",
                span=span,
            )
        return Selected(Query((SelectAll(span=span),), ValueRows(rows, span=span), span=span))

    def common_tables(self, span: Span, recursive: bool | None, *tables: CommonTable) -> Common:
        names = [table.name for table in tables]
        for table in tables:
            if names.count(table.name) > 1:
                raise ParseError(f"{table.name} is defined twice in WITH", span=tables[-1].span)
        return Common(tables, bool(recursive))

    def common_table(
        self,
        span: Span,
        name: str,
        columns: tuple[str, ...] | None,
        materialization: None,
        query: Query,
    ) -> CommonTable:
        return CommonTable(name, query, span, columns or ())

    def recursive(self, span: Span) -> bool:
        return True

    lateral = ordinality = recursive

    def materialization(self, span: Span) -> None:
        """How often the query runs is the planner's decision."""

    def combined(
        self,
        span: Span,
        operator: SetOperator,
        matched: Matched | None,
        other: Selected | Query,
    ) -> Query:
        query = other.query if isinstance(other, Selected) else other
        return replace(query, set_operator=operator, matched=matched)

    def corresponding(self, span: Span, columns: tuple[str, ...] = ()) -> Matched:
        return Matched(tuple(columns))

    def by_name(self, span: Span, name: str) -> Matched:
        return Matched(every=True)

    def union_all(self, span: Span) -> SetOperator:
        return SetOperator.UNION_ALL

    def union_distinct(self, span: Span) -> SetOperator:
        return SetOperator.UNION

    def except_all(self, span: Span) -> SetOperator:
        return SetOperator.EXCEPT_ALL

    def intersect_all(self, span: Span) -> SetOperator:
        return SetOperator.INTERSECT_ALL

    def except_(self, span: Span) -> SetOperator:
        return SetOperator.EXCEPT

    def intersect(self, span: Span) -> SetOperator:
        return SetOperator.INTERSECT

    def distinct(self, span: Span) -> bool:
        return True

    def distinct_on(self, span: Span, keys: list[Expression]) -> list[Expression]:
        return keys

    def not_distinct(self, span: Span) -> bool:
        return False

    def select(
        self,
        span: Span,
        distinct: bool | list[Expression] | None,
        items: tuple[SelectItem, ...],
        relation: Relation | None,
        window: Window | None,
        where: Expression | None,
        grouping: GroupingSets | None,
        partition_by: tuple[Expression, ...],
        having: Expression | None,
        qualify: Expression | None,
        windows: Windows | None,
    ) -> Selected:
        query = Query(
            items,
            relation or ValueRows(span=span),
            window=window,
            where=where,
            group_by=keys_of(grouping) if grouping else (),
            partition_by=partition_by,
            having=having,
            span=span,
            distinct=bool(distinct),
            qualify=qualify,
            distinct_on=tuple(distinct) if isinstance(distinct, list) else (),
            grouping_sets=grouping.sets if grouping and not grouping.plain else None,
        )
        resolve_windows(_windowed(query), windows or {})
        return Selected(query, windows or {})

    def select_nothing(self, span: Span, *clauses: Any) -> Selected:
        return self.select(span, None, (), *clauses)

    def select_items(self, span: Span, *items: SelectItem) -> tuple[SelectItem, ...]:
        return items

    def select_expression(
        self, span: Span, expression: Expression, alias: str | None = None
    ) -> SelectItem:
        return SelectExpression(expression, alias, span)

    def select_all(self, span: Span, source: str | None = None) -> SelectItem:
        return SelectAll(source, span)

    def select_all_but(self, span: Span, *names: Any) -> SelectItem:
        *source, excluded = names
        return SelectAll(source[0] if source else None, span, excluded)

    def select_struct(self, span: Span, expression: Expression) -> SelectItem:
        return SelectStruct(expression, span)

    def from_(self, span: Span, relation: Relation, *others: Relation) -> Relation:
        for other in others:
            relation = Join(relation, other, JoinType.CROSS, None, span=span)
        return relation

    # -- FROM ------------------------------------------------------------------------------------

    def aliased(self, span: Span, name: str, columns: tuple[str, ...] | None) -> Alias:
        return name, columns or ()

    def source_ref(
        self,
        span: Span,
        name: str,
        version: VersionAsOf | None,
        aliased: Alias | None,
        start: StartPosition | None,
    ) -> SourceRef:
        alias, columns = aliased or NO_ALIAS
        return SourceRef(name, alias, span, start, columns, version)

    def schema_source_ref(
        self,
        span: Span,
        schema: str,
        name: str,
        version: VersionAsOf | None,
        aliased: Alias | None,
        start: StartPosition | None,
    ) -> SourceRef:
        check_schema(schema, span)
        return self.source_ref(span, name, version, aliased, start)

    def version_as_of(self, span: Span, version: str) -> VersionAsOf:
        return VersionAsOf(version=str(version), span=span)

    def time_as_of(self, span: Span, timestamp: str) -> VersionAsOf:
        return VersionAsOf(timestamp=timestamp, span=span)

    def as_of_now(self, span: Span) -> VersionAsOf:
        return VersionAsOf(now=True, span=span)

    def subquery(
        self, span: Span, lateral: bool | None, query: Query, aliased: Alias | None
    ) -> Side:
        alias, columns = aliased or NO_ALIAS
        values = _values_of(query)
        if values is None or lateral:
            return Subquery(query, alias, span, columns=columns, lateral=bool(lateral))
        if columns and len(columns) != len(values.rows[0]):
            raise ParseError(
                f"{len(columns)} names for the {len(values.rows[0])} columns of VALUES", span=span
            )
        if query == Query(query.items, values):
            return ValueRows(values.rows, alias, columns, span)
        # Names are those of the first rows.
        return Subquery(replace(query, relation=replace(values, columns=columns)), alias, span)

    def renamed_subquery(self, span: Span, query: Query, names: tuple[str, ...]) -> Side:
        return self.subquery(span, None, query, (None, names))

    def parenthesized_join(self, span: Span, join: Join) -> Join:
        return join

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
        right: Relation,
        within: Within | None,
        on: Expression,
    ) -> Join:
        return Join(left, right, type, on, within, span)

    def join_using(
        self,
        span: Span,
        left: Relation,
        type: JoinType,
        right: Relation,
        within: Within | None,
        names: tuple[str, ...],
    ) -> Join:
        return Join(left, right, type, None, within, span, names)

    def cross_join(self, span: Span, left: Relation, right: Relation) -> Join:
        return Join(left, right, JoinType.CROSS, None, span=span)

    def natural_join(self, span: Span, left: Relation, type: JoinType, right: Relation) -> Join:
        return Join(left, right, type, None, span=span, natural=True)

    def asof_join(
        self, span: Span, left: Relation, type: JoinType, right: Relation, on: Expression
    ) -> Join:
        return Join(left, right, type, on, span=span, asof=True)

    def inner_join(self, span: Span) -> JoinType:
        return JoinType.INNER

    def left_join(self, span: Span) -> JoinType:
        return JoinType.LEFT

    def right_join(self, span: Span) -> JoinType:
        return JoinType.RIGHT

    def full_join(self, span: Span) -> JoinType:
        return JoinType.FULL

    def semi_join(self, span: Span) -> JoinType:
        return JoinType.SEMI

    def anti_join(self, span: Span) -> JoinType:
        return JoinType.ANTI

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

    def grouping(self, span: Span, *elements: Grouped) -> tuple[Grouped, ...]:
        return elements

    def no_keys(self, span: Span) -> GroupingSets:
        return GroupingSets(((),))

    @with_tokens
    def grouping_sets(self, span: Span, *parts: Any) -> GroupingSets:
        return GroupingSets(tuple(s for each in parts[3] for s in sets_of(each, span).sets), False)

    def group_by(self, span: Span, elements: tuple[Grouped, ...]) -> GroupingSets:
        made = crossed([sets_of(element, span) for element in elements], span)
        if made.plain:
            _at_least_one("GROUP BY", span, made.sets[0])
        return made

    def group_by_all(self, span: Span) -> GroupingSets:
        return GroupingSets(((exp.Star(),),))

    def partition_by(self, span: Span, elements: tuple[Grouped, ...]) -> tuple[Expression, ...]:
        keys = [key for each in elements for key in plain_keys(each, span)]
        return _at_least_one("PARTITION BY", span, tuple(keys))

    def sorting(self, span: Span, *orders: Expression) -> tuple[Expression, ...]:
        return orders

    def emission(self, span: Span, emit: Emit) -> Emit:
        return emit

    emit = emission

    def emit_changes(self, span: Span) -> Emit:
        return Emit.CHANGES

    def emit_final(self, span: Span) -> Emit:
        return Emit.FINAL

    def emit_on_window_close(self, span: Span, *words: str) -> Emit:
        return Emit.ON_WINDOW_CLOSE

    def limit_first(self, span: Span, count: Bounds, skipped: int | None = None) -> Bounds:
        return replace(count, offset=skipped)

    def offset_first(self, span: Span, skipped: int | None, count: Bounds | None = None) -> Bounds:
        return replace(count or Bounds(), offset=skipped)

    def limit(self, span: Span, bounds: Bounds) -> Bounds:
        return bounds

    def count(self, span: Span, count: Expression) -> Bounds:
        return Bounds(_row_count(count, "LIMIT"))

    def unlimited(self, span: Span) -> Bounds:
        return Bounds()

    @with_tokens
    def fetch(self, span: Span, *parts: Any) -> Bounds:
        """FETCH FIRST | NEXT [n] ROW | ROWS ONLY | WITH TIES."""
        _, first, count, _, *rest = parts
        ending = " ".join(word.upper() for word in rest)
        if first.upper() not in ("FIRST", "NEXT") or ending not in ("ONLY", "WITH TIES"):
            raise ParseError(
                "FETCH is not written like this.",
                hint="Write FETCH FIRST 10 ROWS ONLY, or WITH TIES.",
                span=span,
            )
        return Bounds(1 if count is None else count, with_ties=ending == "WITH TIES")

    def row_word(self, span: Span) -> None:
        return None

    def skipped(self, span: Span, count: Expression, word: None) -> int | None:
        rows = _row_count(count, "OFFSET")
        if rows is not None and rows < 0:
            raise ParseError("OFFSET must not be negative", span=span)
        return rows

    def integer(self, span: Span, digits: str) -> int:
        return integer(span, digits)

    def negative_integer(self, span: Span, digits: str) -> int:
        return integer(span, "-" + digits)


Alias = tuple[str | None, tuple[str, ...]]
"""Of a relation in FROM: its name there, and those of its columns."""
NO_ALIAS: Alias = (None, ())


def _alone(query: Query) -> Query:
    """A query in parentheses as the first of several: one with clauses that apply to all of them
    is a subquery."""
    own = (query.order_by, query.union, query.common_tables, query.emit, query.limit, query.offset)
    if own == ((), (), (), None, None, None):
        return query
    return Query((SelectAll(span=query.span),), Subquery(query, span=query.span), span=query.span)


def _values_of(query: Query) -> ValueRows | None:
    """The rows of a query that begins with VALUES."""
    values = query.relation
    if not isinstance(values, ValueRows) or not values.rows[0] or values.columns or values.alias:
        return None
    plain = Query((SelectAll(),), values)
    behind = {name: getattr(query, name) for name in _BEHIND}
    return values if query == replace(plain, **behind) else None


_BEHIND = ("union", "order_by", "emit", "limit", "offset", "with_ties")


def _windowed(query: Query) -> list[Expression]:
    """The expressions of a SELECT that may have an OVER."""
    items = [item.expression for item in query.items if not isinstance(item, SelectAll)]
    return [*items, *query.distinct_on, *([] if query.qualify is None else [query.qualify])]


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


def _row_count(expression: Expression, clause: str) -> int | None:
    """The value of a constant expression, rounded as PostgreSQL rounds it; None for NULL."""
    value = _constant(expression)
    texts = (part for part in expression.find_all(exp.Literal) if part.is_string)
    unknown = any(not _is_number(text.parent) for text in texts)
    if value is None and expression.find(exp.Null) and not unknown:
        return None
    written = isinstance(expression, exp.Literal)
    whole = value is not None and (not written or value == value.to_integral_value())
    if value is None or not whole or abs(value) > MAX_AMOUNT:
        message = f"Value must be integer for command: {clause}"
        raise ParseError(message, span=place(expression))
    return int(value.to_integral_value(ROUND_HALF_UP))


def _constant(expression: Expression) -> Decimal | None:
    """The value of numbers and arithmetic; None for all else."""
    match expression:
        case exp.Literal():
            try:
                return Decimal(expression.name)
            except InvalidOperation:
                return None
        case exp.Cast() if not _is_number(expression):
            return None
        case exp.Paren() | exp.Cast():
            return _constant(expression.this)
        case exp.Neg():
            value = _constant(expression.this)
            return None if value is None else -value
        case exp.Add() | exp.Sub() | exp.Mul():
            a, b = _constant(expression.this), _constant(expression.expression)
            return None if a is None or b is None else _ARITHMETIC[type(expression)](a, b)
    return None


def _is_number(expression: Expression | None) -> bool:
    return isinstance(expression, exp.Cast) and is_numeric(expression.args["to"])


_ARITHMETIC = {exp.Add: operator.add, exp.Sub: operator.sub, exp.Mul: operator.mul}


def integer(span: Span, digits: str) -> int:
    """The value of an integer literal within BIGINT."""
    if len(digits.lstrip("-0")) > 19 or abs(int(digits)) > MAX_AMOUNT:
        raise ParseError(f"Invalid numeric literal: {digits}", span=span)
    return int(digits)
