"""Union: UNION ALL."""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.planner.operators.lineage import Lineage
from streamsql.planner.operators.operator import Binding, Operator
from streamsql.schema import Kind, Schema


@dataclass(frozen=True)
class Union(Operator):
    """The rows of two streams whose columns are the same."""

    left: Operator
    right: Operator

    @property
    def schema(self) -> Schema:
        return self.left.schema

    @property
    def kind(self) -> Kind:
        return self.left.kind

    @property
    def bindings(self) -> tuple[Binding, ...]:
        return ()

    @property
    def line(self) -> str:
        return "Union of all rows"

    def lineage(self) -> Lineage:
        return self.left.lineage() | self.right.lineage()
