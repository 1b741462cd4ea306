"""OVER: functions of the rows before a row, in the order of their times."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from streamsql.errors import PlanError, StreamSQLError, UnsupportedError
from streamsql.functions import REGISTRY
from streamsql.nodes import Emit, Expression, Query, SelectExpression
from streamsql.planner.operators import Frame, Operator, Ordering, Over, OverCall, Scan
from streamsql.planner.scopes.names import HIDDEN_PREFIX
from streamsql.planner.scopes.scope import Scope
from streamsql.planner.scopes.spans import span_of
from streamsql.planner.scopes.text import expression_text
from streamsql.planner.select.aggregation import count_rows
from streamsql.planner.select.from_clause import From
from streamsql.planner.select.shorthand import changed
from streamsql.planner.types.binding import aggregates_in, bind, is_aggregate, table_functions_in
from streamsql.planner.types.inference import coerce, is_constant
from streamsql.schema import ROWTIME, Column, Kind, Namespace, Schema
from streamsql.types import contains_map, to_sql, type_of
from streamsql.values.intervals import interval

MAX_ROWS = 10_000
"""The maximum rows of a frame or distance of LAG: all of them are read for a row."""
_ALL = Frame()
_OF_ORDER = {"FIRST_VALUE": "EARLIEST_BY_OFFSET", "LAST_VALUE": "LATEST_BY_OFFSET"}
"""The equivalents; NULLs count."""
_NOT_KNOWN = {
    "LEAD": "It needs a later row, which has not arrived. LAG(x) on that row gives the same pair.",
    "NTH_VALUE": "LAG(x, n) returns the value n rows before.",
    "RANK": "Rows are in the order of their times: ROW_NUMBER() counts them. The first of another "
    "order are WHERE RANK() OVER (..) <= n around a subquery.",
    "DENSE_RANK": "Rows are in the order of their times: ROW_NUMBER() counts them. The first of "
    "another order are WHERE DENSE_RANK() OVER (..) <= n around a subquery.",
    "NTILE": "It needs to know how many rows there will be.",
    "PERCENT_RANK": "It needs to know how many rows there will be.",
    "CUME_DIST": "It needs to know how many rows there will be.",
}


@dataclass(frozen=True)
class _Spec:
    """The common window specification of a query."""

    keys: tuple[Expression, ...]
    grace_ms: int | None
    order: tuple[Ordering, ...] | None


def windows_of(query: Query) -> list[exp.Window]:
    found: list[exp.Window] = []
    for item in query.items:
        if isinstance(item, SelectExpression):
            nodes = item.expression.find_all(exp.Window, bfs=False)
            found += [node for node in nodes if node not in found]
    return found


def build_over(query: Query, source: From, rows: Operator, *, bounded: bool) -> tuple[Query, From]:
    """The query over rows that have the columns of OVER; `rows` are those of FROM after WHERE."""
    windows = windows_of(query)
    _check_known(windows)
    _check_clauses(query, windows[0])
    _check_source(source, windows[0], bounded=bounded)
    scope = source.scope
    specs = [_spec(window, source, bounded=bounded) for window in windows]
    for window, spec in zip(windows, specs, strict=True):
        if spec != specs[0]:
            raise UnsupportedError(
                "the windows of one SELECT have the same PARTITION BY, ORDER BY and GRACE PERIOD",
                hint="Use a subquery for one of them: "
                "SELECT *, .. OVER (..) FROM (SELECT *, .. OVER (..) AS x FROM s).",
                span=span_of(window),
            )
    calls = tuple(
        _call(window, f"{HIDDEN_PREFIX}OVER_{number}", scope)
        for number, window in enumerate(windows)
    )
    _check_frames(windows, calls, specs[0])
    over = Over(rows, specs[0].keys, calls, specs[0].grace_ms, specs[0].order)
    made = (Column(c.name, type_of(c.expression), Namespace.VALUE) for c in calls)
    with_made = replace(scope, schema=Schema((*scope.schema.columns, *made)))
    names = dict(zip(windows, (call.name for call in calls), strict=True))
    items = changed(query.items, lambda e: e.transform(lambda node: _column(node, names)))
    return replace(query, items=items, where=None), replace(source, root=over, scope=with_made)


def _column(node: Expression, names: dict[exp.Window, str]) -> Expression:
    if not isinstance(node, exp.Window):
        return node
    column = exp.Column(this=exp.to_identifier(names[node], quoted=True))
    column.meta.update(node.meta)
    return column


# -- combination with other clauses --------------------------------------------------------------


def _check_known(windows: list[exp.Window]) -> None:
    for window in windows:
        name = window.this.name
        if name in _NOT_KNOWN:
            raise UnsupportedError(
                f"{name}() is not supported in OVER here",
                hint=_NOT_KNOWN[name],
                span=span_of(window),
            )


def _check_clauses(query: Query, window: exp.Window) -> None:
    selected = [i.expression for i in query.items if isinstance(i, SelectExpression)]
    grouped = query.group_by or query.having is not None or any(map(aggregates_in, selected))
    if grouped or query.window is not None or query.emit is Emit.FINAL:
        raise UnsupportedError(
            "OVER applies to the rows of a plain SELECT, without GROUP BY, HAVING, WINDOW, EMIT "
            "FINAL or "
            "aggregates",
            hint="A pull query (without EMIT) supports GROUP BY with OVER. Otherwise declare a "
            "stream over the "
            "topic of the grouped table: CREATE STREAM .. WITH (KAFKA_TOPIC='its "
            "topic', ..).",
            span=span_of(window),
        )


def _check_source(source: From, window: exp.Window, *, bounded: bool) -> None:
    if len(source.scans) > 1:
        raise UnsupportedError(
            "OVER applies to the rows of one source, without joins",
            hint="Put the join into a subquery: SELECT .. OVER (..) FROM (SELECT .. FROM a JOIN b "
            "..).",
            span=span_of(window),
        )
    if source.kind is Kind.TABLE and not bounded:
        raise UnsupportedError(
            "OVER requires a stream, and the source is a table, whose rows change",
            hint="The changes of a table are a stream: CREATE STREAM .. WITH (KAFKA_TOPIC='its "
            "topic', ..). The first rows of each group are those WHERE ROW_NUMBER() OVER (..) <= n "
            "around a subquery; a pull query (without EMIT) takes OVER.",
            span=span_of(window),
        )


def _spec(window: exp.Window, source: From, *, bounded: bool) -> _Spec:
    keys: list[Expression] = []
    for key in window.args.get("partition_by") or []:
        for call in (*aggregates_in(key), *table_functions_in(key)):
            raise PlanError(
                f"PARTITION BY of OVER does not take {expression_text(call)}: it is an aggregate "
                "or table function.",
                span=span_of(call),
            )
        bound = bind(key, source.scope, "PARTITION BY")
        if contains_map(type_of(bound)):
            raise PlanError(
                "PARTITION BY cannot compare values that contain a MAP.", span=span_of(key)
            )
        keys.append(bound)
    grace = window.args.get("grace")
    wait = None if grace is None else _milliseconds(grace)
    return _Spec(tuple(keys), wait, _order(window, source, bounded=bounded))


def _order(window: exp.Window, source: From, *, bounded: bool) -> tuple[Ordering, ...] | None:
    """An order other than time, which only bounded rows support."""
    order = window.args.get("order")
    orders = order.expressions if order is not None else []
    example = "OVER (PARTITION BY a ORDER BY ROWTIME)"
    if not orders and not bounded:
        raise PlanError(
            f"{window.this.name or 'A function'} OVER needs an ORDER BY in OVER.",
            detail="Without one, it covers all rows, including future ones.",
            hint=f"Write {example}.",
            span=span_of(window),
        )
    bound = [bind(ordered.this, source.scope, "ORDER BY") for ordered in orders]
    if len(bound) == 1 and not orders[0].args.get("desc") and is_time(bound[0], source):
        return None
    if not bounded:
        raise UnsupportedError(
            "OVER takes the rows in the order of their times only",
            hint=f"Write {example}. The first rows by another order are those "
            "WHERE ROW_NUMBER() OVER (PARTITION BY a ORDER BY b DESC) <= n around a subquery.",
            span=span_of(orders[-1].this),
        )
    for expression in bound:
        if contains_map(type_of(expression)):
            raise PlanError(
                f"ORDER BY cannot order values of type {to_sql(type_of(expression))}.",
                span=span_of(expression),
            )
    return tuple(
        Ordering(expression, bool(ordered.args.get("desc")))
        for expression, ordered in zip(bound, orders, strict=True)
    )


def is_time(bound: Expression, source: From) -> bool:
    """Whether a column is the event time of the row: ROWTIME, or its source column."""
    if not isinstance(bound, exp.Column):
        return False
    time = source.origin.source.timestamp if isinstance(source.origin, Scan) else None
    named = time is not None and not time.format and time.name == bound.name
    return named or bound.name == ROWTIME.name


# -- frames --------------------------------------------------------------------------------------


def _frame(window: exp.Window) -> Frame:
    spec = window.args.get("spec")
    if spec is None:
        return Frame(peers=True)
    sides = {spec.args["start_side"], spec.args["end_side"]}
    if "FOLLOWING" in sides or spec.args["end"] != "CURRENT ROW":
        raise UnsupportedError(
            "a frame ends with CURRENT ROW",
            hint="Following rows are in the future: use ROWS BETWEEN 10 PRECEDING AND CURRENT "
            "ROW, or LAG in the later row.",
            span=span_of(spec),
        )
    start, by_time = spec.args["start"], spec.args["kind"] == "RANGE"
    if start == "UNBOUNDED":
        return Frame(peers=by_time)
    if start == "CURRENT ROW":
        return Frame(None, 0, peers=True) if by_time else Frame(0)
    if isinstance(start, exp.Interval) is not by_time:
        raise PlanError(
            "ROWS takes a number of rows, and RANGE a length of time.",
            hint="Write ROWS 10 PRECEDING, or RANGE INTERVAL '10' MINUTE PRECEDING.",
            span=span_of(spec),
        )
    if by_time:
        return Frame(None, _milliseconds(start), peers=True)
    if int(start.name) > MAX_ROWS:
        raise PlanError(f"A frame has at most {MAX_ROWS} rows.", span=span_of(spec))
    return Frame(int(start.name))


def _check_frames(windows: list[exp.Window], calls: tuple[OverCall, ...], spec: _Spec) -> None:
    for window, call in zip(windows, calls, strict=True):
        if spec.order is not None and call.frame.ms:
            raise PlanError(
                "RANGE with a length of time is for rows in the order of their times.",
                hint="Write ORDER BY ROWTIME, or a frame of rows: ROWS 10 PRECEDING.",
                span=span_of(window),
            )


def _milliseconds(length: exp.Interval) -> int:
    unit = length.args.get("unit")
    found = interval(length.this.name, unit.name if unit else None)
    if found is None or found.months or found.millis < 0:
        raise PlanError(
            "The time of a frame must be a fixed one, of no months or years, and not negative.",
            hint="Give weeks, days, hours, minutes, seconds or milliseconds.",
            span=span_of(length),
        )
    return found.millis


# -- calls ---------------------------------------------------------------------------------------


def _call(window: exp.Window, name: str, scope: Scope) -> OverCall:
    call = window.this
    frame = _frame(window)
    for nested in call.find_all(exp.Window):
        raise PlanError(
            "OVER cannot stand inside of OVER.",
            hint="Compute the inner one in a subquery.",
            span=span_of(nested),
        )
    if call.name == "LAG":
        return _lag(window, name, scope)
    if call.name == "ROW_NUMBER":
        if call.expressions:
            raise PlanError("ROW_NUMBER() takes no arguments.", span=span_of(window))
        return OverCall(name, _aggregate(_renamed(call, "COUNT", [exp.Star()]), scope), _ALL)
    if call.name in _OF_ORDER and len(call.expressions) == 1:
        arguments = [call.expressions[0].copy(), exp.Boolean(this=False)]
        call = _renamed(call, _OF_ORDER[call.name], arguments)
    return OverCall(name, _aggregate(call, scope), frame)


def _renamed(call: Expression, name: str, arguments: list[Expression]) -> exp.Anonymous:
    renamed = exp.Anonymous(this=name, expressions=arguments)
    renamed.meta.update(call.meta)
    return renamed


def _aggregate(call: Expression, scope: Scope) -> Expression:
    if not isinstance(call, exp.Anonymous) or not REGISTRY.is_aggregate(call.name):
        raise PlanError(
            f"OVER requires an aggregate function or LAG: {expression_text(call)} is not one.",
            hint="For example SUM(x) OVER (PARTITION BY a ORDER BY ROWTIME ROWS 9 PRECEDING).",
            span=span_of(call),
        )
    bound = bind(call, scope, "SELECT")
    if not is_aggregate(bound):
        raise UnsupportedError(
            f"{call.name} is a function in Python, which OVER does not take",
            hint="Collect the values, and give them to a function in Python: "
            "f(COLLECT_LIST(x) OVER (..)).",
            span=span_of(call),
        )
    for argument in bound.expressions:
        for nested in (*aggregates_in(argument), *table_functions_in(argument)):
            raise PlanError(
                f"{expression_text(nested)} cannot be an argument of {call.name} OVER.",
                hint="Compute it in a subquery.",
                span=span_of(nested),
            )
    return count_rows(bound, scope)


def _lag(window: exp.Window, name: str, scope: Scope) -> OverCall:
    """LAG(x), LAG(x, rows), LAG(x, rows, default)."""
    arguments = window.this.expressions
    if not 1 <= len(arguments) <= 3:
        raise _misspelt_lag(window)
    value = bind(arguments[0], scope, "SELECT")
    for call in (*aggregates_in(value), *table_functions_in(value)):
        raise PlanError(
            f"{expression_text(call)} cannot be an argument of LAG.",
            hint="Compute it in a subquery.",
            span=span_of(call),
        )
    rows = 1
    if len(arguments) > 1:
        number = arguments[1]
        if not isinstance(number, exp.Literal) or not number.name.isdecimal():
            raise _misspelt_lag(window)
        rows = int(number.name)
    if not 1 <= rows <= MAX_ROWS:
        raise PlanError(f"LAG goes back 1 to {MAX_ROWS} rows.", span=span_of(window))
    default = None
    if len(arguments) > 2:
        default = _default(arguments[2], value, scope)
    return OverCall(name, value, _ALL, rows, default)


def _default(written: Expression, value: Expression, scope: Scope) -> Expression:
    default = bind(written, scope, "SELECT")
    if not is_constant(default):
        raise UnsupportedError(
            "the default of LAG is the same for all rows",
            hint="Write COALESCE(LAG(x) OVER (..), other), which takes any expression.",
            span=span_of(written),
        )
    try:
        return coerce(default, type_of(value))
    except StreamSQLError as error:
        error.span = error.span or span_of(written)
        raise


def _misspelt_lag(window: exp.Window) -> PlanError:
    return PlanError(
        "LAG takes an expression, a number of rows (1) and a default (NULL).",
        hint="For example LAG(price, 1, 0) OVER (PARTITION BY item ORDER BY ROWTIME).",
        span=span_of(window),
    )
