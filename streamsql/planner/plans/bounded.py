"""Operators of queries that end: what has no meaning for rows that go on coming."""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.nodes import Expression, SetOperator
from streamsql.planner.plans.logical import LogicalPlan
from streamsql.schema import Kind, Schema


@dataclass(frozen=True)
class Values(LogicalPlan):
    """Rows that the statement itself has: VALUES, or the one row of a SELECT without FROM."""

    rows: tuple[tuple[Expression, ...], ...]
    columns: Schema

    @property
    def schema(self) -> Schema:
        return self.columns

    @property
    def kind(self) -> Kind:
        return Kind.STREAM


@dataclass(frozen=True)
class SetOperation(LogicalPlan):
    """Each row once: of both sides (UNION), of the left one that the right one has too (INTERSECT),
    or has not (EXCEPT). The columns of both are the same; NULL equals NULL."""

    left: LogicalPlan
    right: LogicalPlan
    operator: SetOperator

    @property
    def schema(self) -> Schema:
        return self.left.schema
