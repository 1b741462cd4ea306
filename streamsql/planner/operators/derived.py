"""Derived: a query as a source of another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from streamsql.catalog import Source
from streamsql.planner.operators.lineage import NOTHING, Lineage
from streamsql.planner.operators.operator import Operator, RowByRow, operators
from streamsql.planner.operators.parts import Part, Reading
from streamsql.planner.operators.scan import Scan
from streamsql.schema import ROWTIME, Kind, Schema
from streamsql.types import quote


@dataclass(frozen=True)
class Derived(RowByRow):
    """The result of a query as one of the sources of another.

    `source` describes it: it has no topic of its own, but the properties that results inherit.
    """

    source: Source
    alias: str
    by_clock: bool = False  # whether the time of its rows is that of processing

    expressions = ()
    knows_cause = False

    @cached_property
    def schema(self) -> Schema:
        """As that of a Scan; a row has the position of the record that it represents."""
        return Schema((*self.source.schema.columns, *self.source.pseudo_columns))

    @property
    def kind(self) -> Kind:
        return self.source.kind

    @property
    def line(self) -> str:
        clock = ", at the time of the clock" if self.by_clock else ""
        return f"Derived {self.kind.value} {quote(self.alias)}{clock}"

    def lineage(self) -> Lineage:
        found = self.input.lineage()
        # The clock's time comes from no column.
        return found.adding({ROWTIME.name: NOTHING}) if self.by_clock else found

    def identity(self, root: Operator) -> Iterable[str]:
        return ("by the clock",) if self.by_clock else ()

    @property
    def obstacles(self) -> Iterable[str]:
        if self.by_clock:
            yield (
                "rows that are processed again are in other windows of the clock, and a batch of "
                "them lasts a minute in real-time mode"
            )

    @property
    def sources(self) -> str:
        return quote(self.source.name)

    def parts(self, at: Reading) -> Iterator[Part]:
        # A stateless subquery is equivalent to its text.
        keeps = any(map(at.keeps, operators(self.input)))
        inner = at.inside("the subquery") if keeps else at
        yield from self.input.parts(inner)
        at.means(inner.meant)
        if self.by_clock:
            yield at.part("DESCRIPTOR", "", "PROCTIME()")


Leaf = Scan | Derived
"""A source in FROM."""
