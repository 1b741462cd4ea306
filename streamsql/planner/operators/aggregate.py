"""Aggregate: GROUP BY."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from streamsql.nodes import Emit, Window
from streamsql.planner.operators.operator import Named, Operator, columns_of
from streamsql.schema import ROWTIME, WINDOW_BOUNDS, Kind, Namespace, Schema


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
