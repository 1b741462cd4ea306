"""Qualify: a source's columns under its alias."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from streamsql.planner.operators.lineage import Lineage
from streamsql.planner.operators.operator import Binding, RowByRow
from streamsql.schema import Schema
from streamsql.types import quote


@dataclass(frozen=True)
class Qualify(RowByRow):
    """A side of a join: every column under its source's alias, `ALIAS.COLUMN`.

    So are the pseudo columns and window bounds; the names can clash with no other side's.
    """

    alias: str

    @cached_property
    def schema(self) -> Schema:
        return Schema(tuple(replace(c, name=f"{self.alias}.{c.name}") for c in self.input.schema))

    @property
    def bindings(self) -> tuple[Binding, ...]:
        return ()

    @property
    def line(self) -> str:
        return f"Qualify {quote(self.alias)}"

    def lineage(self) -> Lineage:
        found = self.input.lineage()
        return found.with_columns({f"{self.alias}.{n}": e for n, e in found.columns.items()})
