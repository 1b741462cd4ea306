"""A view over tables that change, on a real broker and Spark, beside DuckDB over the same rows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import duckdb

from streamsql.catalog import Catalog, Source
from streamsql.executor.lowering.streaming import lower
from streamsql.kafka.records import NewRecord
from streamsql.nodes import Emit
from streamsql.planner.materialized import sink_of_view, view_of
from streamsql.planner.operators import View
from streamsql.planner.plans.query_plan import Mode, ModeDecision, QueryPlan
from streamsql.planner.relational.algebra import RelationalPlan
from streamsql.schema import ROW_KEY, Column, FormatSpec, Kind, Namespace, Schema, Topic
from streamsql.test_driver.driven_query import DrivenQuery
from streamsql.test_driver.fixture import Fixture
from streamsql.types import SQLType, to_sql

Row = tuple[Any, ...]
JSON = FormatSpec("JSON")


@dataclass(frozen=True)
class TableDefinition:
    """A table whose first column is its key, or a stream, which has none."""

    name: str
    columns: dict[str, SQLType]
    kind: Kind = Kind.TABLE


@dataclass
class ViewRun:
    """One view and its inputs."""

    fixture: Fixture
    tables: Sequence[TableDefinition]
    plan: RelationalPlan
    query: str
    """The same query for DuckDB."""
    prefix: str = ""
    records_per_batch: int | None = None
    """The most that a batch reads of a topic."""
    _time: int = 0
    _rows: dict[str, dict[Any, Row]] = field(default_factory=dict)
    _changed: set[str] = field(default_factory=set)
    """Tables that DuckDB has other rows of."""

    def __post_init__(self) -> None:
        self.prefix = self.fixture.next_prefix()
        self._create_topics()
        self._rows = {table.name: {} for table in self.tables}
        self._changed = set(self._rows)
        self._driven: DrivenQuery | None = None

    def _create_topics(self) -> None:
        topics = [self._topic(table.name).name for table in self.tables]
        self.fixture.kafka.create_topics([*topics, self.prefix + "view"])

    # -- changes ---------------------------------------------------------------------------------

    def put(self, table: str, *rows: Row) -> None:
        """Rows that are new, or take the place of those of their keys."""
        self._write((table, row[0], row) for row in rows)

    def delete(self, table: str, *keys: Any) -> None:
        self._write((table, key, None) for key in keys)

    def _write(self, changes: Iterable[tuple[str, Any, Row | None]]) -> None:
        records = []
        for name, key, row in changes:
            table = next(t for t in self.tables if t.name == name)
            self._time += 1
            self._changed.add(name)
            if table.kind is Kind.STREAM:
                names = list(table.columns)
                value = json.dumps(dict(zip(names, row, strict=True))).encode()
                record = NewRecord(None, value, self._time)
                self._rows[name][len(self._rows[name])] = row
            else:
                names = list(table.columns)[1:]
                value = None
                if row is None:
                    self._rows[name].pop(key, None)
                else:
                    value = json.dumps(dict(zip(names, row[1:], strict=True))).encode()
                    self._rows[name][key] = row
                record = NewRecord(json.dumps(key).encode(), value, self._time)
            records.append((self._topic(name).name, record))
        self._deliver(records)

    def _deliver(self, records: list[tuple[str, NewRecord]]) -> None:
        self.fixture.records.write(records)

    # -- the view --------------------------------------------------------------------------------

    def flush(self) -> None:
        """Everything that was written is in the view."""
        if self._driven is None:
            context = replace(
                self.fixture.context(self.prefix), max_records_per_batch=self.records_per_batch
            )
            self._driven = DrivenQuery(lower(self.query_plan(), context))
        self._driven.process_available()

    def stop(self) -> None:
        if self._driven is not None:
            self._driven.stop()
            self._driven = None

    def check(self) -> None:
        """The view is equal to what DuckDB says."""
        self.flush()
        found, expected = self.rows(), self.expected()
        assert found == expected, f"too many: {found - expected}, missing: {expected - found}"

    def records(self) -> list[tuple[str, dict[str, Any] | None]]:
        """The view's changelog: key and value of each record."""
        records = self.fixture.records.read(self.prefix + "view")
        return [
            ((r.key or b"").decode(), None if r.value is None else json.loads(r.value))
            for r in records
        ]

    def rows(self) -> Counter[Row]:
        latest: dict[str, Row] = {}
        schema = self.view.schema
        for key, value in self.records():
            if value is None:
                latest.pop(key, None)
                continue
            latest[key] = view_row(schema, self._names(), key, value)
        return Counter(latest.values())

    def expected(self) -> Counter[Row]:
        for table in self.tables:
            if table.name not in self._changed:
                continue
            columns = ", ".join(f"{n} {to_sql(t)}" for n, t in table.columns.items())
            self._database.execute(f"CREATE OR REPLACE TABLE {table.name} ({columns})")
            rows = list(self._rows[table.name].values())
            if rows:
                row = f"({', '.join('?' for _ in table.columns)})"
                insert = f"INSERT INTO {table.name} VALUES {', '.join(row for _ in rows)}"
                self._database.execute(insert, [cell for each in rows for cell in each])
        self._changed.clear()
        return Counter(self._database.execute(self.query).fetchall())

    def expected_without_optimizer(self) -> Counter[Row]:
        """The answer that DuckDB's optimizer has no part in: that of 2.0.1 removes rows from
        `.. HAVING .. EXCEPT ..` (seed 1040 of the random views)."""
        self._database.execute("PRAGMA disable_optimizer")
        try:
            return self.expected()
        finally:
            self._database.execute("PRAGMA enable_optimizer")

    @cached_property
    def _database(self) -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect()
        connection.execute("SET integer_division = true; SET threads = 1")
        return connection

    # -- plans -----------------------------------------------------------------------------------

    @cached_property
    def view(self) -> View:
        sources = {table.name: self._source(table) for table in self.tables}
        return view_of(self.plan, Catalog(sources=sources))

    def query_plan(self) -> QueryPlan:
        query_id = f"view_{self.prefix.strip('-').replace('-', '_')}"
        topic = Topic(self.prefix + "view", JSON, JSON)
        return QueryPlan(
            sink_of_view(self.view, "V", topic, query_id, ""),
            ModeDecision(Mode.MICRO_BATCH, ""),
            Emit.CHANGES,
            tuple(table.name for table in self.tables),
            query_id,
        )

    def _names(self) -> list[str]:
        return [field.name for field in self.plan.output]

    def _topic(self, name: str) -> Topic:
        return Topic(self.prefix + name, JSON, JSON)

    def _source(self, table: TableDefinition) -> Source:
        return source(table, self.prefix)

    @staticmethod
    def sources(tables: Sequence[TableDefinition]) -> list[Source]:
        """The tables in a catalog; their topics do not matter."""
        return [source(table, "") for table in tables]


def view_row(schema: Schema, names: Sequence[str], key: str, value: dict[str, Any]) -> Row:
    """These columns of a view's record."""
    cells = dict(value)
    if schema.key[0].name != ROW_KEY:
        named = json.loads(key)
        cells |= {schema.key[0].name: named} if len(schema.key) == 1 else named
    return tuple(cells[name] for name in names)


def source(table: TableDefinition, prefix: str) -> Source:
    names = iter(table.columns.items())
    columns = []
    if table.kind is Kind.TABLE:
        name, kind = next(names)
        columns.append(Column(name, kind, Namespace.KEY))
    columns += [Column(name, kind) for name, kind in names]
    schema = Schema(tuple(columns))
    return Source(table.name, table.kind, schema, Topic(prefix + table.name, JSON, JSON))
