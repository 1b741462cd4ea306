"""The catalog: streams, tables, types, and the queries that read and write them. It is the only
mutable metadata, and independent of Kafka and Spark: statement execution keeps both consistent with
it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any
from urllib.parse import quote

from streamsql.errors import CatalogError, did_you_mean
from streamsql.ksqldb import says
from streamsql.nodes import ColumnDefinition, CreateFunction, Query, VersionAsOf
from streamsql.schema import (
    PSEUDO_COLUMNS,
    WINDOW_BOUNDS,
    Column,
    Constraint,
    Kind,
    Namespace,
    Schema,
    TimestampColumn,
    Topic,
    Watermark,
    is_hidden,
)
from streamsql.types import SQLType

Thing = tuple[str, str]
"""Kind (`Catalog.kinds`) and name of a catalog object."""


@dataclass(frozen=True)
class Lookup:
    """Location of an external lookup table, and its cache settings. Secrets are references:
    `${env:NAME}`, `${file:path:key}`."""

    connection: str
    place: str
    """The file or folder, the URL of the database, or that of the catalog or the folder of a
    warehouse of Iceberg."""
    ttl_ms: int
    """Maximum age of a cached row."""
    format: str = ""
    """FILE only: PARQUET, JSON or CSV."""
    table: str = ""
    """JDBC: the table in the database's syntax; ICEBERG: namespace and name."""
    user: str = ""
    password: str = ""
    rows: int = 0
    """JDBC only: maximum number of cached rows."""
    per_second: int | None = None
    """JDBC only: maximum lookups per second; None is unlimited."""
    catalog: str = ""
    """ICEBERG only: HADOOP, JDBC or REST."""
    warehouse: str = ""
    """ICEBERG only: a folder, a bucket, or the name that a REST catalog knows."""
    version: VersionAsOf | None = None
    """ICEBERG only: the snapshot that a query reads, if it is not the present one."""

    @property
    def as_of(self) -> str:
        """` as of snapshot 7`; empty for the present one."""
        return "" if self.version is None else self.version.text

    @property
    def caches(self) -> bool:
        """JDBC only: whether rows are cached."""
        return self.rows > 0 and self.ttl_ms > 0


@dataclass(frozen=True)
class Capture:
    """A table of PostgreSQL whose changes a connector writes to the topic of a source. Secrets are
    references."""

    host: str
    port: int
    database: str
    schema: str
    table: str
    user: str
    password: str
    sslmode: str = ""
    origin: str = ""
    """The database of CREATE SOURCE, whose tables share a connector; empty for a connector of the
    table's own."""

    @property
    def place(self) -> str:
        return f"{self.url} {self.schema}.{self.table}"

    @property
    def url(self) -> str:
        """As JDBC has it."""
        options = f"?sslmode={quote(self.sslmode)}" if self.sslmode else ""
        name = quote(self.database, safe="")
        return f"jdbc:postgresql://{self.host}:{self.port}/{name}{options}"


@dataclass(frozen=True)
class Database:
    """CREATE SOURCE: a database whose tables are captured together. `login` names no table;
    `statement` is the canonical SQL."""

    name: str
    login: Capture
    statement: str = ""


@dataclass(frozen=True)
class Source:
    """A stream or a table: a schema over a topic. `statement` is the canonical SQL that made it."""

    name: str
    kind: Kind
    schema: Schema
    topic: Topic
    timestamp: TimestampColumn | None = None
    is_source: bool = False
    """Read-only: created by CREATE SOURCE STREAM | TABLE."""
    created_by_query: str | None = None
    """Id of the CREATE .. AS SELECT query that writes it."""
    statement: str = ""
    comment: str | None = None
    """Text of COMMENT ON."""
    constraints: tuple[Constraint, ...] = ()
    """Constraints in order of evaluation: on write for the result of a query, otherwise on read."""
    lookup: Lookup | None = None
    """Set for lookup tables, whose topic has no name."""
    capture: Capture | None = None
    """Of CONNECTION='POSTGRES': where the changes come from."""
    order: tuple[str, ...] = ()
    """Of a plain table or a materialized view: its columns in the order of its statement."""
    definitions: tuple[ColumnDefinition, ...] = ()
    """Of a plain table: the columns as its statement defines them."""
    watermark: Watermark | None = None
    """WATERMARK FOR, or that of a view which passes such a column on."""
    append_only: bool = False
    """Of a plain table or a view: whether rows are added only, as to a stream."""

    @property
    def is_plain(self) -> bool:
        """Whether CREATE TABLE without WITH made it: rows are changed by statements alone, and the
        topic is its own."""
        return bool(self.order) and self.created_by_query is None

    @property
    def grows(self) -> bool:
        """Whether rows are added only, and none is changed or deleted."""
        return self.append_only or self.kind is Kind.STREAM

    @property
    def is_view(self) -> bool:
        """Whether CREATE MATERIALIZED VIEW made it."""
        return bool(self.order) and self.created_by_query is not None

    @property
    def has_store(self) -> bool:
        """Whether a store holds the rows of the table: one made by CREATE TABLE .. AS, a view, a
        SOURCE TABLE or a plain table."""
        made = self.created_by_query is not None or self.is_source or self.is_plain
        return self.kind is Kind.TABLE and made and self.lookup is None

    @property
    def is_lake(self) -> bool:
        """Whether it is a table of Iceberg, which queries that end can read."""
        return self.lookup is not None and self.lookup.connection == "ICEBERG"

    @property
    def read_as(self) -> str:
        """The name, and the snapshot of a table of Iceberg that a query names."""
        return self.name + ("" if self.lookup is None else self.lookup.as_of)

    @property
    def shown(self) -> tuple[Column, ...]:
        """The columns of `SELECT *` in standard SQL."""
        if self.order:
            return tuple(c for name in self.order if (c := self.schema.find(name)) is not None)
        return tuple(c for c in self.schema if not is_hidden(c.name))

    @property
    def bounds(self) -> tuple[Column, ...]:
        """WINDOWSTART and WINDOWEND, if it is windowed."""
        return WINDOW_BOUNDS if self.is_windowed else ()

    @property
    def primary_key(self) -> tuple[Column, ...]:
        """The columns of the key, and of a windowed one the bounds."""
        return (*self.schema.key, *self.bounds)

    @property
    def shown_with_bounds(self) -> tuple[Column, ...]:
        """The columns of `SELECT *`, of a windowed table with the bounds behind the key."""
        keys = sum(column.namespace is Namespace.KEY for column in self.shown)
        return (*self.shown[:keys], *self.bounds, *self.shown[keys:]) if self.bounds else self.shown

    @property
    def is_materialized_view(self) -> bool:
        return self.statement.startswith(
            ("CREATE MATERIALIZED VIEW ", "CREATE OR REPLACE MATERIALIZED VIEW ")
        )

    def same_but_for_comment(self, other: Source) -> bool:
        return replace(self, comment=other.comment) == other

    @property
    def expected_of_reads(self) -> tuple[Constraint, ...]:
        """Constraints that are checked when its records are read."""
        return () if self.created_by_query else self.constraints

    @property
    def expected_of_writes(self) -> tuple[Constraint, ...]:
        """Constraints that are checked by the queries that write it."""
        return self.constraints if self.created_by_query else ()

    @property
    def pseudo_columns(self) -> tuple[Column, ...]:
        """The pseudo columns of its rows: time, position, and the window of a key. A row of Iceberg
        has the time at which it is read."""
        if self.lookup is not None and not self.is_lake:
            return ()
        return (*PSEUDO_COLUMNS, *self.bounds)

    @property
    def is_windowed(self) -> bool:
        return self.topic.window is not None


@dataclass(frozen=True)
class View:
    """A named query; `statement` is its canonical SQL, `reads` the names of the sources and views
    in it."""

    name: str
    query: Query
    reads: frozenset[str]
    statement: str = ""
    is_standard: bool = False
    """Whether the query has the meaning of standard SQL."""


@dataclass(frozen=True)
class ExternalSink:
    """A sink outside of Kafka; `statement` is its canonical SQL. It has the lifetime of its
    query."""

    name: str
    reads: str
    query_id: str
    connection: str
    """FILE, JDBC or ICEBERG."""
    path: str
    """The folder of files; the URL of a database; the warehouse of Iceberg."""
    format: str
    """Of files; of a table, the mode: UPSERT or APPEND."""
    statement: str = ""
    table: str = ""
    """Of a database or a warehouse, and so are the parts of the login to a database."""
    user: str = ""
    password: str = ""
    """A reference to it."""
    part_of: str = ""
    """The name of the sink of all tables that it belongs to."""

    @property
    def of_all(self) -> bool:
        """Whether it is FROM ALL TABLES: it has no query, but a sink for each of them, and `table`
        ends in `.*`."""
        return not self.reads

    @property
    def place(self) -> str:
        return f"{self.path} {self.table}" if self.table else self.path


@dataclass(frozen=True)
class QueryLinks:
    """The sources that a persistent query reads and writes, by name."""

    id: str
    reads: tuple[str, ...]
    writes: str
    by_key: tuple[str, ...] = ()
    """The sources in `reads` whose rows the query processes by their key."""
    hands_on: tuple[str, ...] = ()
    """The sources in `reads` whose key is the result's key or a part of it."""


def _things(kind: str) -> Any:
    """A catalog field: objects of one kind by name."""
    return field(default_factory=dict, metadata={"kind": kind})


@dataclass
class Catalog:
    """Sources, custom types and query links by name. Not thread-safe: the engine serializes access.
    Objects of a new kind need a field here only, and their value types in api/catalogs.py."""

    sources: dict[str, Source] = _things("source")
    types: dict[str, SQLType] = _things("type")
    queries: dict[str, QueryLinks] = _things("query")
    views: dict[str, View] = _things("view")
    functions: dict[str, CreateFunction] = _things("function")
    """User functions, by the statements that created them."""
    sinks: dict[str, ExternalSink] = _things("sink")
    databases: dict[str, Database] = _things("database")
    next_query: int = 0
    """Counter of query ids: CSAS_NAME_<n>."""

    @classmethod
    def kinds(cls) -> dict[str, str]:
        return {f.metadata["kind"]: f.name for f in fields(cls) if "kind" in f.metadata}

    def things(self, kind: str) -> dict[str, Any]:
        entries: dict[str, Any] = getattr(self, self.kinds()[kind])
        return entries

    def copy(self) -> Catalog:
        """A catalog that can be changed without touching this one (check, EXPLAIN)."""
        copied = Catalog(next_query=self.next_query)
        for kind in self.kinds():
            copied.things(kind).update(self.things(kind))
        return copied

    def get(self, name: str) -> Source:
        """Raises CatalogError with a suggestion if the name is unknown."""
        source = self.sources.get(name)
        if source is None:
            if name in self.views:
                raise CatalogError(
                    f"{name} is a view.", hint="Views stand in FROM; SHOW VIEWS lists them."
                )
            if name in self.sinks:
                raise CatalogError(
                    f"{name} is a sink, which cannot be read.",
                    hint=f"DESCRIBE SINK {name} shows what it writes, and where.",
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
        """Adds or replaces a source. A replacement keeps the comment."""
        known = self.sources.get(source.name)
        if known is not None and source.comment is None:
            source = replace(source, comment=known.comment)
        self.sources[source.name] = source

    def remove(self, name: str) -> None:
        del self.sources[name]

    def viewers(self, name: str) -> list[str]:
        return [view.name for view in self.views.values() if name in view.reads]

    def captured_from(self, database: str) -> list[Source]:
        """The streams and tables over tables of a database."""
        return [s for s in self.sources.values() if s.capture and s.capture.origin == database]

    def parts_of_all(self, name: str) -> list[ExternalSink]:
        """The sinks of the source that belong to sinks of all tables."""
        return [s for s in self.sinks.values() if s.reads == name and s.part_of]

    def sink_of(self, query_id: str) -> str | None:
        """Name of the query's sink outside of Kafka, or None."""
        return next((s.name for s in self.sinks.values() if s.query_id == query_id), None)

    def topics_of(self, names: Iterable[str]) -> tuple[str, ...]:
        """Distinct topics of the sources, without lookup tables."""
        sources = (self.get(name) for name in names)
        return tuple(dict.fromkeys(s.topic.name for s in sources if s.lookup is None))

    def readers(self, name: str) -> list[str]:
        """Ids of the queries that read the source."""
        return [q.id for q in self.queries.values() if name in q.reads]

    def readers_of_topic(self, topic: str) -> list[str]:
        names = {source.name for source in self.sources.values() if source.topic.name == topic}
        return [q.id for q in self.queries.values() if names.intersection(q.reads)]

    def writers(self, name: str) -> list[str]:
        return [q.id for q in self.queries.values() if q.writes == name]
