"""Distinct: SELECT DISTINCT."""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.nodes import Window
from streamsql.planner.operators.operator import Operator
from streamsql.schema import Schema


@dataclass(frozen=True)
class Distinct(Operator):
    """The first of a stream's rows with the same values; with a window, the first in each."""

    input: Operator
    window: Window | None = None

    @property
    def schema(self) -> Schema:
        return self.input.schema
