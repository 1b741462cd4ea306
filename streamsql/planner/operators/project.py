"""Project: the select list."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from streamsql.planner.operators.operator import Named, Operator, columns_of
from streamsql.schema import Namespace, Schema


@dataclass(frozen=True)
class Project(Operator):
    """The columns of the result: the key's and the value's."""

    input: Operator
    key: tuple[Named, ...]
    value: tuple[Named, ...]

    @cached_property
    def schema(self) -> Schema:
        return Schema(
            (*columns_of(self.key, Namespace.KEY), *columns_of(self.value, Namespace.VALUE))
        )
