"""Distinct: SELECT DISTINCT."""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.nodes import Window
from streamsql.planner.operators.edges import Transformation
from streamsql.planner.operators.lineage import Lineage
from streamsql.planner.operators.operator import Binding, Operator
from streamsql.planner.windows import window_text
from streamsql.schema import Kind, Schema


@dataclass(frozen=True)
class Distinct(Operator):
    """The first of a stream's rows with the same values; with a window, the first in each."""

    input: Operator
    window: Window | None = None

    @property
    def schema(self) -> Schema:
        return self.input.schema

    @property
    def kind(self) -> Kind:
        return self.input.kind

    @property
    def bindings(self) -> tuple[Binding, ...]:
        return ()

    @property
    def line(self) -> str:
        return "Distinct" + (f" in each {window_text(self.window)}" if self.window else "")

    def lineage(self) -> Lineage:
        found = self.input.lineage()
        same = found.all(self.schema, Transformation.GROUP_BY)
        return found.influenced(same, found.windowed(self.window))
