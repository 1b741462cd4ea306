"""The catalog: which streams, tables and types exist, and which queries read and write them.

The only mutable metadata. It knows nothing of Kafka or Spark: executing a statement brings both in
line with what stands here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any

from streamsql.errors import CatalogError, did_you_mean
from streamsql.ksqldb import says
from streamsql.nodes import CreateFunction, Query
from streamsql.schema import (
    PSEUDO_COLUMNS,
    WINDOW_BOUNDS,
    Column,
    Constraint,
    Kind,
    Schema,
    TimestampColumn,
    Topic,
)
from streamsql.types import SQLType

Thing = tuple[str, str]
"""The kind of what a catalog can hold (`Catalog.kinds`), and its name."""


@dataclass(frozen=True)
class Lookup:
    """Where rows are that are looked up by their keys outside of Kafka, and how they are asked for.

    What a secret is called stands in for it: `${env:NAME}`, `${file:path:key}`.
    """

    connection: str
    """FILE or JDBC."""
    place: str
    """The file or folder; the URL of the database."""
    ttl_ms: int
    """How old what is known of a row may be."""
    format: str = ""
    """Of files: PARQUET, JSON or CSV."""
    table: str = ""
    """Of a database: the table, as its SQL names it."""
    user: str = ""
    password: str = ""
    rows: int = 0
    """Of a database: how many rows are known at the most."""
    per_second: int | None = None
    """Of a database: how often it may be asked; None: as often as there is need."""

    @property
    def caches(self) -> bool:
        """Of a database: whether anything is known of a row once it was used."""
        return self.rows > 0 and self.ttl_ms > 0


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
    comment: str | None = None
    """What COMMENT ON says of it."""
    constraints: tuple[Constraint, ...] = ()
    """What its records must meet, in the order in which they are looked at: those of a query's
    result to be written, others to be read."""
    lookup: Lookup | None = None
    """Of a table that is looked up outside of Kafka: its topic is none, and has no name."""

    def same_but_for_comment(self, other: Source) -> bool:
        """Whether nothing that concerns records tells the two apart."""
        return replace(self, comment=other.comment) == other

    @property
    def expected_of_reads(self) -> tuple[Constraint, ...]:
        """The constraints that are checked where its records are read."""
        return () if self.created_by_query else self.constraints

    @property
    def expected_of_writes(self) -> tuple[Constraint, ...]:
        """The constraints that queries check which write it."""
        return self.constraints if self.created_by_query else ()

    @property
    def pseudo_columns(self) -> tuple[Column, ...]:
        """What its rows have besides its columns: their time and place, and the window of a key."""
        if self.lookup is not None:
            return ()
        return (*PSEUDO_COLUMNS, *(WINDOW_BOUNDS if self.is_windowed else ()))

    @property
    def is_windowed(self) -> bool:
        """Whether its keys hold a window besides their columns."""
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
class ExternalSink:
    """Where a query writes a stream's rows outside of Kafka; `statement` is the canonical SQL that
    made it. It is there for as long as its query."""

    name: str
    reads: str
    """The stream."""
    query_id: str
    connection: str
    """What it is: FILE."""
    path: str
    format: str
    statement: str = ""


@dataclass(frozen=True)
class QueryLinks:
    """What a persistent query reads and writes, by names of sources; a sink's writes that."""

    id: str
    reads: tuple[str, ...]
    writes: str
    by_key: tuple[str, ...] = ()
    """Those of `reads` of which it takes the rows by their key."""
    hands_on: tuple[str, ...] = ()
    """Those of `reads` whose key is that of the result, or a part of it."""


def _things(kind: str) -> Any:
    """A field of a catalog: things of one kind, by their names."""
    return field(default_factory=dict, metadata={"kind": kind})


@dataclass
class Catalog:
    """Sources, custom types and query links by name. Not thread-safe: the engine serialises.

    A field for things of a new kind is all that this, `copy`, an export and the form in which a
    catalog is sent need; of its values the latter must know the types (api/catalogs.py).
    """

    sources: dict[str, Source] = _things("source")
    types: dict[str, SQLType] = _things("type")
    queries: dict[str, QueryLinks] = _things("query")
    views: dict[str, View] = _things("view")
    functions: dict[str, CreateFunction] = _things("function")
    """Those of users, by the statements that made them."""
    sinks: dict[str, ExternalSink] = _things("sink")
    next_query: int = 0
    """Numbers query ids: CSAS_NAME_<n>."""

    @classmethod
    def kinds(cls) -> dict[str, str]:
        """The kinds of things, each with the field that holds them."""
        return {f.metadata["kind"]: f.name for f in fields(cls) if "kind" in f.metadata}

    def things(self, kind: str) -> dict[str, Any]:
        """All of one kind, by their names."""
        entries: dict[str, Any] = getattr(self, self.kinds()[kind])
        return entries

    def copy(self) -> Catalog:
        """A catalog that can be changed without touching this one (check, EXPLAIN)."""
        copied = Catalog(next_query=self.next_query)
        for kind in self.kinds():
            copied.things(kind).update(self.things(kind))
        return copied

    def get(self, name: str) -> Source:
        """The source of that name; CatalogError with a suggestion where there is none."""
        source = self.sources.get(name)
        if source is None:
            if name in self.views:
                raise CatalogError(
                    f"{name} is a view.", hint="Views stand in FROM; SHOW VIEWS lists them."
                )
            if name in self.sinks:
                raise CatalogError(
                    f"{name} is a sink, which writes and cannot be read here.",
                    hint=f"DESCRIBE SINK {name} tells what it writes, and where.",
                )
            raise CatalogError(
                f"{name} does not exist.",
                hint=did_you_mean(name, self.sources)
                or "SHOW STREAMS and SHOW TABLES list what exists.",
                ksqldb=says("unknown-source", name=name),
            )
        return source

    def of_kind(self, kind: Kind) -> Iterator[Source]:
        """All streams, or all tables."""
        return (s for s in self.sources.values() if s.kind is kind)

    def put(self, source: Source) -> None:
        """Enter a source; one in the place of another, whose comment it keeps."""
        known = self.sources.get(source.name)
        if known is not None and source.comment is None:
            source = replace(source, comment=known.comment)
        self.sources[source.name] = source

    def remove(self, name: str) -> None:
        """Forget a source; KeyError where there is none of that name."""
        del self.sources[name]

    def viewers(self, name: str) -> list[str]:
        """Names of the views that read the source or view."""
        return [view.name for view in self.views.values() if name in view.reads]

    def sink_of(self, query_id: str) -> str | None:
        """The name of the sink outside of Kafka that the query is; None for another query."""
        return next((s.name for s in self.sinks.values() if s.query_id == query_id), None)

    def topics_of(self, names: Iterable[str]) -> tuple[str, ...]:
        """The topics of the sources, each once, but for those that are looked up elsewhere."""
        sources = (self.get(name) for name in names)
        return tuple(dict.fromkeys(s.topic.name for s in sources if s.lookup is None))

    def readers(self, name: str) -> list[str]:
        """Ids of the queries that read the source."""
        return [q.id for q in self.queries.values() if name in q.reads]

    def readers_of_topic(self, topic: str) -> list[str]:
        """Ids of the queries that read a source over the topic."""
        names = {source.name for source in self.sources.values() if source.topic.name == topic}
        return [q.id for q in self.queries.values() if names.intersection(q.reads)]

    def writers(self, name: str) -> list[str]:
        """Ids of the queries that write into the source."""
        return [q.id for q in self.queries.values() if q.writes == name]
