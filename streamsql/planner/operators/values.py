"""Values: VALUES, or the one row of a SELECT without FROM."""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.nodes import Expression
from streamsql.planner.operators.operator import Operator
from streamsql.schema import Kind, Schema


@dataclass(frozen=True)
class Values(Operator):
    """Rows that the statement itself has: VALUES, or the one row of a SELECT without FROM."""

    rows: tuple[tuple[Expression, ...], ...]
    columns: Schema

    @property
    def schema(self) -> Schema:
        return self.columns

    @property
    def kind(self) -> Kind:
        return Kind.STREAM
