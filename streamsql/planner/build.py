"""From a query to its logical plan, up to the Project that makes the result's columns.

The clauses take effect in the order FROM, WHERE, PARTITION BY or GROUP BY and HAVING, table
functions, SELECT. What is written where is decided elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from streamsql.catalog import Catalog
from streamsql.errors import CatalogError, PlanError, UnsupportedError
from streamsql.formats import format_named
from streamsql.nodes import (
    Emit,
    Expression,
    Join,
    Query,
    Relation,
    SelectExpression,
    SourceRef,
)
from streamsql.planner.aggregation import build_aggregation
from streamsql.planner.bind import (
    aggregates_in,
    bind,
    column_node,
    resolve_names,
    table_functions_in,
)
from streamsql.planner.infer import require_boolean
from streamsql.planner.logical import Filter, LogicalPlan, Project, Scan
from streamsql.planner.partitioning import build_partitioning
from streamsql.planner.projection import Keys, check_stored, divide, project
from streamsql.planner.scope import Scope
from streamsql.planner.select_items import column_items, select_items
from streamsql.planner.spans import span_of
from streamsql.planner.table_functions import check_table_functions, flat_map
from streamsql.planner.text import expression_text
from streamsql.planner.windows import complete_window, key_window
from streamsql.schema import WINDOW_BOUNDS, KeyWindow, Kind
from streamsql.types import quote


@dataclass(frozen=True)
class Built:
    """A query's operators, without a sink; `columns` in the order of the SELECT."""

    root: Project
    scan: Scan
    columns: tuple[str, ...]
    window: KeyWindow | None
    """How the result's key is windowed."""
    retention_ms: int | None = None
    """How long the windows of a windowed aggregation are to be kept; None: for ever."""


def build_query(query: Query, catalog: Catalog, sink: str | None) -> Built:
    """The plan of a query whose result is stored in `sink`, or shown (None)."""
    scan = build_scan(query.relation, catalog)
    _check_source(scan, sink)
    windowed = query.window is not None
    scope = Scope(scan.alias, scan.schema, windowed, catalog.types)
    if _is_aggregation(query):
        _check_groupable(scan, query)
        asked = query.window.retention if query.window else None
        window = complete_window(query.window) if query.window else None
        query = replace(query, window=window)
        root, columns = build_aggregation(query, scope, _where(query, scan, scope), sink)
        if window is None:
            return Built(root, scan, columns, None)
        return Built(root, scan, columns, key_window(window), asked.ms if asked else None)
    _check_no_aggregation(query)
    root, columns = (
        build_partitioning(query, scope, scan, _where(query, scan, scope), sink)
        if query.partition_by
        else _build_plain(query, scope, scan, _where(query, scan, scope), sink)
    )
    return Built(root, scan, columns, scan.source.topic.window)


def build_scan(relation: Relation, catalog: Catalog) -> Scan:
    """FROM: its source must exist."""
    if isinstance(relation, Join):
        build_scan(relation.left, catalog)
        build_scan(relation.right, catalog)
        raise UnsupportedError(
            "JOIN is not supported yet",
            hint="Queries read one stream or table for now.",
            span=relation.span,
        )
    assert isinstance(relation, SourceRef)
    try:
        source = catalog.get(relation.name)
    except CatalogError as error:
        error.span = relation.span
        raise
    return Scan(source, relation.alias or relation.name)


def _check_source(scan: Scan, sink: str | None) -> None:
    if sink is not None and scan.kind is Kind.TABLE and scan.source.is_windowed:
        raise PlanError(
            "KSQL does not support persistent queries on windowed tables.",
            hint="Select from the stream that the table is made of.",
        )


def _is_aggregation(query: Query) -> bool:
    selected = [i.expression for i in query.items if isinstance(i, SelectExpression)]
    having = [query.having] if query.having is not None else []
    return bool(query.group_by) or any(aggregates_in(e) for e in [*selected, *having])


def _check_groupable(scan: Scan, query: Query) -> None:
    name = scan.source.topic.value_format.name
    if query.group_by and not format_named(name).regroups:
        raise PlanError(
            f"Source(s) {quote(scan.source.name)} are using the '{name}' value format. "
            "This format does not yet support GROUP BY.",
            hint="Copy the stream into another format first: "
            "CREATE STREAM X WITH (VALUE_FORMAT='JSON') AS SELECT ..",
            span=query.span,
        )


def _check_no_aggregation(query: Query) -> None:
    """Clauses that need a GROUP BY."""
    if query.window is not None:
        raise PlanError(
            "WINDOW clause requires a GROUP BY clause.",
            hint="Add GROUP BY and an aggregate function such as COUNT(*).",
            span=query.window.span,
        )
    if query.having is not None:
        raise PlanError(
            "HAVING requires a GROUP BY clause.",
            hint="Use WHERE to choose rows.",
            span=span_of(query.having),
        )
    if query.emit is Emit.FINAL:
        raise PlanError(
            "EMIT FINAL is only supported for windowed aggregations.",
            hint="Use EMIT CHANGES, or add a WINDOW and a GROUP BY clause.",
            span=query.span,
        )


def _where(query: Query, scan: Scan, scope: Scope) -> LogicalPlan:
    if query.where is None:
        return scan
    return Filter(scan, bind_condition(query.where, scope, "WHERE"))


def bind_condition(expression: Expression, scope: Scope, clause: str) -> Expression:
    """A bound BOOLEAN expression without aggregates and table functions."""
    resolve_names(expression, scope, clause)
    for call in aggregates_in(expression):
        raise PlanError(
            f"Aggregate functions are not allowed in the {clause} clause: {expression_text(call)}",
            hint="Conditions on aggregates belong into HAVING.",
            span=span_of(call),
        )
    for call in table_functions_in(expression):
        raise PlanError(
            f"Table functions are not allowed in the {clause} clause: {expression_text(call)}",
            hint="Write the table function's result to a stream first, and filter that.",
            span=span_of(call),
        )
    bound = bind(expression, scope, clause)
    require_boolean(bound, clause)
    return bound


def _build_plain(
    query: Query, scope: Scope, scan: Scan, source: LogicalPlan, sink: str | None
) -> tuple[Project, tuple[str, ...]]:
    """Rows that keep their key: projection, filter, table functions."""
    star = column_items(scope, star_columns(scan, sink))
    items = select_items(query, scope, star, persistent=sink is not None)
    key_columns = scan.source.schema.key
    keys = Keys(tuple(column_node(c) for c in key_columns), "key column", scope.alias)
    check_table_functions(items, scan.kind)
    selected = divide(items, keys)
    if sink is not None:
        check_stored(selected, keys, sink, query.span)
    flattened, selected = flat_map(source, selected)
    return project(flattened, selected), tuple(item.name for item in items)


def star_columns(scan: Scan, sink: str | None) -> list[str]:
    """The columns of `*`: keys, the window's bounds (of a result that is shown), the others."""
    schema = scan.source.schema
    bounds = WINDOW_BOUNDS if scan.source.is_windowed and sink is None else ()
    rest = [c for c in schema if c not in schema.key]
    return [c.name for c in (*schema.key, *bounds, *rest)]
