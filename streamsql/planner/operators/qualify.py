"""Qualify: a source's columns under its alias."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from streamsql.planner.operators.lineage import Lineage
from streamsql.planner.operators.operator import Keys, RowByRow
from streamsql.planner.operators.parts import Part, Reading
from streamsql.schema import Schema
from streamsql.types import quote


@dataclass(frozen=True)
class Qualify(RowByRow):
    """A side of a join: every column under its source's alias, `ALIAS.COLUMN`.

    So are the pseudo columns and window bounds; the names can clash with no other side's.
    """

    alias: str

    expressions = ()

    @cached_property
    def schema(self) -> Schema:
        return Schema(tuple(replace(c, name=f"{self.alias}.{c.name}") for c in self.input.schema))

    @property
    def line(self) -> str:
        return f"Qualify {quote(self.alias)}"

    def lineage(self) -> Lineage:
        found = self.input.lineage()
        return found.with_columns({f"{self.alias}.{n}": e for n, e in found.columns.items()})

    def parts(self, at: Reading) -> Iterator[Part]:
        yield from self.input.parts(at)
        at.means({f"{self.alias}.{name}": meant for name, meant in at.meant.items()})

    def keys_made(self, keys: Keys) -> Keys:
        return {
            source: frozenset(f"{self.alias}.{column}" for column in columns)
            for source, columns in keys.items()
        }
