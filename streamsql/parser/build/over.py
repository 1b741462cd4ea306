"""Builds OVER: window specifications."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lark import Token
from sqlglot import exp

from streamsql.errors import ParseError, Span
from streamsql.nodes import Duration, Expression
from streamsql.parser.build.items import with_tokens
from streamsql.parser.build.literals import at

Bound = tuple[str | Expression, str | None]
"""`UNBOUNDED`, `CURRENT ROW` or a distance, and PRECEDING or FOLLOWING."""
NamedWindow = tuple[str, exp.Window]


class OverBuilder:
    """Makes the windows of OVER of the grammar's rules."""

    def over(self, span: Span, call: Expression, window: exp.Window) -> Expression:
        return at(exp.Window(this=call, **window.args), span)

    def over_filtered(
        self, span: Span, call: Expression, condition: Expression, window: exp.Window
    ) -> Expression:
        return self.over(span, at(exp.Filter(this=call, expression=condition), span), window)

    def over_treating_nulls(
        self,
        span: Span,
        call: Expression,
        treatment: type[exp.IgnoreNulls | exp.RespectNulls],
        window: exp.Window,
    ) -> Expression:
        return self.over(span, at(treatment(this=call), span), window)

    def call_treating_nulls(
        self,
        span: Span,
        name: str,
        arguments: list[Expression],
        treatment: type[exp.IgnoreNulls | exp.RespectNulls],
    ) -> Expression:
        call = at(exp.Anonymous(this=name.upper(), expressions=arguments), span)
        return at(treatment(this=call), span)

    def nulls_ignored(self, span: Span, word: str) -> type[exp.IgnoreNulls]:
        return exp.IgnoreNulls

    def nulls_respected(self, span: Span, word: str) -> type[exp.RespectNulls]:
        return exp.RespectNulls

    def over_window(
        self,
        span: Span,
        base: str | None,
        partition_by: list[Expression] | None,
        order: Expression | None,
        frame: Expression | None,
        grace: Duration | None,
    ) -> exp.Window:
        """Without its function; `alias` is the named window that it adds to."""
        window = exp.Window(partition_by=partition_by or [], order=order, spec=frame, alias=base)
        if grace is not None:
            window.set("grace", _interval(grace, span))
        return at(window, span)

    def named_over(self, span: Span, name: str) -> exp.Window:
        return self.over_window(span, name, None, None, None, None)

    def named_window(self, span: Span, name: str, window: exp.Window) -> NamedWindow:
        return name, window

    def named_windows(self, span: Span, *windows: NamedWindow) -> dict[str, exp.Window]:
        known: dict[str, exp.Window] = {}
        for name, window in windows:
            if name in known:
                raise ParseError(f"the window {name} is defined twice", span=span)
            _resolve(window, known)
            known[name] = window
        return known

    def window_partition(self, span: Span, *keys: Expression) -> list[Expression]:
        return list(keys)

    @with_tokens
    def nulls_placed(self, span: Span, order: Expression, nulls: Token, place: Token) -> Expression:
        if nulls.upper() != "NULLS" or place.upper() not in ("FIRST", "LAST"):
            raise ParseError(
                f"'{nulls} {place}' does not belong into ORDER BY",
                hint="An expression may be followed by ASC or DESC, and NULLS FIRST or NULLS LAST.",
                span=span,
            )
        order.set("nulls_first", place.upper() == "FIRST")
        return order

    def nulls_as_usual(self, span: Span, order: Expression) -> Expression:
        return order

    def window_order(self, span: Span, *orders: Expression) -> Expression:
        return at(exp.Order(expressions=list(orders)), span)

    def ascending(self, span: Span, value: Expression) -> Expression:
        return at(exp.Ordered(this=value, desc=False), span)

    def descending(self, span: Span, value: Expression) -> Expression:
        return at(exp.Ordered(this=value, desc=True), span)

    # -- frames ----------------------------------------------------------------------------------

    def frame(self, span: Span, kind: str, start: Bound, exclude: str | None) -> Expression:
        return self.frame_between(span, kind, start, _CURRENT, exclude)

    def frame_between(
        self, span: Span, kind: str, start: Bound, end: Bound, exclude: str | None
    ) -> Expression:
        (first, first_side), (last, last_side) = start, end
        frame = exp.WindowSpec(
            kind=kind, start=first, start_side=first_side, end=last, end_side=last_side
        )
        if exclude is not None:
            frame.set("exclude", exclude)
        return at(frame, span)

    def session_frame(self, span: Span, word: str, gap: Expression) -> Expression:
        return at(exp.WindowSpec(kind="SESSION", start=gap), span)

    @with_tokens
    def exclusion(self, span: Span, *words: Token) -> str | None:
        first, *rest = (word.upper() for word in words)
        rows = " ".join(rest)
        if first != "EXCLUDE" or rows not in _EXCLUSIONS:
            raise ParseError(
                f"'{' '.join(map(str, words))}' does not belong into a frame",
                hint=f"A frame may end with EXCLUDE {', '.join(_EXCLUSIONS)}.",
                span=span,
            )
        return None if rows == "NO OTHERS" else rows

    def rows(self, span: Span) -> str:
        return "ROWS"

    def range(self, span: Span) -> str:
        return "RANGE"

    def groups(self, span: Span) -> str:
        return "GROUPS"

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
_EXCLUSIONS = ("CURRENT ROW", "GROUP", "TIES", "NO OTHERS")


def resolve_windows(expressions: Iterable[Expression], known: Mapping[str, exp.Window]) -> None:
    """Replaces, in place, the names of windows by what the WINDOW clause says of them."""
    for expression in expressions:
        for window in expression.find_all(exp.Window):
            _resolve(window, known)


def _resolve(window: exp.Window, known: Mapping[str, exp.Window]) -> None:
    """PostgreSQL's rules: the named window's PARTITION BY holds, and its ORDER BY unless the window
    has one of its own."""
    name = window.args.get("alias")
    if name is None:
        return
    base = known.get(name)
    if base is None:
        raise ParseError(f"the window {name} is not defined", span=place(window))
    window.set("alias", None)
    for part in ("partition_by", "order"):
        if (given := base.args.get(part)) and window.args.get(part):
            clause = "PARTITION BY" if part == "partition_by" else "ORDER BY"
            raise ParseError(f"the window {name} has {clause} of its own", span=place(window))
        if given:
            copied = [key.copy() for key in given] if isinstance(given, list) else given.copy()
            window.set(part, copied)
    if window.args.get("spec") is None and (frame := base.args.get("spec")) is not None:
        window.set("spec", frame.copy())


def place(node: exp.Expr) -> Span:
    return Span(*(node.meta[part] for part in ("start", "end", "line", "column")))


def _interval(duration: Duration, span: Span) -> Expression:
    amount = exp.Literal.string(str(duration.amount))
    return at(exp.Interval(this=amount, unit=exp.Var(this=duration.unit)), span)
