"""Union: UNION ALL."""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.planner.operators.operator import Operator
from streamsql.schema import Schema


@dataclass(frozen=True)
class Union(Operator):
    """The rows of two streams whose columns are the same."""

    left: Operator
    right: Operator

    @property
    def schema(self) -> Schema:
        return self.left.schema
