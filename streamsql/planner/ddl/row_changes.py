"""UPDATE, DELETE, TRUNCATE and INSERT .. SELECT of plain tables: the query that finds the rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sqlglot import exp

from streamsql.catalog import Catalog, Source
from streamsql.errors import (
    BindError,
    CatalogError,
    PlanError,
    Span,
    UnsupportedError,
    did_you_mean,
)
from streamsql.nodes import (
    Delete,
    Expression,
    InsertInto,
    InsertValues,
    Query,
    SelectAll,
    SelectExpression,
    SelectItem,
    SelectQuery,
    SourceRef,
    Subquery,
    Truncate,
    Update,
    ValueRows,
)
from streamsql.parser import to_sql
from streamsql.planner.plans.context import Planning
from streamsql.planner.plans.dispatch import plan_statement
from streamsql.planner.plans.statements import Planned, PullPlan, Touches
from streamsql.planner.scopes.spans import span_of
from streamsql.properties import standard
from streamsql.schema import ROW_KEY, Column
from streamsql.types import quote

OLD = "OLD$"
"""Begins the names of the key columns as they are before an UPDATE."""


@dataclass(frozen=True)
class RowsPlan(Planned):
    """The rows of `pull` are written into a plain table, or, `deletes`, their keys as tombstones.
    Its columns are `columns`, those of an UPDATE behind the key that a row has before it."""

    source: Source
    pull: PullPlan
    columns: tuple[str, ...]
    deletes: bool = False
    moves: bool = False
    """Whether an UPDATE sets a column of the key."""
    returning: tuple[SelectItem, ...] = ()

    @property
    def touches(self) -> Touches:
        return Touches(writes=frozenset({self.source.topic.name}))


def plain_table(name: str, catalog: Catalog, span: Span | None, what: str) -> Source:
    """The table that a statement changes; UnsupportedError for other sources, whose rows come from
    their topics or queries."""
    source = catalog.sources.get(name)
    if source is None:
        raise CatalogError(
            f"{quote(name)} does not exist.",
            hint=did_you_mean(name, catalog.sources) or "SHOW TABLES lists what exists.",
            span=span,
        )
    if not source.is_plain:
        raise UnsupportedError(
            f"{what} is not supported for {quote(name)}, which is not a plain table.",
            hint="A table that CREATE TABLE makes without WITH can be changed. Of others, INSERT "
            "INTO .. VALUES replaces the row of a key.",
            span=span,
        )
    return source


@plan_statement.register
def _(statement: Update, planning: Planning) -> RowsPlan:
    table = plain_table(statement.target, planning.catalog, statement.span, "UPDATE")
    assigned = dict(statement.assignments)
    for name, value in statement.assignments:
        _known(name, table, span_of(value))
    columns = _written(table)
    items = [
        *(SelectExpression(_column(c.name), f"{OLD}{number}") for number, c in _numbered(table)),
        *(_item(column, assigned.get(column.name)) for column in columns),
    ]
    keys = {column.name for column in table.schema.key}
    return RowsPlan(
        table,
        _pull(items, statement, planning),
        tuple(column.name for column in columns),
        moves=bool(keys & assigned.keys()),
        returning=statement.returning,
    )


@plan_statement.register
def _(statement: Delete, planning: Planning) -> RowsPlan:
    table = plain_table(statement.target, planning.catalog, statement.span, "DELETE")
    return _emptied(table, statement, planning, statement.returning)


@plan_statement.register
def _(statement: Truncate, planning: Planning) -> RowsPlan:
    table = plain_table(statement.target, planning.catalog, statement.span, "TRUNCATE")
    return _emptied(table, Delete(statement.target, span=statement.span), planning, ())


def _emptied(
    table: Source, statement: Delete, planning: Planning, returning: tuple[SelectItem, ...]
) -> RowsPlan:
    columns = _written(table) if returning else table.schema.key
    pull = _pull([_item(column) for column in columns], statement, planning)
    names = tuple(column.name for column in columns)
    return RowsPlan(table, pull, names, deletes=True, returning=returning)


def plan_inserted_values(statement: InsertValues, planning: Planning) -> RowsPlan:
    """INSERT .. VALUES of expressions into a plain table: as of a query of these rows."""
    query = Query((SelectAll(),), ValueRows(statement.rows), span=statement.span)
    return plan_inserted_rows(
        InsertInto(
            statement.target,
            query,
            columns=statement.columns,
            returning=statement.returning,
            text=statement.text,
            span=statement.span,
        ),
        planning,
    )


def plan_inserted_rows(statement: InsertInto, planning: Planning) -> RowsPlan:
    """INSERT .. SELECT into a plain table: of a pull query, once."""
    table = planning.catalog.sources[statement.target]
    query = statement.query
    if query.emit is not None or statement.properties:
        raise UnsupportedError(
            f"A running query cannot write into {quote(table.name)}, a plain table.",
            hint="Leave EMIT CHANGES and WITH out: INSERT .. SELECT then inserts the rows there "
            "are now. A view is kept up to date: CREATE MATERIALIZED VIEW.",
            span=statement.span,
        )
    columns = [_known(n, table, statement.span) for n in statement.columns or table.order]
    count = len(_planned(query, planning).schema)
    if count > len(columns) or (statement.columns and count != len(columns)):
        raise PlanError(
            f"INSERT has {len(columns)} columns, and its query {count}.", span=statement.span
        )
    names = tuple(column.name for column in columns[:count])
    rows = Subquery(query, table.name, query.span, columns=names)
    items = tuple(_item(column, _column(column.name)) for column in columns[:count])
    pull = _planned(Query(items, rows, span=query.span), planning)
    return RowsPlan(table, pull, names, returning=statement.returning)


def _written(table: Source) -> tuple[Column, ...]:
    """All columns of a record: the hidden key, too."""
    return table.schema.columns


def _numbered(table: Source) -> Iterable[tuple[int, Column]]:
    return enumerate(table.schema.key)


def _column(name: str) -> Expression:
    return exp.Column(this=exp.Identifier(this=name, quoted=True))


def _item(column: Column, value: Expression | None = None) -> SelectExpression:
    if value is None:
        return SelectExpression(_column(column.name), column.name)
    cast = exp.Cast(this=value.copy(), to=column.type.copy())
    cast.meta.update(value.meta)
    return SelectExpression(cast, column.name)


def _known(name: str, table: Source, span: Span | None) -> Column:
    column = table.schema.find(name)
    if column is None or column.name == ROW_KEY:
        raise BindError(
            f"column {name} of table {table.name} does not exist",
            hint=did_you_mean(name, table.order),
            span=span,
        )
    return column


def _pull(items: Iterable[SelectItem], statement: Update | Delete, planning: Planning) -> PullPlan:
    query = Query(
        tuple(items),
        SourceRef(statement.target, statement.alias, statement.span),
        where=statement.where,
        span=statement.span,
    )
    return _planned(query, planning)


def _planned(query: Query, planning: Planning) -> PullPlan:
    """The plan of a query with the meaning of standard SQL."""
    planning = replace(planning, session=standard(planning.session))
    planned = plan_statement(SelectQuery(query, text=to_sql(query), span=query.span), planning)
    assert isinstance(planned, PullPlan)
    return planned
