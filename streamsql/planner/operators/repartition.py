"""Repartition: PARTITION BY."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from streamsql.nodes import Expression
from streamsql.planner.operators.items import Named, columns_of, named_text
from streamsql.planner.operators.lineage import Lineage
from streamsql.planner.operators.operator import Keys, RowByRow
from streamsql.planner.operators.parts import Part, Reading, types_of
from streamsql.schema import Column, Namespace, Schema


@dataclass(frozen=True)
class Repartition(RowByRow):
    """PARTITION BY: new key columns, the old ones become value columns; none: a keyless stream."""

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

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return tuple(item.expression for item in self.keys)

    @property
    def line(self) -> str:
        return f"Repartition by {named_text(self.keys)}"

    def lineage(self) -> Lineage:
        found = self.input.lineage()
        return found.adding(found.made(self.keys))

    def parts(self, at: Reading) -> Iterator[Part]:
        yield from self.input.parts(at)
        types = types_of(key.expression for key in self.keys)
        yield at.part("PARTITION BY", "", at.texts(self.keys), types)
        at.adds(at.stand_for(self.keys))

    def keys_made(self, keys: Keys) -> Keys:
        return {}
