"""Limit: LIMIT of a push query."""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.planner.operators.operator import Operator
from streamsql.schema import Schema


@dataclass(frozen=True)
class Limit(Operator):
    """The first rows of a push query, in order of arrival."""

    input: Operator
    count: int

    @property
    def schema(self) -> Schema:
        return self.input.schema
