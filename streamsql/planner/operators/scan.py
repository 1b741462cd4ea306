"""Scan: the records of a topic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from streamsql.catalog import Source
from streamsql.formats.changes import stored_columns
from streamsql.nodes import ConstraintDefinition, StartPosition
from streamsql.planner.operators.edges import Edge, Transformation
from streamsql.planner.operators.lineage import Lineage, time_of
from streamsql.planner.operators.lookup_join import lake_text
from streamsql.planner.operators.operator import Deletions, Keys, Operator, StateStore
from streamsql.planner.operators.parts import Part, Reading
from streamsql.planner.operators.topics import expected_text, topic_text
from streamsql.schema import ROWTIME, Column, Kind, Schema
from streamsql.types import quote


@dataclass(frozen=True)
class Scan(Operator):
    """The records of a source's topic, decoded; unreadable ones go to the processing log. Of a
    table of Iceberg, its rows."""

    source: Source
    alias: str
    start: StartPosition | None = None  # replaces auto.offset.reset
    constraints: tuple[ConstraintDefinition, ...] = ()  # whose conditions are over its schema

    expressions = ()
    obstacles = ()
    deletions = Deletions.PASSED_ON
    time_decides = False
    knows_cause = False
    differs_in_batch = None

    @cached_property
    def schema(self) -> Schema:
        """The source's columns, then the pseudo columns and, if windowed, the window's bounds."""
        return Schema((*self.source.schema.columns, *self.source.pseudo_columns))

    @property
    def kind(self) -> Kind:
        return self.source.kind

    @property
    def line(self) -> str:
        alias = f" AS {quote(self.alias)}" if self.alias != self.source.name else ""
        start = f", from {start_text(self.start)}" if self.start else ""
        lake = self.source.lookup
        place = topic_text(self.source) if lake is None else lake_text(lake)
        source = f"{quote(self.source.name)}{alias}: {place}"
        expected = expected_text(self.source.expected_of_reads)
        return f"Scan {self.kind.value} {source}{start}{expected}"

    @property
    def details(self) -> tuple[str, ...]:
        return (f"columns: {self.source.schema}",)

    def lineage(self) -> Lineage:
        name = self.source.name
        columns = {
            column.name: frozenset({Edge(name, column.name, Transformation.IDENTITY)})
            for column in self.schema
        }
        time = self.source.timestamp
        if time is not None:
            columns[ROWTIME.name] = time_of(columns[time.name], time)
        return Lineage(columns, reads=frozenset({name}))

    @property
    def stored_values(self) -> tuple[Column, ...]:
        """The columns whose values are stored, since a change of a row may omit them."""
        source = self.source
        return stored_columns(source.topic.value_format, source.kind, source.schema.value)

    def stores(self, root: Operator) -> Iterable[StateStore]:
        if self.stored_values:
            columns = ", ".join(column.name for column in self.stored_values)
            growth = f"grows with the keys of {self.sources}"
            yield StateStore(f"{columns} of {self.sources}", self.key_names, growth)

    def identity(self, root: Operator) -> Iterable[str]:
        yield f"reads {self.source.name} from {self.source.topic.name}"

    @property
    def sources(self) -> str:
        return quote(self.source.name)

    def parts(self, at: Reading) -> Iterator[Part]:
        source, kept = self.source, at.columns(self.stored_values)
        read = at.behind(bool(kept))
        yield read.part("FROM", "", source.name)
        topic = replace(source.topic, partitions=None, replicas=None)
        yield read.part("records of", source.name, topic_text(replace(source, topic=topic)))
        if kept:
            yield at.part("unavailable values", "", ", ".join(kept), columns=kept)
        yield from at.constraints(source, source.expected_of_reads)
        if self.start is not None:
            yield at.part("FROM", "start", start_text(self.start))

    def keyed_sources(self, keys: Keys) -> Iterable[str]:
        return ()

    def keys_made(self, keys: Keys) -> Keys:
        return {self.source.name: frozenset(column.name for column in self.source.schema.key)}

    @property
    def needs_batch(self) -> str | None:
        source, name = self.source, quote(self.source.name)
        if source.kind is Kind.STREAM:
            return f"it reads the history of the stream {name}"
        if source.lookup is not None:
            return f"{name} is a table of Iceberg"
        if not source.has_store:
            return f"the table {name}, made by CREATE TABLE, is not served from a store"
        if source.schema.headers:
            return f"{name} has header columns, which no store keeps"
        if self.constraints:
            return f"{name} has constraints, which no store checks"
        if self.start is not None:
            return f"it sets a start position of {name} begins"
        return None


def start_text(start: StartPosition) -> str:
    if start.offsets:
        return "OFFSETS " + ", ".join(f"{p}:{offset}" for p, offset in start.offsets)
    return start.start.value + (f" {start.timestamp}" if start.timestamp else "")
