"""Values: VALUES, or the one row of a SELECT without FROM."""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.nodes import Expression
from streamsql.planner.operators.lineage import NOTHING, Lineage
from streamsql.planner.operators.operator import Bounded
from streamsql.schema import Kind, Schema


@dataclass(frozen=True)
class Values(Bounded):
    """Rows of the statement itself: VALUES, or the one row of a SELECT without FROM."""

    rows: tuple[tuple[Expression, ...], ...]
    columns: Schema

    kind = Kind.STREAM
    needs_batch = None

    @property
    def schema(self) -> Schema:
        return self.columns

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return tuple(value for row in self.rows for value in row)

    @property
    def line(self) -> str:
        count = f"{len(self.rows)} row{'' if len(self.rows) == 1 else 's'}"
        return f"Values: {count}" if self.schema.columns else "One row"

    def lineage(self) -> Lineage:
        return Lineage({column.name: NOTHING for column in self.schema})
