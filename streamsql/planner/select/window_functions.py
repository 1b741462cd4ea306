"""Expands TUMBLE, HOP, CUMULATE and SESSION in FROM: GROUP BY with the bounds of the window is a
WINDOW clause; other queries see the rows of a subquery, in each of their windows."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from streamsql.catalog import Catalog
from streamsql.errors import PlanError, UnsupportedError
from streamsql.nodes import (
    WINDOW_COLUMNS,
    Duration,
    Emit,
    Expression,
    Join,
    MatchRecognize,
    Query,
    Relation,
    SelectAll,
    SelectExpression,
    SelectItem,
    Side,
    SourceRef,
    Subquery,
    TableFunction,
    ValueRows,
    Window,
    WindowFunction,
)
from streamsql.planner.scopes.scope import folded
from streamsql.planner.scopes.spans import span_of
from streamsql.planner.select.shorthand import aliases_of, changed
from streamsql.planner.types.binding import aggregates_in
from streamsql.planner.windows import STEP, complete_window
from streamsql.schema import WindowType
from streamsql.types import quote

BOUND = "bound of a window"
"""Key of the `meta` of an expression in GROUP BY that identifies the window by itself."""


def without_functions(query: Query, catalog: Catalog, *, bounded: bool) -> Query:
    """The SELECT without functions in FROM; those in its subqueries stay. `bounded`: of a pull
    query."""

    def written(relation: Relation) -> Relation:
        if isinstance(relation, Join):
            return replace(relation, left=written(relation.left), right=written(relation.right))
        return side(relation)

    def side(side: Side) -> Side:
        return _rows(timed(side)) if isinstance(side, WindowFunction) else side

    def timed(function: WindowFunction) -> WindowFunction:
        if function.time is None:
            return _by_clock(function, bounded=bounded)
        _check_time(function, function.time, catalog)
        return function

    if isinstance(query.relation, WindowFunction) and _groups_by_window(query, query.relation):
        return _with_clause(query, timed(query.relation))
    return replace(query, relation=written(query.relation))


_CLOCK_GRACE = Duration(1, "MINUTE")
"""The tolerated difference of clocks: rows that are processed later are not late."""


def _by_clock(function: WindowFunction, *, bounded: bool) -> WindowFunction:
    if bounded:
        raise UnsupportedError(
            "a pull query processes all rows at one time, which makes no windows by PROCTIME()",
            hint="Give the rows' own time: DESCRIPTOR(ROWTIME).",
            span=function.span,
        )
    query = Query((SelectAll(),), function.source, span=function.span)
    source = Subquery(query, _name(function), function.span, by_clock=True)
    return replace(function, source=source)


# -- GROUP BY with the window ---------------------------------------------------------------------


def _groups_by_window(query: Query, function: WindowFunction) -> bool:
    return any(_bound(_meant(e, query), function) for e in query.group_by)


def _meant(expression: Expression, query: Query) -> Expression:
    """The expression of a column given by number or alias."""
    if isinstance(expression, exp.Literal) and not expression.is_string:
        place = int(expression.name) - 1 if expression.name.isdecimal() else -1
        item = query.items[place] if 0 <= place < len(query.items) else None
        return item.expression if isinstance(item, SelectExpression) else expression
    if isinstance(expression, exp.Column) and not expression.table:
        return aliases_of(query).get(expression.name, expression)
    return expression


def _bound(expression: Expression, function: WindowFunction) -> str | None:
    if not isinstance(expression, exp.Column):
        return None
    if expression.table not in ("", _name(function)):
        return None
    return WINDOW_COLUMNS.get(expression.name)


def _name(function: WindowFunction) -> str:
    source = function.source
    own = source.name if isinstance(source, SourceRef) else source.alias
    return function.alias or own or ""


def _with_clause(query: Query, function: WindowFunction) -> Query:
    if query.window is not None:
        raise PlanError(
            "There is a window in FROM and one in the WINDOW clause.",
            hint="Leave the WINDOW clause out.",
            span=query.window.span,
        )
    rest = tuple(e for e in query.group_by if not _bound(_meant(e, query), function))
    _check_session(function, rest)
    _check_cumulating(function, query)
    _check_where(query, function)

    def written(node: Expression) -> Expression:
        bound = _bound(node, function)
        return _moment(_column(bound, node), node) if bound else node

    items = tuple(_item(item, function, query) for item in query.items)
    items = changed(items, lambda expression: expression.transform(written))
    return replace(
        query,
        items=items,
        relation=replace(function.source, alias=_name(function)),
        window=_lasting(function, query),
        group_by=rest or (_window_alone(items, function.window),),
        having=query.having and query.having.transform(written),
    )


def _lasting(function: WindowFunction, query: Query) -> Window:
    if function.time is not None or query.emit is Emit.FINAL:
        return function.window
    return replace(function.window, grace=_CLOCK_GRACE)


def _item(item: SelectItem, function: WindowFunction, query: Query) -> SelectItem:
    if isinstance(item, SelectExpression) and item.alias is None:
        if _bound(item.expression, function):
            return replace(item, alias=item.expression.name)
    return item


def _window_alone(items: tuple[SelectItem, ...], window: Window) -> Expression:
    """The bound that identifies a window: a selected one, for cumulating windows preferably the
    end."""
    start = _moment(_column("WINDOWSTART"))
    end = _moment(_column("WINDOWEND"))
    selected = [item.expression for item in items if isinstance(item, SelectExpression)]
    by_end = window.type is WindowType.CUMULATING or start not in selected
    found = end if end in selected and by_end else start
    found.meta[BOUND] = True
    return found


def _check_session(function: WindowFunction, keys: tuple[Expression, ...]) -> None:
    if function.window.type is not WindowType.SESSION:
        return
    wanted = {column.name for column in function.partition_by if isinstance(column, exp.Column)}
    found = {key.name if isinstance(key, exp.Column) else "" for key in keys}
    if wanted != found or len(function.partition_by) != len(keys):
        raise UnsupportedError(
            "the sessions of SESSION are those of groups: its PARTITION BY and GROUP BY have to "
            "name the same columns",
            hint="SESSION(TABLE source PARTITION BY key, ..) GROUP BY key, window_start, "
            "window_end.",
            span=function.span,
        )


def _check_cumulating(function: WindowFunction, query: Query) -> None:
    """A cumulating window is identified by its end."""
    bounds = {_bound(_meant(e, query), function): e for e in query.group_by}
    if function.window.type is WindowType.CUMULATING and "WINDOWEND" not in bounds:
        raise UnsupportedError(
            "the windows of CUMULATE that begin together cannot be one group",
            hint="Add window_end to the GROUP BY, which identifies them.",
            span=span_of(bounds["WINDOWSTART"]),
        )


def _check_where(query: Query, function: WindowFunction) -> None:
    for node in query.where.find_all(exp.Column) if query.where is not None else ():
        if _bound(node, function):
            raise UnsupportedError(
                f"WHERE cannot refer to {node.name} in a GROUP BY of the window",
                hint="HAVING can.",
                span=span_of(node),
            )


# -- the rows of windows --------------------------------------------------------------------------


def _rows(function: WindowFunction) -> Subquery:
    """One row per window; the tumbling window of a row follows from its time."""
    window = complete_window(function.window, Emit.CHANGES)
    if window.type is WindowType.SESSION:
        raise UnsupportedError(
            "rows in sessions can only be aggregated",
            hint="GROUP BY window_start, window_end, and the PARTITION BY columns of SESSION.",
            span=function.span,
        )
    size = window.size.ms
    advance = window.advance.ms if window.advance else size
    relation: SourceRef | Subquery = function.source
    where: Expression | None = None
    start = _begun(size)
    end: Expression = _later(start, size)
    if window.type is WindowType.HOPPING:
        relation = _in_windows(function, _first(size, advance), _begun(advance), advance)
        start = _column(STEP)
        end = _later(start, size)
        where = exp.GTE(this=start.copy(), expression=_number(0))
    elif window.type is WindowType.CUMULATING:
        relation = _in_windows(function, _later(_begun(advance), advance), end, advance)
        end = _column(STEP)
    bounds = zip(WINDOW_COLUMNS, (start, end), strict=True)
    items = tuple(SelectExpression(_moment(bound), name) for name, bound in bounds)
    query = Query((SelectAll(), *items), relation, where=where, span=function.span)
    return Subquery(query, _name(function), function.span)


def _begun(length: int) -> Expression:
    """The last multiple of this length up to the row's time."""
    time = _column("ROWTIME")
    return exp.Sub(this=time, expression=exp.Mod(this=time.copy(), expression=_number(length)))


def _later(moment: Expression, length: int) -> Expression:
    return exp.Add(this=moment.copy(), expression=_number(length))


def _first(size: int, advance: int) -> Expression:
    """The start of the first hopping window that ends after the row."""
    into = exp.Mod(this=_column("ROWTIME"), expression=_number(advance))
    behind = exp.Div(
        this=exp.Sub(this=_number(size - 1), expression=into), expression=_number(advance)
    )
    return exp.Sub(
        this=_begun(advance), expression=exp.Mul(this=behind, expression=_number(advance))
    )


def _in_windows(
    function: WindowFunction, first: Expression, last: Expression, advance: int
) -> Subquery:
    """One row for each window of a row, identified by STEP."""
    bounds = [first, last.copy(), _number(advance)]
    series = exp.Anonymous(this="GENERATE_SERIES", expressions=bounds)
    steps = SelectExpression(exp.Anonymous(this="EXPLODE", expressions=[series]), STEP)
    query = Query((SelectAll(), steps), function.source, span=function.span)
    return Subquery(query, _name(function), function.span)


# -- the time of windows --------------------------------------------------------------------------


def _check_time(function: WindowFunction, name: str, catalog: Catalog) -> None:
    if _is_time(function.source, name, catalog):
        return
    raise UnsupportedError(
        f"windows go by the time of records, and {name} of {quote(_name(function))} is "
        "not known to be that",
        hint=f"Write DESCRIPTOR(ROWTIME), or declare the stream WITH (TIMESTAMP='{name}').",
        span=function.span,
    )


def _is_time(side: Relation, name: str, catalog: Catalog) -> bool:
    """Whether the column is the event time of its source."""
    if name == "ROWTIME":
        return True
    if isinstance(side, WindowFunction):
        return _is_time(side.source, name, catalog)
    if isinstance(side, SourceRef):
        source = catalog.sources.get(side.name) or catalog.get(folded(side.name))
        return source.timestamp is not None and source.timestamp.name == name
    if isinstance(side, ValueRows | Join | MatchRecognize | TableFunction):
        return False
    query = side.query
    if side.by_clock or query.union or query.distinct or query.group_by or _aggregates(query):
        return False
    return any(_passes(item, name, query, catalog) for item in query.items)


def _passes(item: SelectItem, name: str, query: Query, catalog: Catalog) -> bool:
    if isinstance(item, SelectAll):
        return _is_time(query.relation, name, catalog)
    if not isinstance(item, SelectExpression) or not isinstance(item.expression, exp.Column):
        return False
    column = item.expression.name
    return (item.alias or column) == name and _is_time(query.relation, column, catalog)


def _aggregates(query: Query) -> bool:
    items = (item.expression for item in query.items if isinstance(item, SelectExpression))
    return any(aggregates_in(expression) for expression in items)


# -- expressions ----------------------------------------------------------------------------------


def _column(name: str, like: Expression | None = None) -> Expression:
    column = exp.Column(this=exp.to_identifier(name, quoted=True))
    if like is not None:
        column.meta.update(like.meta)
    return column


def _moment(ms: Expression, like: Expression | None = None) -> Expression:
    moment = exp.Anonymous(this="FROM_UNIXTIME", expressions=[ms])
    if like is not None:
        moment.meta.update(like.meta)
    return moment


def _number(value: int) -> Expression:
    return exp.Literal.number(value)
