"""Sink: the topic that a query writes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from streamsql.catalog import Source
from streamsql.nodes import ConstraintDefinition, Expression
from streamsql.planner.operators.lineage import Lineage, time_of
from streamsql.planner.operators.operator import Deletions, RowByRow
from streamsql.planner.operators.parts import Part, Reading
from streamsql.planner.operators.topics import expected_text, topic_text
from streamsql.schema import ROWTIME, Schema, TimestampColumn
from streamsql.types import quote


@dataclass(frozen=True)
class Sink(RowByRow):
    """Rows written to the topic of `target`; `timestamp` names the column that gives their time."""

    target: Source
    timestamp: TimestampColumn | None = None
    constraints: tuple[ConstraintDefinition, ...] = ()  # whose conditions are over the input's

    deletions = Deletions.WRITTEN

    @property
    def schema(self) -> Schema:
        return self.target.schema

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return tuple(constraint.condition for constraint in self.constraints)

    @property
    def line(self) -> str:
        target = f"{quote(self.target.name)}: {topic_text(self.target)}"
        return (
            f"Sink {self.target.kind.value} {target}{expected_text(self.target.expected_of_writes)}"
        )

    def lineage(self) -> Lineage:
        found = self.input.lineage()
        if self.timestamp is None:
            return found
        time = time_of(found.columns[self.timestamp.name], self.timestamp)
        return found.adding({ROWTIME.name: time})

    def parts(self, at: Reading) -> Iterator[Part]:
        yield from self.input.parts(at)
        yield from at.selected(self.input.schema)
        yield from at.constraints(self.target, self.target.expected_of_writes)
