"""Queries over all rows of served tables: grouped, joined, sorted, in the JVM without a Spark job.

What runs is what Spark's batch engine would run, over rows that stores have instead of topics.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamsql.catalog import Catalog, Source
from streamsql.executor.services.services import Services
from streamsql.planner.operators import Scan, operators
from streamsql.planner.plans.statements import PullPlan
from streamsql.planner.pull.standard import standard_view
from streamsql.serving.compiled import compiling_context, name_of
from streamsql.serving.origins import Origins, origins

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from streamsql.executor.frames.context import LoweringContext
    from streamsql.executor.lowering.compiled_plan import TableReader
    from streamsql.serving.table import Registered, StoredTable

KEPT = 64
"""How many compiled plans are kept for statements that come again."""
FEW = 10_000
"""Rows, of a product of all tables, for which compiling a query takes longer than it saves."""


@dataclass(frozen=True)
class CompiledQuery:
    """A compiled plan, used by one run at a time, and its sources."""

    name: str | None
    """By which it is found again; None: it holds for one run."""
    plan: Any
    spark: SparkSession
    origins: Origins
    tables: tuple[Source, ...]
    readers: tuple[TableReader, ...]
    few: bool
    """Whether it is for tables of few rows."""

    @property
    def topics(self) -> str:
        return ", ".join(source.topic.name for source in self.tables)

    def over(self, tables: Mapping[str, StoredTable]) -> Any:
        """The Java TablesQuery over these tables, by the names of their sources."""
        from streamsql.executor.spark.bridge import Bridge

        query = Bridge.of(self.spark).tables_query(self.plan, FEW)
        for source, reader in zip(self.tables, self.readers, strict=True):
            tables[source.name].ask(query, reader.plan)
        return query

    def registered(self, tables: Mapping[str, StoredTable]) -> Registered:
        """The same, for channel.py. It is the only one that executes the plan from now on."""
        from streamsql.executor.spark.bridge import Bridge
        from streamsql.serving.table import Registered, reading

        with reading(self.topics):
            found = Registered(self.topics, self.over(tables), Bridge.of(self.spark))
        found.register()
        return found


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
        self._free: dict[str, list[CompiledQuery]] = {}
        self._readers: dict[str, tuple[Source, object, TableReader]] = {}
        self._lock = threading.Lock()

    def compiled(
        self, plan: PullPlan, properties: Mapping[str, str], *, few: bool
    ) -> CompiledQuery:
        """The query for one run, over tables with `few` rows or any number. InternalError if it
        needs a Spark job."""
        spark = self._services.spark.get().session
        made_from = origins(plan, self._catalog())
        name = name_of(plan)
        known = self._taken(name, made_from, spark, few)
        return known or self._compiled(plan, name, properties, spark, made_from, few)

    def run(
        self, query: CompiledQuery, tables: Mapping[str, StoredTable], epoch: int | None
    ) -> Iterator[bytes]:
        """The rows of the answer, as push_rows.py reads them; `tables` by the names of sources.
        `epoch`: as of which views are read; None: as they are."""
        from streamsql.serving.table import reading, scanned, split

        topics = query.topics
        try:
            with reading(topics):
                rows = query.over(tables).run(-1 if epoch is None else epoch)
            yield from split(rows) if isinstance(rows, bytes) else scanned(rows, topics)
        finally:
            self._give_back(query)

    def prepare(self, plan: PullPlan, properties: Mapping[str, str]) -> None:
        """Compiles a query for its next execution, unless it is known."""
        self._give_back(self.compiled(plan, properties, few=False))

    def _taken(
        self, name: str | None, made_from: Origins, spark: object, few: bool
    ) -> CompiledQuery | None:
        with self._lock:
            free = self._free.get(name, []) if name else []
            while free:
                found = free.pop()
                is_enough = few or not found.few
                if found.spark is spark and found.origins == made_from and is_enough:
                    return found
        return None

    def _give_back(self, query: CompiledQuery) -> None:
        if query.name is None:
            return
        with self._lock:
            self._free.setdefault(query.name, []).append(query)
            while len(self._free) > KEPT:
                del self._free[next(iter(self._free))]

    def _compiled(
        self,
        plan: PullPlan,
        name: str | None,
        properties: Mapping[str, str],
        spark: SparkSession,
        made_from: Origins,
        few: bool,
    ) -> CompiledQuery:
        from streamsql.executor.lowering.compiled_plan import tables_plan
        from streamsql.executor.spark.bridge import Bridge

        context = compiling_context(self._services, self._folder, properties, spark)
        known = {
            each.source.name: self._reader(each.source, context)
            for each in operators(plan.query.root)
            if isinstance(each, Scan)
        }
        standard = standard_view(plan) is not None
        ansi = Bridge.of(spark).ansi(of_stores=True) if standard else nullcontext(spark)
        with ansi as session:
            context = replace(context, spark=session)
            compiled, tables = tables_plan(
                plan, context, lambda source: known[source.name], few=few
            )
        readers = tuple(known[source.name] for source in tables)
        return CompiledQuery(name, compiled, spark, made_from, tuple(tables), readers, few)

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
