"""Aggregate: GROUP BY."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from streamsql.nodes import Emit, Expression, Window
from streamsql.planner.operators.edges import Transformation, over
from streamsql.planner.operators.items import Named, columns_of, named_text
from streamsql.planner.operators.lineage import Lineage
from streamsql.planner.operators.operator import Deletions, Keys, Operator, StateStore, reading
from streamsql.planner.operators.parts import Part, Reading, types_of
from streamsql.planner.scopes.text import expression_text
from streamsql.planner.types.binding import aggregate_function
from streamsql.planner.types.calls import COLLECTS_FOR
from streamsql.planner.windows import span_text, window_text
from streamsql.schema import ROWTIME, WINDOW_BOUNDS, Kind, Namespace, Schema, WindowType


@dataclass(frozen=True)
class Aggregate(Operator):
    """GROUP BY, windowed or not: the keys, then a column per aggregate call.

    `keys` empty: one group of all rows (push queries only). Rows with a null key are excluded.
    """

    input: Operator
    keys: tuple[Named, ...]
    aggregates: tuple[Named, ...]
    window: Window | None = None
    emit: Emit = Emit.CHANGES

    kind = Kind.TABLE
    deletions = Deletions.IGNORED
    time_decides = False
    knows_cause = False
    needs_batch = None

    @cached_property
    def schema(self) -> Schema:
        bounds = WINDOW_BOUNDS if self.window else ()
        return Schema(
            (
                *columns_of(self.keys, Namespace.KEY),
                *columns_of(self.aggregates, Namespace.VALUE),
                ROWTIME,
                *bounds,
            )
        )

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return tuple(item.expression for item in (*self.keys, *self.aggregates))

    @property
    def line(self) -> str:
        window = f" {window_text(self.window)}" if self.window else ""
        keys = named_text(self.keys) if self.keys else "all rows"
        final = ", final results only" if self.emit is Emit.FINAL else ""
        return f"Aggregate{window} by {keys}: {named_text(self.aggregates)}{final}"

    def lineage(self) -> Lineage:
        found = self.input.lineage()
        time = found.column(ROWTIME.name)
        columns = {
            ROWTIME.name: over(Transformation.AGGREGATION, time),
            **found.made((*self.keys, *self.aggregates)),
        }
        if self.window is not None:
            session = self.window.type is WindowType.SESSION
            by = Transformation.AGGREGATION if session else Transformation.TRANSFORMATION
            columns.update({bound.name: over(by, time) for bound in WINDOW_BOUNDS})
        grouped = replace(found, columns=columns)
        return grouped.influenced(found.grouped(self.keys), found.windowed(self.window))

    def stores(self, root: Operator) -> Iterable[StateStore]:
        if self.input.kind is Kind.TABLE:
            table = self.input.sources
            growth = f"grows with the keys of {table}"
            yield StateStore(f"rows of {table}", self.input.key_names, growth)
        keys = ", ".join(key.name for key in self.keys)
        calls = [
            call.expression.meta.get(COLLECTS_FOR, call.expression.name)
            for call in self.aggregates
            if keeps_values(call.expression.name, self.input.kind)
        ]
        rows = f"; an entry grows with its rows: {', '.join(dict.fromkeys(calls))}" if calls else ""
        if self.window is not None:
            yield _windows(self.window, keys, rows)
        else:
            growth = "grows with the number of distinct keys" if keys else "does not grow"
            yield StateStore("aggregates", keys, growth + rows)

    def identity(self, root: Operator) -> Iterable[str]:
        yield f"grouped by {_texts(self.keys)}: {_texts(self.aggregates)}"
        if (w := self.window) is not None:
            sizes = (size.ms if size else None for size in (w.size, w.advance, w.grace))
            yield f"in {w.type.value} windows of {[*sizes]}"

    @property
    def obstacles(self) -> Iterable[str]:
        return micro_batch_only(call.expression for call in self.aggregates)

    def parts(self, at: Reading) -> Iterator[Part]:
        yield from self.input.parts(at.behind())
        types = types_of(key.expression for key in self.keys)
        names = ", ".join(key.name for key in self.keys)
        yield at.part("GROUP BY", "", at.texts(self.keys), types, names=names)
        for call in (item.expression for item in self.aggregates):
            text, types = at.text(call), types_of((call, *call.expressions))
            yield at.part("aggregates", text, text, types, names=expression_text(call))
        if (window := self.window) is not None:
            sizes = [span_text(d.ms) for d in (window.size, window.advance) if d]
            yield at.part("WINDOW", "", f"{window.type.value} {', '.join(sizes)}")
            if window.grace is not None:
                yield at.part("GRACE PERIOD", "", span_text(window.grace.ms))
        yield at.part("EMIT", "", self.emit.value)
        at.means(at.stand_for((*self.keys, *self.aggregates)))

    def keyed_sources(self, keys: Keys) -> Iterable[str]:
        return reading(keys, (key.expression for key in self.keys))

    def keys_made(self, keys: Keys) -> Keys:
        return {}

    @property
    def differs_in_batch(self) -> str | None:
        if self.input.kind is Kind.STREAM:
            return None
        return "the query keeps empty groups of a table, and a batch has none"


def _windows(window: Window, keys: str, rows: str) -> StateStore:
    grace = window.grace.ms if window.grace else 0
    by = f"{keys} and " if keys else ""
    if window.type is WindowType.SESSION:
        kept = span_text(window.size.ms + grace)
        growth = f"a session expires {kept} after its end"
        return StateStore("aggregates", f"{by}session", growth + rows)
    overlap = ""
    if window.advance is not None:
        most = "up to " if window.type is WindowType.CUMULATING else ""
        overlap = f" ({most}{-(-window.size.ms // window.advance.ms)} windows a row)"
    growth = f"a window expires {f'{span_text(grace)} after' if grace else 'at'} its end"
    return StateStore("aggregates", f"{by}window{overlap}", growth + rows)


_OF_VALUES = ("_DISTINCT", "_EXACT", "_AGG")


_KEEPS_VALUES = frozenset({"COUNT_DISTINCT", "HISTOGRAM", "MEDIAN", "PERCENTILE"})


def keeps_values(name: str, kind: Kind) -> bool:
    """Whether an aggregate keeps the values of its rows instead of a result of fixed size."""
    if kind is Kind.TABLE and name in ("ARG_MAX", "ARG_MIN"):
        return True  # when the greatest is removed, the next one must be known
    return name.startswith("COLLECT_") or name.endswith(_OF_VALUES) or name in _KEEPS_VALUES


def micro_batch_only(calls: Iterable[Expression]) -> Iterator[str]:
    """Why real-time mode does not support the aggregates."""
    for function in map(aggregate_function, calls):
        if not function.real_time:
            yield f"the aggregate function {function.name} needs micro-batches"


def _texts(items: Iterable[Named]) -> str:
    return ", ".join(expression_text(item.expression) for item in items)
