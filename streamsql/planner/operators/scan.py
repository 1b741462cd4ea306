"""Scan: the records of a topic."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from streamsql.catalog import Source
from streamsql.formats.changes import stored_columns
from streamsql.nodes import ConstraintDefinition, StartPosition
from streamsql.planner.operators.operator import Operator
from streamsql.schema import Column, Kind, Schema


@dataclass(frozen=True)
class Scan(Operator):
    """The records of a source's topic, decoded; unreadable ones go to the processing log."""

    source: Source
    alias: str
    start: StartPosition | None = None  # of reading, instead of what auto.offset.reset says
    constraints: tuple[ConstraintDefinition, ...] = ()  # whose conditions are over its schema

    @cached_property
    def schema(self) -> Schema:
        """The source's columns, then the pseudo columns and, if windowed, the window's bounds."""
        return Schema((*self.source.schema.columns, *self.source.pseudo_columns))

    @property
    def kind(self) -> Kind:
        return self.source.kind


def stored_values(node: Scan) -> tuple[Column, ...]:
    """The columns of a scan whose values are kept, since changes need not tell them."""
    source = node.source
    return stored_columns(source.topic.value_format, source.kind, source.schema.value)


def start_text(start: StartPosition) -> str:
    """As it is written in the query."""
    if start.offsets:
        return "OFFSETS " + ", ".join(f"{p}:{offset}" for p, offset in start.offsets)
    return start.start.value + (f" {start.timestamp}" if start.timestamp else "")
