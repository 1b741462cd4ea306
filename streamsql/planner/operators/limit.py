"""Limit: LIMIT of a push query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from streamsql.planner.operators.lineage import Lineage
from streamsql.planner.operators.operator import RowByRow
from streamsql.planner.operators.parts import Part, Reading
from streamsql.schema import Schema


@dataclass(frozen=True)
class Limit(RowByRow):
    """The first rows of a push query, in order of arrival."""

    count: int

    expressions = ()

    @property
    def schema(self) -> Schema:
        return self.input.schema

    @property
    def line(self) -> str:
        return f"Limit {self.count}"

    def lineage(self) -> Lineage:
        return self.input.lineage()

    def parts(self, at: Reading) -> Iterator[Part]:
        return self.input.parts(at)
