"""Sink: the topic that a query writes."""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.catalog import Source
from streamsql.nodes import ConstraintDefinition
from streamsql.planner.operators.operator import Operator
from streamsql.schema import Schema, TimestampColumn


@dataclass(frozen=True)
class Sink(Operator):
    """Rows written to the topic of `target`; `timestamp` names the column that gives their time."""

    input: Operator
    target: Source
    timestamp: TimestampColumn | None = None
    constraints: tuple[ConstraintDefinition, ...] = ()  # whose conditions are over the input's

    @property
    def schema(self) -> Schema:
        return self.target.schema
