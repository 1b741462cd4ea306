"""Repartition: PARTITION BY."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from streamsql.planner.operators.operator import Named, Operator, columns_of
from streamsql.schema import Column, Namespace, Schema


@dataclass(frozen=True)
class Repartition(Operator):
    """PARTITION BY: new key columns, the old ones become value columns; none: a keyless stream."""

    input: Operator
    keys: tuple[Named, ...]

    @cached_property
    def schema(self) -> Schema:
        """New keys, then all columns of the input as value columns (a key that is one of them
        stays at its new place only)."""
        names = {k.name for k in self.keys}
        old = self.input.schema
        rest = [c for c in (*old.value, *old.headers, *old.key) if c.name not in names]
        return Schema(
            (
                *columns_of(self.keys, Namespace.KEY),
                *(Column(c.name, c.type, Namespace.VALUE) for c in rest),
            )
        )
