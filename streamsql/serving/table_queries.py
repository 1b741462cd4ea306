"""Queries over all rows of served tables: grouped, joined, sorted, in the JVM without a Spark job.

What runs is what Spark's batch engine would run, over rows that stores have instead of topics.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamsql.catalog import Catalog, Source
from streamsql.executor.services.services import Services
from streamsql.parser import to_sql
from streamsql.planner.plans.statements import PullPlan
from streamsql.serving.compiled import compiling_context
from streamsql.serving.origins import Origins, origins

if TYPE_CHECKING:
    from streamsql.executor.frames.context import LoweringContext
    from streamsql.executor.lowering.compiled_plan import TableReader
    from streamsql.serving.table import StoredTable

KEPT = 64
"""How many compiled plans are kept for statements that come again."""


@dataclass(frozen=True)
class _Ready:
    """A compiled plan, used by one run at a time, and its sources."""

    plan: Any
    spark: object
    origins: Origins
    tables: tuple[Source, ...]
    readers: tuple[TableReader, ...]


class TableQueries:
    """The compiled queries of one engine; may be used from any thread."""

    def __init__(
        self, services: Services, folder: Path, catalog: Callable[[], Catalog], memory: int
    ) -> None:
        """`memory` bounds the rows that are kept there, in bytes."""
        self._memory = memory
        self._services = services
        self._folder = folder
        self._catalog = catalog
        self._free: dict[str, list[_Ready]] = {}
        self._readers: dict[str, tuple[Source, object, TableReader]] = {}
        self._lock = threading.Lock()

    def run(
        self, plan: PullPlan, tables: Mapping[str, StoredTable], properties: Mapping[str, str]
    ) -> Iterator[bytes]:
        """The rows of the answer, as push_rows.py reads them; `tables` by the names of sources."""
        from streamsql.executor.spark.bridge import Bridge
        from streamsql.serving.table import reading, scanned

        spark = self._services.spark.get().session
        made_from = origins(plan, self._catalog())
        name = None if plan.statement is None else to_sql(plan.statement)
        ready = self._taken(name, made_from, spark)
        ready = ready or self._compiled(plan, properties, spark, made_from)
        topic = ready.tables[0].topic.name
        try:
            with reading(topic):
                query = Bridge.of(spark).tables_query(ready.plan)
                for source, reader in zip(ready.tables, ready.readers, strict=True):
                    tables[source.name].ask(query, reader.plan)
                rows = query.run()
            yield from scanned(rows, topic)
        finally:
            if name is not None:
                self._give_back(name, ready)

    def prepare(self, plan: PullPlan, properties: Mapping[str, str]) -> None:
        """Compiles a query for its first execution."""
        spark = self._services.spark.get().session
        if plan.statement is not None:
            ready = self._compiled(plan, properties, spark, origins(plan, self._catalog()))
            self._give_back(to_sql(plan.statement), ready)

    def _taken(self, name: str | None, made_from: Origins, spark: object) -> _Ready | None:
        with self._lock:
            free = self._free.get(name, []) if name else []
            while free:
                found = free.pop()
                if found.spark is spark and found.origins == made_from:
                    return found
        return None

    def _give_back(self, name: str, ready: _Ready) -> None:
        with self._lock:
            self._free.setdefault(name, []).append(ready)
            while len(self._free) > KEPT:
                del self._free[next(iter(self._free))]

    def _compiled(
        self, plan: PullPlan, properties: Mapping[str, str], spark: Any, made_from: Origins
    ) -> _Ready:
        from streamsql.executor.lowering.compiled_plan import tables_plan

        context = compiling_context(self._services, self._folder, properties, spark)
        compiled, tables = tables_plan(plan, context, lambda source: self._reader(source, context))
        readers = tuple(self._reader(source, context) for source in tables)
        return _Ready(compiled, spark, made_from, tuple(tables), readers)

    def _reader(self, source: Source, context: LoweringContext) -> TableReader:
        """One for all queries of a table, for as long as its columns and formats are the same."""
        from streamsql.executor.lowering.compiled_plan import table_reader
        from streamsql.executor.spark.bridge import Bridge

        with self._lock:
            known = self._readers.get(source.name)
        if known is not None and known[0] == source and known[1] is context.spark:
            return known[2]
        reader = table_reader(source, context)
        Bridge.of(context.spark).limit_rows(self._memory)
        with self._lock:
            self._readers[source.name] = (source, context.spark, reader)
        return reader
