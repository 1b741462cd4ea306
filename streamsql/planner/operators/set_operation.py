"""SetOperation: UNION, INTERSECT and EXCEPT."""

from __future__ import annotations

from dataclasses import dataclass, replace

from streamsql.nodes import SetOperator
from streamsql.planner.operators.edges import Transformation
from streamsql.planner.operators.lineage import Lineage
from streamsql.planner.operators.operator import Bounded, Operator
from streamsql.schema import Kind, Schema


@dataclass(frozen=True)
class SetOperation(Bounded):
    """Each row once: of both sides (UNION), of the left one if the right one has it too
    (INTERSECT), or does not have it (EXCEPT). The columns of both are the same; NULL equals
    NULL."""

    left: Operator
    right: Operator
    operator: SetOperator

    expressions = ()

    @property
    def schema(self) -> Schema:
        return self.left.schema

    @property
    def kind(self) -> Kind:
        return self.left.kind

    @property
    def line(self) -> str:
        return f"{self.operator.value.capitalize()} of rows"

    def lineage(self) -> Lineage:
        left = self.left.lineage()
        both = left | self.right.lineage()
        if self.operator is SetOperator.UNION:
            return both.influenced(both.all(self.schema, Transformation.GROUP_BY))
        # The rows are those of the left side.
        found = replace(both, columns=left.columns)
        return found.influenced(both.all(self.schema, Transformation.JOIN))

    @property
    def needs_batch(self) -> str | None:
        return f"it compares rows for {self.operator.value}"
