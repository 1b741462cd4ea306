"""GAP_FILL in FROM: rows between those of a series, as a query of window functions and steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from streamsql import nodes, types
from streamsql.errors import BindError, PlanError, did_you_mean
from streamsql.nodes import Expression
from streamsql.parser import parse_one
from streamsql.planner.relational import intervals, typing
from streamsql.planner.scopes.spans import span_of
from streamsql.types import DATE, INTERVAL, TIMESTAMP, SQLType, quote
from streamsql.values.intervals import Interval

Bind = Callable[[Expression], Expression]
NAME = "GAP_FILL"
_FILLS = ("LOCF", "INTERPOLATE", "KEEP")
_NEXT = "$NEXT"
_AT = "$AT"
_FIRST = f'("{_AT}" IS NULL OR "{_AT}" = {{time}})'
"""Whether a row is the series' own: that of the first step, and that without steps."""


def query_of(
    call: Expression,
    columns: Sequence[tuple[str, SQLType]],
    bind: Bind,
) -> nodes.Query:
    """The query over the relation, which has these columns, that `call` names first."""
    if len(call.expressions) < 3:
        raise PlanError(
            "GAP_FILL takes a relation, its time column and a step",
            hint="For example GAP_FILL(readings, at, INTERVAL '1' MINUTE, LOCF(value)).",
            span=span_of(call),
        )
    named, at, step, *rest = call.expressions
    known = dict(columns)
    time = _column(at, known)
    fills, partition = _rest(rest, known, time)
    length = _step(step, bind, known[time])
    over = f"PARTITION BY {', '.join(map(quote, partition))} " if partition else ""
    following = [time, *(name for name, fill in fills.items() if fill == "INTERPOLATE")]
    leads = [
        f"LEAD({quote(name)}) OVER ({over}ORDER BY {quote(time)} NULLS LAST) "
        f"AS {quote(_NEXT + name)}"
        for name in following
    ]
    first = _FIRST.format(time=quote(time))
    items = [
        _item(name, kind, time, "LOCF" if name in partition else fills.get(name, "KEEP"))
        for name, kind in columns
    ]
    text = (
        f"SELECT {', '.join(items)} "
        f"FROM (SELECT *, {', '.join(leads)} FROM {quote(named.name)}) AS s "
        f"LEFT JOIN LATERAL GENERATE_SERIES({quote(time)}, {quote(_NEXT + time)}, "
        f"INTERVAL '{length}') AS g ({quote(_AT)}) ON TRUE "
        f"WHERE {first} OR {quote(_AT)} < {quote(_NEXT + time)}"
    )
    statement = parse_one(f"{text};")
    assert isinstance(statement, nodes.SelectQuery)
    return statement.query


def _item(name: str, kind: SQLType, time: str, fill: str) -> str:
    """The column in the rows of the relation, and in those between them."""
    own, first = quote(name), _FIRST.format(time=quote(time))
    if name == time:
        value = f"COALESCE({quote(_AT)}, {own})"
        return f"CAST({value} AS DATE) AS {own}" if kind == DATE else f"{value} AS {own}"
    if fill == "LOCF":
        return own
    between = "NULL"
    if fill == "INTERPOLATE":
        start, at, end = (
            f"EXTRACT(EPOCH FROM {quote(each)})" for each in (time, _AT, _NEXT + time)
        )
        share = f"(({at} - {start}) / ({end} - {start}))"
        value = f"{own} + ({quote(_NEXT + name)} - {own})::DOUBLE * {share}"
        between = f"CAST({value} AS {types.to_sql(kind)})"
    return f"CASE WHEN {first} THEN {own} ELSE {between} END AS {own}"


def _rest(
    rest: Sequence[Expression], known: dict[str, SQLType], time: str
) -> tuple[dict[str, str], tuple[str, ...]]:
    """How columns are filled, and the columns of PARTITION_BY."""
    fills: dict[str, str] = {}
    partition: list[str] = []
    for part in rest:
        name = part.name.upper() if isinstance(part, exp.Anonymous) else ""
        if name not in (*_FILLS, "PARTITION_BY"):
            raise PlanError(
                f"GAP_FILL does not take {part.sql()} after its step",
                hint=f"It takes {', '.join(f'{fill}(column)' for fill in _FILLS)} and "
                "PARTITION_BY(column, ..).",
                span=span_of(part),
            )
        named = [_column(each, known) for each in part.expressions]
        if again := next((each for each in named if each in (time, *fills, *partition)), None):
            raise PlanError(f"GAP_FILL names column {again} twice", span=span_of(part))
        if name == "PARTITION_BY":
            partition += named
            continue
        if len(named) != 1:
            raise PlanError(f"{name} in GAP_FILL takes one column", span=span_of(part))
        (column,) = named
        if name == "INTERPOLATE" and not types.is_numeric(known[column]):
            raise PlanError(
                f"INTERPOLATE takes a column of numbers, and {column} is "
                f"{typing.name(known[column])}",
                hint=f"LOCF({column}) repeats the last value.",
                span=span_of(part),
            )
        fills[column] = name
    return fills, tuple(partition)


def _column(node: Expression, known: dict[str, SQLType]) -> str:
    if not isinstance(node, exp.Column) or node.table:
        raise PlanError("GAP_FILL takes columns by their names", span=span_of(node))
    if node.name not in known:
        raise BindError(
            f"column {node.name} does not exist",
            hint=did_you_mean(node.name, known),
            span=span_of(node),
        )
    return str(node.name)


def _step(node: Expression, bind: Bind, kind: SQLType) -> Interval:
    """The constant step over a time of this type."""
    if kind not in (TIMESTAMP, DATE):
        raise PlanError(
            f"the time column of GAP_FILL is a TIMESTAMP or a DATE, and this one is "
            f"{typing.name(kind)}",
            span=span_of(node),
        )
    varies = node.find(exp.Column) is not None
    step = None if varies else intervals.constant(typing.coerced(bind(node), INTERVAL))
    if step is None:
        raise PlanError(
            "the step of GAP_FILL is a constant interval",
            hint="For example INTERVAL '1' MINUTE.",
            span=span_of(node),
        )
    if min(step.months, step.days, step.micros) < 0 or not step.length:
        raise PlanError("the step of GAP_FILL must be greater than zero", span=span_of(node))
    if kind == DATE and step.micros:
        raise PlanError("the step of GAP_FILL over a DATE has whole days", span=span_of(node))
    return step
