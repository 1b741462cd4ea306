"""UPDATE, DELETE, TRUNCATE and INSERT .. SELECT of plain tables: the query that finds the rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    ColumnDefinition,
    CreateAsSelect,
    CreateSource,
    Delete,
    Expression,
    InsertInto,
    InsertValues,
    Join,
    JoinType,
    Query,
    Relation,
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
from streamsql.properties import SEMANTICS, get_text, standard
from streamsql.schema import ROW_KEY, Column, Kind
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
    if source.append_only:
        raise UnsupportedError(
            f"{what} is not supported for {quote(name)}, which is APPEND ONLY.",
            hint="DROP TABLE deletes it with its rows.",
            span=span,
        )
    return source


@plan_statement.register
def _(statement: Update, planning: Planning) -> RowsPlan:
    table = plain_table(statement.target, planning.catalog, statement.span, "UPDATE")
    assigned = with_defaults(statement.assignments, table)
    for name, value in statement.assignments:
        _known(name, table, span_of(value))
    columns = _written(table)
    of = None if statement.relation is None else statement.alias or statement.target
    items = [
        *(
            SelectExpression(_column(c.name, of), f"{OLD}{number}")
            for number, c in _numbered(table)
        ),
        *(
            _item(column, assigned.get(column.name) or _column(column.name, of))
            for column in columns
        ),
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
    table = planning.catalog.sources[statement.target]
    names = statement.columns or table.order
    rows = tuple(
        tuple(with_defaults(zip(names, row, strict=False), table, keeps=True).values())
        if len(row) <= len(names)
        else row
        for row in statement.rows
    )
    query = Query((SelectAll(),), ValueRows(rows), span=statement.span)
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
    given = dict(zip(names, columns, strict=False))
    items = [
        _item(column, _column(name)) for name, column in given.items() if name not in made(table)
    ]
    for definition in table.definitions:
        if definition.default is not None and definition.name not in given:
            column = _known(definition.name, table, statement.span)
            items.append(_item(column, definition.default))
    query = Query(tuple(items), rows, span=query.span)
    if made(table):
        query = _with_generated(query, table)
    pull = _planned(query, planning)
    return RowsPlan(table, pull, pull.schema.names, returning=statement.returning)


def table_of_rows(statement: CreateAsSelect, planning: Planning) -> CreateSource | None:
    """The plain table that CREATE TABLE .. AS makes in a session of standard SQL, where it has the
    rows that its query has now; None: it has ksqlDB's meaning, a table that a query keeps up to
    date. One with WITH, EMIT or constraints has that everywhere, and a logged one has a query."""
    if (
        statement.kind is not Kind.TABLE
        or statement.properties
        or statement.constraints
        or statement.or_replace
        or statement.query.emit is not None
        or planning.logged
        or get_text(planning.session, SEMANTICS) != "standard"
    ):
        return None
    columns = _planned(statement.query, planning).schema
    return CreateSource(
        statement.kind,
        statement.name,
        tuple(ColumnDefinition(column.name, column.type) for column in columns),
        if_not_exists=statement.if_not_exists,
        text=statement.text,
        span=statement.span,
    )


def made(table: Source) -> Mapping[str, Expression]:
    """The expressions of generated columns."""
    return {d.name: d.generated for d in table.definitions if d.generated is not None}


def is_default(value: Expression) -> bool:
    """Whether the value is the word DEFAULT."""
    return isinstance(value, exp.Column) and not value.table and value.name == "DEFAULT"


def with_defaults(
    assigned: Iterable[tuple[str, Expression]], table: Source, *, keeps: bool = False
) -> dict[str, Expression]:
    """The values, in which DEFAULT is that of its column, and, unless only what is given is kept,
    those of generated columns. PlanError where a generated column gets a value of its own."""
    defaults = {d.name: d.default for d in table.definitions if d.default is not None}
    values: dict[str, Expression] = {}
    for name, value in assigned:
        if name in made(table) and not is_default(value):
            raise PlanError(
                f"column {name} of table {table.name} is generated and takes no value",
                span=span_of(value),
            )
        values[name] = defaults.get(name, exp.Null()) if is_default(value) else value
    if keeps:
        return values
    for name, value in made(table).items():
        values[name] = value.transform(
            lambda node: (
                values[node.name].copy()
                if isinstance(node, exp.Column) and node.name in values
                else node
            )
        )
    return values


def _with_generated(query: Query, table: Source) -> Query:
    """The query's columns, and the generated ones over them; a column without a value is null."""
    given = [item.alias for item in query.items if isinstance(item, SelectExpression)]
    absent = (c for c in table.shown if c.name not in given and c.name not in made(table))
    whole = replace(query, items=(*query.items, *(_item(c, exp.Null()) for c in absent)))
    items = [_item(c, made(table).get(c.name)) for c in table.shown]
    return Query(tuple(items), Subquery(whole, table.name, query.span), span=query.span)


def _written(table: Source) -> tuple[Column, ...]:
    """All columns of a record: the hidden key, too."""
    return table.schema.columns


def _numbered(table: Source) -> Iterable[tuple[int, Column]]:
    return enumerate(table.schema.key)


def _column(name: str, of: str | None = None) -> Expression:
    table = exp.Identifier(this=of, quoted=True) if of is not None else None
    return exp.Column(this=exp.Identifier(this=name, quoted=True), table=table)


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
    relation: Relation = SourceRef(statement.target, statement.alias, statement.span)
    once: tuple[Expression, ...] = ()
    if isinstance(statement, Update) and statement.relation is not None:
        relation = Join(relation, statement.relation, JoinType.CROSS, None, span=statement.span)
        table = planning.catalog.sources[statement.target]
        of = statement.alias or statement.target
        once = tuple(_column(column.name, of) for column in table.schema.key)
    query = Query(
        tuple(items), relation, where=statement.where, distinct_on=once, span=statement.span
    )
    return _planned(query, planning)


def _planned(query: Query, planning: Planning) -> PullPlan:
    """The plan of a query with the meaning of standard SQL."""
    planning = replace(planning, session=standard(planning.session))
    planned = plan_statement(SelectQuery(query, text=to_sql(query), span=query.span), planning)
    assert isinstance(planned, PullPlan)
    return planned
