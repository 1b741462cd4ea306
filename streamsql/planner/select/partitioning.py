"""PARTITION BY: a stream with another key, or none."""

from __future__ import annotations

from sqlglot import exp

from streamsql.errors import PlanError
from streamsql.ksqldb import says
from streamsql.nodes import Expression, Query
from streamsql.planner.joins.scope import JoinScope
from streamsql.planner.operators import Named, Operator, Project, Repartition
from streamsql.planner.scopes.scope import Scope
from streamsql.planner.scopes.spans import span_of
from streamsql.planner.select.from_clause import From, joined_items
from streamsql.planner.select_list.items import Item, column_items, select_items
from streamsql.planner.select_list.projection import Keys, Selected, check_stored, divide, project
from streamsql.planner.select_list.table_functions import check_table_functions, flat_map
from streamsql.planner.types.binding import aggregates_in, bind, reference, table_functions_in
from streamsql.schema import PSEUDO_COLUMNS, Kind
from streamsql.types import quote


def build_partitioning(
    query: Query, source: From, rows: Operator, named: str | None, stored: str | None
) -> tuple[Project, tuple[str, ...]]:
    """The plan of a query with PARTITION BY, and its columns in the order of the SELECT."""
    _check_source(query, source)
    scope = source.scope
    expressions = _partition_expressions(query, scope)
    names = scope.names()
    by = tuple(Named(names.name_for(e), e) for e in expressions)
    repartitioned = Repartition(rows, by)
    star = _star(source, by)
    stars = {**source.stars, None: star}
    if len(source.scans) == 1:
        stars[source.origin.alias] = star
    items = select_items(query, scope, stars, persistent=named is not None)
    check_table_functions(items, source.kind)
    keys = Keys(expressions, "partitioning expression", scope.alias)
    selected = divide(items, keys)
    if stored is not None:
        check_stored(selected, keys, stored, query.span)
    selected = _over_new_keys(selected, by)
    flattened, selected = flat_map(repartitioned, selected)
    return project(flattened, selected), tuple(item.name for item in items)


def _check_source(query: Query, source: From) -> None:
    span = span_of(query.partition_by[0])
    name = source.origin.source.name
    if source.kind is Kind.TABLE:
        raise PlanError(
            f"PARTITION BY is only supported on streams: {quote(name)} is a table.",
            hint="A table's key identifies its rows; use GROUP BY to aggregate over another key.",
            span=span,
        )
    if source.window is not None:
        raise PlanError(
            "Implicit repartitioning of windowed sources is not supported.",
            detail=f"The key of {name} is windowed, and PARTITION BY would change it.",
            span=span,
            ksqldb=says("windowed-repartition"),
        )


def _partition_expressions(query: Query, scope: Scope) -> tuple[Expression, ...]:
    """The bound expressions; none of them for PARTITION BY NULL."""
    nulls = [e for e in query.partition_by if isinstance(e, exp.Null)]
    if nulls and len(query.partition_by) > 1:
        raise PlanError(
            "Cannot PARTITION BY multiple columns including NULL", span=span_of(nulls[0])
        )
    if nulls:
        return ()
    bound: list[Expression] = []
    for expression in query.partition_by:
        for call in (*aggregates_in(expression), *table_functions_in(expression)):
            raise PlanError(
                f"PARTITION BY does not support {call.name}: it is an aggregate or table function.",
                span=span_of(call),
            )
        new = bind(expression, scope, "PARTITION BY")
        if new in bound:
            raise PlanError("Duplicate PARTITION BY expression.", span=span_of(expression))
        bound.append(new)
    return tuple(bound)


def _star(source: From, by: tuple[Named, ...]) -> tuple[Named, ...]:
    if len(source.scans) > 1:
        return _joined_star(source, by)
    schema = source.origin.source.schema
    taken = {key.expression.name for key in by if isinstance(key.expression, exp.Column)}
    rest = [c.name for c in (*schema.value, *schema.headers, *schema.key) if c.name not in taken]
    return (*by, *column_items(source.scope, rest))


def _joined_star(source: From, by: tuple[Named, ...]) -> tuple[Named, ...]:
    """The same for each source in turn, including pseudo columns, as in ksqlDB."""
    assert isinstance(source.scope, JoinScope)
    rest: list[Named] = []
    for scan in source.scans:
        schema = scan.source.schema
        columns = (*schema.value, *schema.headers, *PSEUDO_COLUMNS, *schema.key)
        rest += joined_items(source.scope, scan, columns)
    made = [item for item in source.stars[None] if item.name == source.scope.key]
    starred = {item.expression: item.name for item in rest}
    keys = [Named(starred.get(key.expression, key.name), key.expression) for key in by]
    taken = [key.expression for key in keys]
    return (*keys, *(item for item in (*rest, *made) if item.expression not in taken))


def _over_new_keys(selected: Selected, by: tuple[Named, ...]) -> Selected:
    key = tuple(
        None if item is None else Item(item.name, reference(new.name, new.expression), item.span)
        for item, new in zip(selected.key, by, strict=True)
    )
    return Selected(key, selected.value)
