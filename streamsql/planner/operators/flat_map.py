"""FlatMap: table functions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from streamsql.planner.operators.operator import Named, Operator, columns_of
from streamsql.schema import Namespace, Schema


@dataclass(frozen=True)
class FlatMap(Operator):
    """Table functions, zipped: as many rows as the longest result, short ones padded with null.

    Adds a VALUE column per function to the input's; each expression is a typed call.
    """

    input: Operator
    functions: tuple[Named, ...]

    @cached_property
    def schema(self) -> Schema:
        return Schema((*self.input.schema.columns, *columns_of(self.functions, Namespace.VALUE)))
