"""Over: OVER (..), columns computed from the rows before a row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from streamsql.nodes import Expression
from streamsql.planner.operators.aggregate import keeps_values, micro_batch_only
from streamsql.planner.operators.edges import Transformation, over
from streamsql.planner.operators.items import Ordering, order_text
from streamsql.planner.operators.lineage import Lineage, edges_of
from streamsql.planner.operators.operator import Deletions, Keys, Operator, StateStore, reading
from streamsql.planner.operators.parts import Part, Reading, types_of
from streamsql.planner.scopes.text import expression_text
from streamsql.planner.windows import grace_text, span_text
from streamsql.schema import ROWTIME, Column, Kind, Namespace, Schema
from streamsql.types import quote, type_of


@dataclass(frozen=True)
class Frame:
    """The rows before a row that its frame includes: all, or `rows` of them, or those of the last
    `ms`. With `peers` also all rows of the same time."""

    rows: int | None = None
    ms: int | None = None
    peers: bool = False

    @property
    def unbounded(self) -> bool:
        """Whether no row ever leaves it."""
        return self.rows is None and self.ms is None


@dataclass(frozen=True)
class OverCall:
    """A column of OVER: an aggregate's call over a frame; or, with a `lag`, an expression's value
    `lag` rows before, else the default."""

    name: str
    expression: Expression
    frame: Frame = Frame()
    lag: int = 0
    default: Expression | None = None

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return (self.expression,) if self.default is None else (self.expression, self.default)


@dataclass(frozen=True)
class Over(Operator):
    """Rows with columns computed from earlier rows of the same keys, in time order.

    `grace_ms`: how long a row waits for earlier ones; None: it does not, and one that arrives after
    a later one is late. Bounded rows may have another `order`; in an empty one all are equal.
    """

    input: Operator
    keys: tuple[Expression, ...]
    calls: tuple[OverCall, ...]
    grace_ms: int | None = None
    order: tuple[Ordering, ...] | None = None

    deletions = Deletions.PASSED_ON
    time_decides = False
    knows_cause = False
    differs_in_batch = "OVER drops late rows, and a batch reads all rows in order"

    @cached_property
    def schema(self) -> Schema:
        made = (Column(c.name, type_of(c.expression), Namespace.VALUE) for c in self.calls)
        return Schema((*self.input.schema.columns, *made))

    @property
    def kind(self) -> Kind:
        return self.input.kind

    @property
    def expressions(self) -> tuple[Expression, ...]:
        orders = (order.expression for order in self.order or ())
        calls = (expression for call in self.calls for expression in call.expressions)
        return (*self.keys, *calls, *orders)

    @property
    def line(self) -> str:
        keys = self._keys_text
        of = f" of each {keys}" if keys else ""
        if self.order:
            of += f" by {order_text(self.order)}"
        grace = grace_text(self.grace_ms)
        rows = "all rows" if self.order == () else "the rows before"
        return f"Over {rows}{of}{grace}: {', '.join(map(over_text, self.calls))}"

    def lineage(self) -> Lineage:
        found = self.input.lineage()
        order = over(Transformation.SORT, found.column(ROWTIME.name))
        if self.order is not None:
            order = found.influences_of(Transformation.SORT, (o.expression for o in self.order))
        groups = found.influences_of(Transformation.GROUP_BY, self.keys)
        # The window decides about the value, not about rows.
        made = ((call.name, edges_of(call.expression, found.columns)) for call in self.calls)
        return found.adding({name: edges | order | groups for name, edges in made})

    def stores(self, root: Operator) -> Iterable[StateStore]:
        keys = self._keys_text
        kept = list(dict.fromkeys(map(_beside, self.calls)))
        growing = [
            call.expression.name
            for call in self._aggregates
            if call.frame.unbounded and keeps_values(call.expression.name, Kind.STREAM)
        ]
        rows = f"; an entry grows with its rows: {', '.join(growing)}" if growing else ""
        spans = [call.frame.ms for call in self._aggregates if call.frame.ms is not None]
        if len(spans) == len(self.calls):
            ms = max(spans) + (self.grace_ms or 0)
            growth = f"an entry expires {span_text(ms)} after its last row"
        else:
            growth = "grows with the number of distinct keys" if keys else "does not grow"
        yield StateStore(" and ".join(kept), keys, growth + rows)
        yield from waiting_rows(self.grace_ms, keys)

    def identity(self, root: Operator) -> Iterable[str]:
        yield f"over {self._keys_text} by time, {self.grace_ms}"
        for call in self.calls:
            frame = (call.lag, call.frame.rows, call.frame.ms, call.frame.peers)
            yield f"{expression_text(call.expression)} over {frame}"

    @property
    def obstacles(self) -> Iterable[str]:
        yield from waits_for_times("OVER", self.grace_ms)
        yield from micro_batch_only(call.expression for call in self._aggregates)

    @property
    def _aggregates(self) -> tuple[OverCall, ...]:
        return tuple(call for call in self.calls if not call.lag)

    @property
    def _keys_text(self) -> str:
        return ", ".join(map(expression_text, self.keys))

    def parts(self, at: Reading) -> Iterator[Part]:
        yield from self.input.parts(at.behind())
        keys = ", ".join(map(at.text, self.keys)) or "nothing"
        calls = ", ".join(
            at.text(call.expression)
            + (f" {call.lag} rows before" if call.lag else frame_text(call))
            for call in self.calls
        )
        types = types_of((*self.keys, *(call.expression for call in self.calls)))
        # For rows that do not wait, only the columns that the calls read are stored.
        needed = at.needed[id(self)] if self.grace_ms is not None else frozenset()
        kept = at.columns(c for c in self.input.schema if c.name in needed)
        yield at.part("OVER", "", f"{calls} PARTITION BY {keys}", types, columns=kept)
        if self.grace_ms is not None:
            yield at.part("GRACE PERIOD of OVER", "", span_text(self.grace_ms))
        at.adds({call.name: at.written_out(_meaning(call)) for call in self.calls})

    def keyed_sources(self, keys: Keys) -> Iterable[str]:
        return reading(keys, self.keys)

    @property
    def needs_batch(self) -> str | None:
        return None if self.order is None else "it orders rows for OVER"


def over_text(call: OverCall) -> str:
    """`SUM(X) ROWS 10 AS $OVER_0`."""
    text = expression_text(call.expression)
    if call.lag:
        default = f", {expression_text(call.default)}" if call.default is not None else ""
        text = f"LAG({text}, {call.lag}{default})"
    return f"{text}{frame_text(call)} AS {quote(call.name)}"


def frame_text(call: OverCall) -> str:
    """The frame of an aggregate; the default is omitted."""
    frame = call.frame
    if call.lag or frame.unbounded:
        return ""
    if frame.rows is not None:
        return f" ROWS {frame.rows}"
    return f" RANGE {span_text(frame.ms or 0)}"


def _meaning(call: OverCall) -> Expression:
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


def _beside(call: OverCall) -> str:
    if call.lag:
        return f"the last {'row' if call.lag == 1 else f'{call.lag} rows'}"
    if call.frame.unbounded:
        return "aggregates"
    if call.frame.rows is not None:
        return f"the last {call.frame.rows} rows" if call.frame.rows else "no row"
    return f"the rows of the last {span_text(call.frame.ms or 0)}"


def waiting_rows(grace_ms: int | None, keys: str) -> Iterator[StateStore]:
    """The store of rows that wait for a GRACE PERIOD."""
    if grace_ms is not None:
        waits = span_text(grace_ms) if grace_ms else "no time"
        yield StateStore("rows that wait for earlier ones", keys, f"a row waits {waits}")


def waits_for_times(clause: str, grace_ms: int | None) -> Iterator[str]:
    """Why real-time mode does not support a clause with a GRACE PERIOD."""
    if grace_ms is not None:
        yield (
            f"GRACE PERIOD in {clause} waits for times that other rows bring, which are known at "
            "the end of a batch: it lasts a minute in real-time mode"
        )
