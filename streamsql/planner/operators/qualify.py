"""Qualify: a source's columns under its alias."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from streamsql.planner.operators.operator import Operator
from streamsql.schema import Schema


@dataclass(frozen=True)
class Qualify(Operator):
    """A side of a join: every column under its source's alias, `ALIAS.COLUMN`.

    So are the pseudo columns and window bounds; the names can clash with no other side's.
    """

    input: Operator
    alias: str

    @cached_property
    def schema(self) -> Schema:
        return Schema(tuple(replace(c, name=f"{self.alias}.{c.name}") for c in self.input.schema))
