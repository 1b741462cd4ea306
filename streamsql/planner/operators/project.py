"""Project: the select list."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from streamsql.nodes import Expression
from streamsql.planner.operators.items import Named, columns_of, named_text
from streamsql.planner.operators.lineage import Lineage
from streamsql.planner.operators.operator import Keys, RowByRow
from streamsql.planner.operators.parts import Part, Reading
from streamsql.planner.types.binding import columns_in
from streamsql.schema import Namespace, Schema


@dataclass(frozen=True)
class Project(RowByRow):
    """The columns of the result: the key's and the value's."""

    key: tuple[Named, ...]
    value: tuple[Named, ...]

    @cached_property
    def schema(self) -> Schema:
        return Schema(
            (*columns_of(self.key, Namespace.KEY), *columns_of(self.value, Namespace.VALUE))
        )

    @property
    def items(self) -> tuple[Named, ...]:
        return (*self.key, *self.value)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return tuple(item.expression for item in self.items)

    @property
    def line(self) -> str:
        return f"Project key: {named_text(self.key)}; value: {named_text(self.value)}"

    @property
    def details(self) -> tuple[str, ...]:
        return (f"columns: {self.schema}",)

    def lineage(self) -> Lineage:
        found = self.input.lineage()
        return found.with_columns(found.made(self.items))

    def parts(self, at: Reading) -> Iterator[Part]:
        yield from self.input.parts(at)
        at.means(at.stand_for(self.items))

    def keys_made(self, keys: Keys) -> Keys:
        read = {i.name: {c.name for c in columns_in(i.expression)} for i in self.items}
        return {
            source: frozenset(name for name, of in read.items() if of & columns)
            for source, columns in keys.items()
        }
