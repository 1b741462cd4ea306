"""SetOperation: UNION, INTERSECT and EXCEPT."""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.nodes import SetOperator
from streamsql.planner.operators.operator import Operator
from streamsql.schema import Schema


@dataclass(frozen=True)
class SetOperation(Operator):
    """Each row once: of both sides (UNION), of the left one that the right one has too (INTERSECT),
    or has not (EXCEPT). The columns of both are the same; NULL equals NULL."""

    left: Operator
    right: Operator
    operator: SetOperator

    @property
    def schema(self) -> Schema:
        return self.left.schema
