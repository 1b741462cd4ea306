"""Over: OVER (..), columns made of the rows before a row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from streamsql.nodes import Expression
from streamsql.planner.operators.edges import Transformation, over
from streamsql.planner.operators.items import Ordering, order_text
from streamsql.planner.operators.lineage import Lineage, edges_of
from streamsql.planner.operators.operator import Binding, Operator
from streamsql.planner.scopes.text import expression_text
from streamsql.planner.windows import duration, words
from streamsql.planner.windows import words as duration_text
from streamsql.schema import ROWTIME, Column, Kind, Namespace, Schema
from streamsql.types import quote, type_of


@dataclass(frozen=True)
class Frame:
    """Which rows of its partition are beside a row: all before it, or `rows` of them, or those of
    the `ms` before its time. With `peers` also all of the same time."""

    rows: int | None = None
    ms: int | None = None
    peers: bool = False

    @property
    def unbounded(self) -> bool:
        """Whether no row ever leaves it."""
        return self.rows is None and self.ms is None


@dataclass(frozen=True)
class OverCall:
    """A column that OVER makes: of an aggregate's call over a frame; or, with a `lag`, of an
    expression's value so many rows before, else the default's."""

    name: str
    expression: Expression
    frame: Frame = Frame()
    lag: int = 0
    default: Expression | None = None

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """All of its expressions."""
        return (self.expression,) if self.default is None else (self.expression, self.default)


@dataclass(frozen=True)
class Over(Operator):
    """Rows with columns made of those before them, of the same keys, in the order of their times.

    `grace_ms`: how long a row waits for earlier ones; None: it does not, and one that comes after
    a later one is late. Rows that end may have another `order`; of an empty one all are equal.
    """

    input: Operator
    keys: tuple[Expression, ...]
    calls: tuple[OverCall, ...]
    grace_ms: int | None = None
    order: tuple[Ordering, ...] | None = None

    @cached_property
    def schema(self) -> Schema:
        """The columns of the input, then those of the calls."""
        made = (Column(c.name, type_of(c.expression), Namespace.VALUE) for c in self.calls)
        return Schema((*self.input.schema.columns, *made))

    @property
    def kind(self) -> Kind:
        return self.input.kind

    @property
    def bindings(self) -> tuple[Binding, ...]:
        orders = (order.expression for order in self.order or ())
        calls = (expression for call in self.calls for expression in call.expressions)
        return self.bound_to_input((*self.keys, *calls, *orders))

    @property
    def line(self) -> str:
        keys = ", ".join(map(expression_text, self.keys))
        of = f" of each {keys}" if keys else ""
        if self.order:
            of += f" by {order_text(self.order)}"
        grace = "" if self.grace_ms is None else f" GRACE {words(duration(self.grace_ms))}"
        rows = "all rows" if self.order == () else "the rows before"
        return f"Over {rows}{of}{grace}: {', '.join(map(over_text, self.calls))}"

    def lineage(self) -> Lineage:
        found = self.input.lineage()
        order = over(Transformation.SORT, found.column(ROWTIME.name))
        if self.order is not None:
            order = found.influences_of(Transformation.SORT, (o.expression for o in self.order))
        groups = found.influences_of(Transformation.GROUP_BY, self.keys)
        # The window does not decide which rows there are, but which a value is made of.
        made = ((call.name, edges_of(call.expression, found.columns)) for call in self.calls)
        return found.adding({name: edges | order | groups for name, edges in made})


def over_text(call: OverCall) -> str:
    """`SUM(X) ROWS 10 AS $OVER_0`."""
    text = expression_text(call.expression)
    if call.lag:
        default = f", {expression_text(call.default)}" if call.default is not None else ""
        text = f"LAG({text}, {call.lag}{default})"
    return f"{text}{frame_text(call)} AS {quote(call.name)}"


def frame_text(call: OverCall) -> str:
    """The frame of an aggregate; all rows are not said."""
    frame = call.frame
    if call.lag or frame.unbounded:
        return ""
    if frame.rows is not None:
        return f" ROWS {frame.rows}"
    return f" RANGE {duration_text(duration(frame.ms or 0))}"


def meaning(call: OverCall) -> Expression:
    """What a column of OVER is, as an expression."""
    if call.lag:
        value, *default = call.expressions
        node = exp.Anonymous(
            this="LAG", expressions=[value, exp.Literal.number(call.lag), *default]
        )
    else:
        frame = [exp.Literal.string(text) for text in [frame_text(call).strip()] if text]
        node = exp.Anonymous(this="OVER", expressions=[call.expression, *frame])
    node.type = type_of(call.expression)
    return node
