"""Derived: a query as a source of another."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from streamsql.catalog import Source
from streamsql.planner.operators.operator import Operator
from streamsql.planner.operators.scan import Scan
from streamsql.schema import Kind, Schema


@dataclass(frozen=True)
class Derived(Operator):
    """The result of a query as one of the sources of another.

    `source` is what it looks like: its topic is none, but has what results inherit.
    """

    input: Operator
    source: Source
    alias: str
    by_clock: bool = False  # whether the time of its rows is when they are processed

    @cached_property
    def schema(self) -> Schema:
        """As that of a Scan; where it stands in for a record, a row has that record's place."""
        return Schema((*self.source.schema.columns, *self.source.pseudo_columns))

    @property
    def kind(self) -> Kind:
        return self.source.kind


Leaf = Scan | Derived
"""What stands in FROM."""
