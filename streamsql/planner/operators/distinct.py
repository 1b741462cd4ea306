"""Distinct: SELECT DISTINCT."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from streamsql.nodes import Window
from streamsql.planner.operators.edges import Transformation
from streamsql.planner.operators.lineage import Lineage
from streamsql.planner.operators.operator import Deletions, Keys, Operator, StateStore
from streamsql.planner.operators.parts import Part, Reading
from streamsql.planner.windows import span_text, window_text
from streamsql.schema import Kind, Schema


@dataclass(frozen=True)
class Distinct(Operator):
    """The first of a stream's rows with the same values; with a window, the first in each."""

    input: Operator
    window: Window | None = None

    expressions = ()
    obstacles = ()
    deletions = Deletions.PASSED_ON
    time_decides = False
    knows_cause = False
    needs_batch = None
    differs_in_batch = None

    @property
    def schema(self) -> Schema:
        return self.input.schema

    @property
    def kind(self) -> Kind:
        return self.input.kind

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
            kept = span_text(grace) if grace else "no time"
            growth = f"a window expires {kept} after its end"
            yield StateStore("rows seen", f"{columns} and window", growth)

    def identity(self, root: Operator) -> Iterable[str]:
        window = f" in {self.window.size.ms}" if self.window else ""
        yield f"distinct {', '.join(self.schema.names)}{window}"

    def parts(self, at: Reading) -> Iterator[Part]:
        yield from self.input.parts(at.behind())
        columns = at.columns(self.schema)
        window = f" in windows of {span_text(self.window.size.ms)}" if self.window else ""
        text = ", ".join(written for written, _ in columns.values()) + window
        types = tuple(column.type for column in self.schema)
        yield at.part("DISTINCT", "", text, types, names=", ".join(columns))
        if self.window and self.window.grace is not None:
            yield at.part("GRACE PERIOD", "", span_text(self.window.grace.ms))

    def keyed_sources(self, keys: Keys) -> Iterable[str]:
        names = set(self.schema.names)
        return (source for source, columns in keys.items() if columns & names)
