"""FlatMap: table functions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from streamsql.nodes import Expression
from streamsql.planner.operators.items import Named, columns_of, named_text
from streamsql.planner.operators.lineage import Lineage
from streamsql.planner.operators.operator import RowByRow
from streamsql.planner.operators.parts import Part, Reading
from streamsql.schema import Namespace, Schema


@dataclass(frozen=True)
class FlatMap(RowByRow):
    """Table functions, zipped: as many rows as the longest result, short ones padded with null.

    Adds a VALUE column per function to the input's; each expression is a typed call.
    """

    functions: tuple[Named, ...]

    @cached_property
    def schema(self) -> Schema:
        return Schema((*self.input.schema.columns, *columns_of(self.functions, Namespace.VALUE)))

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return tuple(item.expression for item in self.functions)

    @property
    def line(self) -> str:
        return f"FlatMap {named_text(self.functions)}"

    def lineage(self) -> Lineage:
        found = self.input.lineage()
        return found.adding(found.made(self.functions))

    def parts(self, at: Reading) -> Iterator[Part]:
        yield from self.input.parts(at)
        yield at.part("table functions", "", at.texts(self.functions))
        at.adds(at.stand_for(self.functions))
