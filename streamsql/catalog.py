"""The catalog: which streams, tables and types exist, and which queries read and write them.

The only mutable metadata. It knows nothing of Kafka or Spark: executing a statement brings both in
line with what stands here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields

from streamsql.errors import CatalogError, did_you_mean
from streamsql.ksqldb import says
from streamsql.nodes import CreateFunction, Query
from streamsql.schema import Kind, Schema, TimestampColumn, Topic
from streamsql.types import SQLType


@dataclass(frozen=True)
class Source:
    """A stream or a table: a schema over a topic. `statement` is the canonical SQL that made it."""

    name: str
    kind: Kind
    schema: Schema
    topic: Topic
    timestamp: TimestampColumn | None = None
    is_source: bool = False
    """Read-only: made by CREATE SOURCE STREAM | TABLE."""
    created_by_query: str | None = None
    """The id of the CREATE .. AS SELECT query that fills it."""
    statement: str = ""

    @property
    def is_windowed(self) -> bool:
        return self.topic.window is not None


@dataclass(frozen=True)
class View:
    """A query with a name; `statement` is the canonical SQL that made it, `reads` are the names of
    the sources and views in it."""

    name: str
    query: Query
    reads: frozenset[str]
    statement: str = ""


@dataclass(frozen=True)
class QueryLinks:
    """What a persistent query reads and writes, by names of sources."""

    id: str
    reads: tuple[str, ...]
    writes: str


@dataclass
class Catalog:
    """Sources, custom types and query links by name. Not thread-safe: the engine serialises."""

    sources: dict[str, Source] = field(default_factory=dict)
    types: dict[str, SQLType] = field(default_factory=dict)
    queries: dict[str, QueryLinks] = field(default_factory=dict)
    views: dict[str, View] = field(default_factory=dict)
    functions: dict[str, CreateFunction] = field(default_factory=dict)
    """Those of users, by the statements that made them."""
    next_query: int = 0
    """Numbers query ids: CSAS_NAME_<n>."""

    def copy(self) -> Catalog:
        """A catalog that can be changed without touching this one (check, EXPLAIN)."""
        copied = Catalog(next_query=self.next_query)
        for table in fields(self):
            if isinstance(entries := getattr(self, table.name), dict):
                getattr(copied, table.name).update(entries)
        return copied

    def get(self, name: str) -> Source:
        """The source of that name; CatalogError with a suggestion where there is none."""
        source = self.sources.get(name)
        if source is None:
            if name in self.views:
                raise CatalogError(
                    f"{name} is a view.", hint="Views stand in FROM; SHOW VIEWS lists them."
                )
            raise CatalogError(
                f"{name} does not exist.",
                hint=did_you_mean(name, self.sources)
                or "SHOW STREAMS and SHOW TABLES list what exists.",
                ksqldb=says("unknown-source", name=name),
            )
        return source

    def of_kind(self, kind: Kind) -> Iterator[Source]:
        return (s for s in self.sources.values() if s.kind is kind)

    def put(self, source: Source) -> None:
        self.sources[source.name] = source

    def remove(self, name: str) -> None:
        del self.sources[name]

    def viewers(self, name: str) -> list[str]:
        """Names of the views that read the source or view."""
        return [view.name for view in self.views.values() if name in view.reads]

    def readers(self, name: str) -> list[str]:
        """Ids of the queries that read the source."""
        return [q.id for q in self.queries.values() if name in q.reads]

    def writers(self, name: str) -> list[str]:
        """Ids of the queries that write into the source."""
        return [q.id for q in self.queries.values() if q.writes == name]
