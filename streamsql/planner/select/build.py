"""From a query to its logical plan, up to the Project of the result's columns. The clauses take
effect in the order FROM, WHERE, PARTITION BY or GROUP BY and HAVING, table functions, SELECT."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from streamsql.catalog import Catalog
from streamsql.errors import PlanError, StreamSQLError, UnsupportedError
from streamsql.formats import format_named
from streamsql.nodes import (
    Emit,
    Expression,
    MatchRecognize,
    Query,
    SelectAll,
    SelectExpression,
    SourceRef,
    Subquery,
    Window,
    Within,
)
from streamsql.planner.joins.state_ttl import with_ttl
from streamsql.planner.operators import Derived, Distinct, Filter, Operator, Project
from streamsql.planner.scopes.scope import Scope
from streamsql.planner.scopes.spans import span_of
from streamsql.planner.scopes.text import expression_text
from streamsql.planner.select.aggregation import build_aggregation
from streamsql.planner.select.dialect import check_dialect
from streamsql.planner.select.from_clause import BuildSubquery, From, build_from
from streamsql.planner.select.matches.build import build_match
from streamsql.planner.select.named_queries import expand
from streamsql.planner.select.over import build_over, windows_of
from streamsql.planner.select.over_groups import over_groups
from streamsql.planner.select.partitioning import build_partitioning
from streamsql.planner.select.ranking import Ranking, build_ranking, find_ranking
from streamsql.planner.select.semi_joins import of_values, semi_join, split
from streamsql.planner.select.shorthand import grouped, taking_back, written_out
from streamsql.planner.select.subqueries import derived
from streamsql.planner.select.unions import Branch, combine, over
from streamsql.planner.select.window_functions import without_functions
from streamsql.planner.select_list.items import select_items
from streamsql.planner.select_list.projection import Selected, check_stored, divide, project
from streamsql.planner.select_list.table_functions import check_table_functions, flat_map
from streamsql.planner.types.binding import aggregates_in, bind, resolve_names, table_functions_in
from streamsql.planner.types.inference import require_boolean
from streamsql.planner.windows import complete_window, key_window
from streamsql.schema import KeyWindow, Kind, WindowType
from streamsql.types import quote


@dataclass(frozen=True)
class Built:
    """A query's operators, without a sink; `columns` in the order of the SELECT."""

    root: Project
    source: From
    columns: tuple[str, ...]
    window: KeyWindow | None
    """How the result's key is windowed."""
    retention_ms: int | None = None
    """Retention of a windowed aggregation's windows; None: unlimited."""


@dataclass(frozen=True)
class _Place:
    """Position of a query: `sink` is the target of the whole statement (None: transient), `inner`
    the name of a query in FROM."""

    catalog: Catalog
    sink: str | None
    inner: str | None = None
    bounded: bool = False
    """Whether the query ends at the ends of its topics: the tables that it reads do not change."""

    @property
    def named(self) -> str | None:
        return self.sink if self.inner is None else self.inner

    def stored(self, kind: Kind) -> str | None:
        """Name of the result if it requires a key: a stream in FROM, and transient results, may
        lack one."""
        if self.bounded or (self.inner is not None and kind is Kind.STREAM):
            return None
        return self.named


def build_query(
    query: Query,
    catalog: Catalog,
    sink: str | None,
    *,
    bounded: bool = False,
    ttl: Within | None = None,
) -> Built:
    """The plan of a query whose result is stored in `sink`, or transient (None); `bounded`: of a
    pull query, whose ORDER BY its planner handles; `ttl`: for stream-stream joins without
    WITHIN."""
    if not bounded:
        _check_not_ordered(query)
    check_dialect(query)
    query = expand(query, catalog.views)
    check_dialect(query)
    query = with_ttl(query, ttl)
    return _build(query, _Place(catalog, sink, bounded=bounded))


def _check_not_ordered(query: Query) -> None:
    if query.offset is not None:
        raise UnsupportedError(
            "OFFSET is only supported in pull queries (SELECT without EMIT).",
            hint="Rows come as events arrive, in no order to count by. To skip records of a topic, "
            "FROM source FROM OFFSETS ('0:20') begins to read at an offset.",
            span=query.span,
        )
    if query.order_by:
        raise UnsupportedError(
            "ORDER BY is only supported in pull queries (SELECT without EMIT).",
            hint="Rows come as events arrive. For the first rows of an order use "
            "ROW_NUMBER() OVER (..) <= n.",
            span=span_of(query.order_by[0]),
        )


def build_inner(query: Query, catalog: Catalog, name: str) -> Derived:
    # What reads the view may end.
    place = _Place(catalog, None, bounded=True)
    return _build_subquery(place, Subquery(expand(query, catalog.views), name, query.span))


def _build(query: Query, place: _Place) -> Built:
    if query.emit is Emit.ON_WINDOW_CLOSE:
        raise UnsupportedError(
            "EMIT ON WINDOW CLOSE ends the query of CREATE MATERIALIZED VIEW.",
            hint="EMIT FINAL gives the last result of each window of a stream.",
            span=query.span,
        )
    if not query.union:
        return _build_select(query, place)
    if query.emit is Emit.FINAL:
        raise PlanError(
            "EMIT FINAL is only supported for windowed aggregations.",
            hint="Use EMIT CHANGES with UNION ALL.",
            span=query.span,
        )
    # A stream that is part of the result may lack the key, as the whole may.
    inner = place if place.inner is not None else replace(place, inner=place.sink or "the result")
    built = [_build_select(select, inner) for select in (replace(query, union=()), *query.union)]
    operators = [select.set_operator for select in query.union]
    branches = [
        Branch(b.root, b.columns, b.window, select.span)
        for b, select in zip(built, (query, *query.union), strict=True)
    ]
    root, window = combine(branches, operators, bounded=place.bounded)
    if place.stored(root.kind) is not None and not root.value:
        raise PlanError(
            "The projection contains no value columns.",
            hint="Select at least one value column in addition to the key.",
            span=query.span,
        )
    return Built(root, built[0].source, built[0].columns, window)


def _build_subquery(place: _Place, subquery: Subquery | MatchRecognize) -> Derived:
    if isinstance(subquery, MatchRecognize):
        return _build_match(place, subquery)
    alias = subquery.alias or "SUBQUERY"
    try:
        built = _build(subquery.query, replace(place, inner=alias))
        made = derived(built.root, built.source, built.window, alias, subquery.span)
        return replace(made, by_clock=subquery.by_clock)
    except StreamSQLError as error:
        if subquery.view is not None:
            # Its position is in the text of the view.
            error.span = subquery.span
        raise


def _build_select(query: Query, place: _Place) -> Built:
    query = written_out(query, bounded=place.bounded)
    if query.distinct:
        return _build_distinct(query, place)
    whole = query
    query, source = _source(query, place)
    if windows_of(query) and query.group_by and place.bounded and query.window is None:
        return _build_select(over_groups(whole, source.scope), place)
    if windows_of(query):
        rows = _where(query, source, place)
        query, source = build_over(query, source, rows, bounded=place.bounded)
    scope = source.scope
    if _is_aggregation(query):
        query = grouped(query, scope)
        if isinstance(source.root, Derived) and source.kind is Kind.TABLE and not place.bounded:
            query = taking_back(query)
        _check_groupable(source, query)
        _check_keyed(query, place)
        asked = query.window.retention if query.window else None
        window = _window(query)
        query = replace(query, window=window)
        rows = _where(query, source, place)
        root, columns = build_aggregation(
            query,
            scope,
            rows,
            source.stars,
            None if place.bounded else place.named,
            inner=place.inner is not None,
            bounded=place.bounded,
        )
        if place.bounded and place.inner is not None and len(root.key) < len(query.group_by):
            root = _keyless(root)
        if window is None:
            return Built(root, source, columns, None)
        return Built(root, source, columns, key_window(window), asked.ms if asked else None)
    _check_no_aggregation(query)
    stored = place.stored(source.kind)
    rows = _where(query, source, place)
    root, columns = (
        build_partitioning(query, source, rows, place.named, stored)
        if query.partition_by
        else _build_plain(query, source, rows, place, stored)
    )
    return Built(root, source, columns, source.window)


def _source(query: Query, place: _Place) -> tuple[Query, From]:
    """FROM, and the query without the parts that FROM covers: the condition of a Top-N, and
    windows."""
    query = without_functions(query, place.catalog, bounded=place.bounded)
    build: BuildSubquery = partial(_build_subquery, place)
    ranking = find_ranking(query)
    if ranking is not None:
        query = replace(query, where=ranking.rest)
        build = partial(_build_ranking, place, ranking)
    persistent = place.sink is not None
    return query, build_from(
        query, place.catalog, place.named, build, persistent=persistent, bounded=place.bounded
    )


def _build_ranking(place: _Place, ranking: Ranking, subquery: Subquery | MatchRecognize) -> Derived:
    assert isinstance(subquery, Subquery)
    name = subquery.alias or "SUBQUERY"
    inner, source = _source(subquery.query, replace(place, inner=name))
    rows = _where(inner, source, place)
    root = build_ranking(ranking, source, rows, name, bounded=place.bounded)
    return derived(root, source, None, name, subquery.span)


def _build_match(place: _Place, match: MatchRecognize) -> Derived:
    side = match.source
    own = side.name if isinstance(side, SourceRef) else "MATCHES"
    name = match.alias or side.alias or own
    rows = Query((SelectAll(),), side, span=match.span)
    _, source = _source(rows, replace(place, inner=name))
    return derived(build_match(match, source), source, None, name, match.span)


def _build_distinct(query: Query, place: _Place) -> Built:
    if query.window is not None and query.window.type is not WindowType.TUMBLING:
        raise PlanError(
            "SELECT DISTINCT takes TUMBLING windows only.",
            hint="Each of them contains a row with the same values once.",
            span=query.window.span,
        )
    if _is_aggregation(query):
        raise PlanError(
            "SELECT DISTINCT cannot be used together with GROUP BY or aggregate functions.",
            hint="GROUP BY gives each group once already.",
            span=query.span,
        )
    built = _build_select(replace(query, distinct=False, window=None), place)
    if built.root.kind is Kind.TABLE and not place.bounded:
        raise PlanError(
            "SELECT DISTINCT is only supported on streams, and the source is a table.",
            hint="The distinct values in a table are its groups: GROUP BY them, with COUNT(*).",
            span=query.span,
        )
    return replace(built, root=over(Distinct(built.root, _window(query))))


def _window(query: Query) -> Window | None:
    return complete_window(query.window, query.emit or Emit.CHANGES) if query.window else None


def _is_aggregation(query: Query) -> bool:
    selected = [i.expression for i in query.items if isinstance(i, SelectExpression)]
    having = [query.having] if query.having is not None else []
    return bool(query.group_by) or any(aggregates_in(e) for e in [*selected, *having])


def _check_keyed(query: Query, place: _Place) -> None:
    if place.inner is not None and not query.group_by:
        raise PlanError(
            "A subquery with aggregate functions needs a GROUP BY clause.",
            hint="Its result is a table, which the grouping expressions give the key.",
            span=query.span,
        )


def _check_groupable(source: From, query: Query) -> None:
    scan = source.origin
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


def _keyless(root: Project) -> Project:
    """Part of a key identifies no row."""
    return Project(root.input, (), (*root.key, *root.value))


def _where(query: Query, source: From, place: _Place) -> Operator:
    semi_joins, rest = split(query.where, source.scope)
    rows = source.root
    if rest is not None:
        rows = Filter(rows, bind_condition(rest, source.scope, "WHERE"))
    for semi in semi_joins:
        if place.bounded and rows.kind is Kind.TABLE:
            semi = of_values(semi, place.catalog)
        rows = semi_join(rows, semi, source, partial(_build_subquery, place))
    return rows


def bind_condition(expression: Expression, scope: Scope, clause: str) -> Expression:
    """A bound BOOLEAN expression without aggregates and table functions."""
    resolve_names(expression, scope, clause)
    for call in aggregates_in(expression):
        raise PlanError(
            f"Aggregate functions are not allowed in the {clause} clause: {expression_text(call)}",
            hint="Conditions on aggregates belong in HAVING.",
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
    query: Query, source: From, rows: Operator, place: _Place, stored: str | None
) -> tuple[Project, tuple[str, ...]]:
    """Rows that keep their key: projection, filter, table functions."""
    items = select_items(query, source.scope, source.stars, persistent=place.named is not None)
    check_table_functions(items, source.kind)
    keys = source.identity.keys(items)
    selected = divide(items, keys)
    if place.bounded and place.inner is not None and None in selected.key:
        selected = Selected((), (*selected.key_items, *selected.value))
    elif stored is not None:
        source.identity.check(selected, query.span)
        check_stored(selected, keys, stored, query.span, inner=place.inner is not None)
    flattened, selected = flat_map(rows, source.identity.over(selected))
    return project(flattened, selected), tuple(item.name for item in items)
