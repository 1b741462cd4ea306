"""Union: UNION ALL."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from streamsql.planner.operators.lineage import Lineage
from streamsql.planner.operators.operator import Binding, Deletions, Operator, StateStore
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

    def stores(self, root: Operator) -> Iterable[StateStore]:
        return ()

    def identity(self, root: Operator) -> Iterable[str]:
        return ("union",)

    @property
    def deletions(self) -> Deletions:
        return Deletions.PASSED_ON

    def knows_cause(self, root: Operator) -> bool:
        return False

    @property
    def obstacles(self) -> Iterable[str]:
        return ()
