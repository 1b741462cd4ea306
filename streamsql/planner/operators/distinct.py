"""Distinct: SELECT DISTINCT."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from streamsql.nodes import Window
from streamsql.planner.operators.edges import Transformation
from streamsql.planner.operators.lineage import Lineage
from streamsql.planner.operators.operator import Binding, Deletions, Operator, StateStore
from streamsql.planner.windows import duration, window_text, words
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

    def stores(self, root: Operator) -> Iterable[StateStore]:
        columns = ", ".join(self.schema.names)
        if self.window is None:
            yield StateStore("rows seen", columns, "grows with the number of distinct rows")
        else:
            grace = self.window.grace.ms if self.window.grace else 0
            kept = words(duration(grace)) if grace else "no time"
            growth = f"a window goes {kept} after its end"
            yield StateStore("rows seen", f"{columns} and window", growth)

    def identity(self, root: Operator) -> Iterable[str]:
        window = f" in {self.window.size.ms}" if self.window else ""
        yield f"distinct {', '.join(self.schema.names)}{window}"

    @property
    def deletions(self) -> Deletions:
        return Deletions.PASSED_ON

    def knows_cause(self, root: Operator) -> bool:
        return False

    @property
    def obstacles(self) -> Iterable[str]:
        return ()
