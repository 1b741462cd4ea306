"""Builds OVER: window specifications."""

from __future__ import annotations

from sqlglot import exp

from streamsql.errors import Span
from streamsql.nodes import Duration, Expression
from streamsql.parser.build.literals import at

Bound = tuple[str | Expression, str | None]
"""`UNBOUNDED`, `CURRENT ROW` or a distance, and PRECEDING or FOLLOWING."""


class OverBuilder:
    """Makes the windows of OVER of the grammar's rules."""

    def over(
        self,
        span: Span,
        call: Expression,
        partition_by: list[Expression] | None,
        order: Expression | None,
        frame: Expression | None,
        grace: Duration | None,
    ) -> Expression:
        window = exp.Window(this=call, partition_by=partition_by or [], order=order, spec=frame)
        if grace is not None:
            window.set("grace", _interval(grace, span))
        return at(window, span)

    def over_filtered(
        self,
        span: Span,
        call: Expression,
        condition: Expression,
        partition_by: list[Expression] | None,
        order: Expression | None,
        frame: Expression | None,
        grace: Duration | None,
    ) -> Expression:
        filtered = at(exp.Filter(this=call, expression=condition), span)
        return self.over(span, filtered, partition_by, order, frame, grace)

    def window_partition(self, span: Span, *keys: Expression) -> list[Expression]:
        return list(keys)

    def window_order(self, span: Span, *orders: Expression) -> Expression:
        return at(exp.Order(expressions=list(orders)), span)

    def ascending(self, span: Span, value: Expression) -> Expression:
        return at(exp.Ordered(this=value, desc=False), span)

    def descending(self, span: Span, value: Expression) -> Expression:
        return at(exp.Ordered(this=value, desc=True), span)

    # -- frames ----------------------------------------------------------------------------------

    def frame(self, span: Span, kind: str, start: Bound, end: Bound | None = None) -> Expression:
        last, last_side = end or _CURRENT
        return at(
            exp.WindowSpec(
                kind=kind, start=start[0], start_side=start[1], end=last, end_side=last_side
            ),
            span,
        )

    def rows(self, span: Span) -> str:
        return "ROWS"

    def range(self, span: Span) -> str:
        return "RANGE"

    def unbounded(self, span: Span, side: str) -> Bound:
        return "UNBOUNDED", side

    def current_row(self, span: Span) -> Bound:
        return _CURRENT

    def frame_bound(self, span: Span, distance: Expression, side: str) -> Bound:
        return distance, side

    def so_many(self, span: Span, number: str) -> Expression:
        return at(exp.Literal.number(number), span)

    def so_long(self, span: Span, duration: Duration) -> Expression:
        return _interval(duration, span)

    def preceding(self, span: Span) -> str:
        return "PRECEDING"

    def following(self, span: Span) -> str:
        return "FOLLOWING"


_CURRENT: Bound = ("CURRENT ROW", None)


def _interval(duration: Duration, span: Span) -> Expression:
    amount = exp.Literal.string(str(duration.amount))
    return at(exp.Interval(this=amount, unit=exp.Var(this=duration.unit)), span)
