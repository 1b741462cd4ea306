"""SESSION frames of window functions: the rows around a row, of which each is at most a gap from
the next one in the order.

They become partitions: a session's number is that of the gaps before it in its partition."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from streamsql import types
from streamsql.errors import PlanError
from streamsql.nodes import Expression
from streamsql.planner.relational import intervals, typing
from streamsql.planner.relational.algebra import Field, Relation, WindowFunctions
from streamsql.planner.relational.binder.grouping import projected
from streamsql.planner.relational.expressions import (
    Ids,
    column,
    compare,
    disjunction,
    is_null,
    number,
    operand,
    typed,
)
from streamsql.planner.relational.typing import coerced, kind_of
from streamsql.planner.scopes.spans import span_of
from streamsql.types import BIGINT, DATE, INTERVAL, TIMESTAMP

_WHOLE = {"start_side": "PRECEDING", "end_side": "FOLLOWING"}


def gap_of(window: exp.Window) -> Expression | None:
    """The gap of a SESSION frame; None: the window has another frame."""
    spec = window.args.get("spec")
    if spec is None or spec.args["kind"] != "SESSION":
        return None
    gap: Expression = spec.args["start"]
    return gap


def gap(spec: exp.WindowSpec, bound: Expression, order: Sequence[exp.Ordered]) -> Expression:
    """The gap as what the order counts in."""
    if len(order) != 1:
        raise PlanError(
            "a SESSION frame takes one ORDER BY, whose values the gap is between",
            hint="For example OVER (PARTITION BY id ORDER BY at SESSION WITH GAP INTERVAL '10' "
            "MINUTE).",
            span=span_of(spec),
        )
    kind = kind_of(order[0].this)
    if typing.is_open(kind_of(bound)):
        bound = coerced(bound, kind if types.is_numeric(kind) else INTERVAL)
    times = kind in (TIMESTAMP, DATE) and bound.type == INTERVAL
    if not times and not (types.is_numeric(kind) and types.is_numeric(kind_of(bound))):
        raise PlanError(
            f"a SESSION frame in the order of {typing.name(kind)} takes no gap of "
            f"{typing.name(kind_of(bound))}",
            hint="Between times it is an INTERVAL, and between numbers a number.",
            span=span_of(spec),
        )
    length = intervals.constant(bound) if times else None
    if length is not None and min(length.months, length.days, length.micros) < 0:
        raise PlanError("the gap of a SESSION frame is not negative", span=span_of(spec))
    return bound


def numbered(
    ids: Ids, relation: Relation, partition: Sequence[Field], window: exp.Window
) -> tuple[Relation, Field]:
    """The relation with the number of each row's session in its partition."""
    distance, (item,) = gap_of(window), window.args["order"].expressions
    assert distance is not None
    relation, (at,) = projected(ids, relation, [item.this])
    ordered = item.copy()
    ordered.set("this", column(at))
    keys = tuple(dict.fromkeys(partition))

    def over(call: Expression, kind: types.SQLType) -> Expression:
        order = exp.Order(expressions=[ordered.copy()])
        of = [column(field) for field in keys]
        return typed(exp.Window(this=typed(call, kind), partition_by=of, order=order), kind)

    before, session = ids.field("BEFORE", at.type), ids.field("SESSION", BIGINT)
    relation = WindowFunctions(relation, keys, ((before, over(exp.Lag(this=column(at)), at.type)),))
    later, earlier = (before, at) if item.args.get("desc") else (at, before)
    kind = TIMESTAMP if at.type == DATE else at.type
    end = typed(
        exp.Add(this=coerced(column(earlier), kind), expression=operand(distance.copy())), kind
    )
    begins = disjunction(
        [
            compare(exp.GT, coerced(column(later), kind), end),
            compare(exp.NEQ, is_null(column(at)), is_null(column(before))),
        ]
    )
    first = typed(exp.Case(ifs=[exp.If(this=begins, true=number(1))]), types.INT)
    gaps = over(exp.Count(this=first), BIGINT)
    return WindowFunctions(relation, keys, ((session, gaps),)), session


def framed(window: exp.Window) -> exp.Window:
    """The window, whose SESSION frame is all of its partition."""
    found = window.copy()
    if gap_of(window) is not None:
        spec = exp.WindowSpec(kind="ROWS", start="UNBOUNDED", end="UNBOUNDED", **_WHOLE)
        found.set("spec", spec)
    return found
