"""Answers pull queries out of the stores of served tables.

A query becomes a program of the JVM (spark/local.py) that is run over the rows its route names.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from streamsql.catalog import Catalog, Source
from streamsql.data_folder import DataDir
from streamsql.errors import InternalError, StreamSQLError
from streamsql.executor.services.services import Services
from streamsql.planner.plans.logical import LogicalPlan, Scan
from streamsql.planner.plans.routes import Batch, KeyLookup, KeyRange
from streamsql.planner.plans.statements import PullPlan
from streamsql.registry.serdes import Schemas
from streamsql.results import Answer, Row
from streamsql.schema import Kind
from streamsql.serving.consistency import Consistency
from streamsql.serving.key_conditions import without_keys
from streamsql.serving.keys import (
    can_look_up,
    key_bytes,
    packed,
    range_bytes,
    window_bytes,
)
from streamsql.serving.lookups import Lookups
from streamsql.serving.stores import TableStores
from streamsql.session import Session
from streamsql.status import StoreInfo

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from streamsql.executor.queries.launcher import SparkLauncher
    from streamsql.executor.queries.manager import QueryManager
    from streamsql.serving.channel import Channel, Channels
    from streamsql.serving.table import StoredTable

COMPLETE_SECONDS = 60.0
"""How long an answer waits for a store that is being filled."""
PROGRAMS = 256
"""How many prepared queries are kept."""


@dataclass(frozen=True)
class _Prepared:
    """The Java CompiledPlan, and in which JVM it is."""

    program: Any
    spark: SparkSession


class Serving:
    """What answers for one engine's tables; may be used from any thread."""

    def __init__(
        self,
        services: Services,
        data: DataDir,
        catalog: Callable[[], Catalog],
        launcher: SparkLauncher,
        queries: QueryManager,
    ) -> None:
        self._services = services
        self._folder = data.serving
        self._catalog = catalog
        self.stores = TableStores(services, data.serving, catalog)
        self.consistency = Consistency(services.kafka.get, launcher, queries, self.stores)
        self._prepared: dict[str, _Prepared] = {}
        self._prepared_for: Catalog | None = None
        self._lock = threading.Lock()
        self._lookups = Lookups(self)
        self._channels: Channels | None = None

    def start(self, *, eager: bool) -> None:
        """Let the stores follow their topics; see TableStores.start."""
        self.stores.start(eager=eager)

    def changed(self) -> None:
        """The catalog has changed."""
        self.stores.changed()

    def close(self) -> None:
        self.stores.close()
        if self._channels is not None:
            self._channels.close()

    def lag(self, source: Source) -> int | None:
        """How many records a table's store is behind its topic; None where that is not known."""
        table = self.stores.peek(source)
        return None if table is None else table.lag()

    def infos(self) -> list[StoreInfo]:
        """The stores that follow their topics just now."""
        found = []
        for source in self._catalog().of_kind(Kind.TABLE):
            table = self.stores.peek(source)
            if table is not None:
                with suppress(StreamSQLError):  # closed just now, or with its JVM
                    found.append(StoreInfo(source.name, table.lag(), table.rows()))
        return found

    def positions(self, source: Source) -> dict[int, int] | None:
        """The next offset of each partition that a table's store will take in."""
        table = self.stores.peek(source)
        return None if table is None else table.positions()

    def answer(self, plan: PullPlan, properties: Mapping[str, str]) -> Iterator[Row]:
        """The rows that a plan with a route other than Batch gives, in its order.

        ExternalError where the store cannot be read, or is not complete in time, or does not see
        in time what the properties' consistency token stands for.
        """
        from streamsql.serving.rows import answer_rows, result_schema

        source = scanned(plan.query.root).source
        table = self.complete(source)
        self.consistency.wait_stored(source, self._catalog(), properties)
        program = self.program(without_keys(plan), properties)
        results = _results(plan, source, table, program)
        return answer_rows(results, plan, result_schema(plan))

    def lookup(self, sql: str, session: Session) -> Answer | None:
        """The answer of a lookup of one key, if it is as simple as lookups.py wants it."""
        return self._lookups.find(sql, session, self._catalog())

    def lookup_soon(self, sql: str, session: Session) -> Coroutine[object, object, Answer] | None:
        """As `lookup`, from an event loop, where that takes no thread: not for the first of a
        shape, nor with a consistency token."""
        return self._lookups.find_soon(sql, session, self._catalog())

    def channel(self) -> Channel | None:
        """A connection of the running event loop to the JVM, once there is one."""
        spark = self._services.current_spark()
        if spark is None:
            return None
        channels = self._channels
        if channels is None or channels.spark is not spark:
            from streamsql.serving.channel import Channels

            if channels is not None:
                channels.close()
            self._channels = channels = Channels(spark)
        return channels.choose()

    def complete(self, source: Source) -> StoredTable:
        """A table's store, with all that was in its topic when the store was opened."""
        table = self.stores.get(source)
        table.await_complete(COMPLETE_SECONDS)
        return table

    def program(self, plan: PullPlan, properties: Mapping[str, str]) -> Any:
        """The plan as a program of the JVM, which is kept for the next time."""
        from streamsql.parser import to_sql

        spark = self._services.spark.get().session
        catalog = self._catalog()
        name = None if plan.statement is None else to_sql(plan.statement)
        with self._lock:
            if self._prepared_for is not catalog:
                self._prepared.clear()
                self._prepared_for = catalog
            known = self._prepared.get(name) if name else None
        if known is not None and known.spark is spark:
            return known.program
        program = self._lowered(plan, properties, spark)
        with self._lock:
            if name and self._prepared_for is catalog:
                while len(self._prepared) >= PROGRAMS:
                    del self._prepared[next(iter(self._prepared))]
                self._prepared[name] = _Prepared(program, spark)
        return program

    def _lowered(self, plan: PullPlan, properties: Mapping[str, str], spark: SparkSession) -> Any:
        from streamsql.executor.frames.context import LoweringContext
        from streamsql.executor.lowering.compiled_plan import NO_LOG, local_program
        from streamsql.serving.rows import result_schema

        context = LoweringContext(
            spark=spark,
            bootstrap_servers=self._services.kafka.get().bootstrap,
            data_dir=self._folder,
            processing_log_topic=NO_LOG,
            schemas=Schemas(lambda: self._services.registry(properties)),
        )
        return local_program(plan.query, result_schema(plan), context)


def scanned(root: LogicalPlan) -> Scan:
    """The only scan of a plan that is answered out of a store."""
    while not isinstance(root, Scan):
        (root,) = root.inputs
    return root


def _results(plan: PullPlan, source: Source, table: StoredTable, program: Any) -> Iterator[bytes]:
    route = plan.route
    if isinstance(route, Batch):
        raise InternalError("the plan is not for a store")
    if isinstance(route, KeyLookup) and can_look_up(source):
        keys = [key_bytes(source, values) for values in route.keys]
        wanted = packed(keys, source, route.window)
        return iter(table.lookups(program, window_bytes(source)).get(wanted))
    low, high = range_bytes(source, route) if isinstance(route, KeyRange) else (None, None)
    return table.scan(program, low, high)
