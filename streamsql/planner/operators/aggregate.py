"""Aggregate: GROUP BY."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from streamsql.nodes import Emit, Window
from streamsql.planner.operators.edges import Transformation, over
from streamsql.planner.operators.items import Named, columns_of, named_text
from streamsql.planner.operators.lineage import Lineage
from streamsql.planner.operators.operator import Binding, Operator
from streamsql.planner.windows import window_text
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
    def kind(self) -> Kind:
        return Kind.TABLE

    @property
    def bindings(self) -> tuple[Binding, ...]:
        return self.bound_to_input(item.expression for item in (*self.keys, *self.aggregates))

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
