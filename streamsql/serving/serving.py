"""Answers pull queries out of the stores of served tables.

A query is compiled once and run, in the JVM, over the rows that its route names.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

from streamsql.catalog import Catalog, Source
from streamsql.data_folder import DataDir
from streamsql.errors import ConfigError, InternalError, StreamSQLError
from streamsql.executor.frames.push_rows import push_decoder
from streamsql.executor.queries.launcher import SparkLauncher
from streamsql.executor.queries.manager import QueryManager
from streamsql.executor.services.services import Services
from streamsql.nodes import Statement
from streamsql.planner.operators import Operator, Scan, operators
from streamsql.planner.plans.routes import Batch, KeyLookup, KeyRange, StoredTables, TableScan
from streamsql.planner.plans.statements import PullPlan, ReadAsOf
from streamsql.planner.pull.standard import makes_rows
from streamsql.properties import CONSISTENCY_TOKEN, VIEW_EPOCH, get_text
from streamsql.results import Answer, Row
from streamsql.schema import Kind
from streamsql.serving.compiled import CompiledPlans
from streamsql.serving.consistency import Consistency
from streamsql.serving.current_channel import CurrentChannel
from streamsql.serving.epochs import IncludedWrites, Wanted, common_epoch
from streamsql.serving.key_conditions import without_keys
from streamsql.serving.keys import can_look_up, key_bytes, packed, range_bytes, window_bytes
from streamsql.serving.lookups import Lookups
from streamsql.serving.rows import answer_rows, result_schema
from streamsql.serving.small_queries import SmallQueries
from streamsql.serving.stores import TableStores
from streamsql.serving.table_queries import FEW, TableQueries
from streamsql.serving.warm_up import WarmUp
from streamsql.session import Session
from streamsql.status import QueryState, StoreInfo
from streamsql.values.scalars import millis

if TYPE_CHECKING:
    from streamsql.serving.table import EpochRecords, StoredTable


_STOPPED = frozenset({QueryState.PAUSED, QueryState.ERROR})


class JobNeeded(Exception):
    """A pull query cannot be computed from stores without a Spark job."""


class Serving:
    """Answers queries over one engine's tables; thread-safe."""

    def __init__(
        self,
        services: Services,
        data: DataDir,
        catalog: Callable[[], Catalog],
        launcher: SparkLauncher,
        queries: QueryManager,
        table_memory: int,
        history_ms: int | None,
    ) -> None:
        """`table_memory` bounds the rows of tables that are kept in memory, in bytes; the rows of
        past epochs of views are kept for `history_ms`; None: views have no epochs."""
        self._catalog = catalog
        self.has_epochs = history_ms is not None
        self.stores = TableStores(services, data.serving, catalog, self._warm_up, history_ms)
        self._services = services
        self._written = IncludedWrites()
        self._all_queries = queries
        self.consistency = Consistency(services.kafka.get, launcher, queries, self.stores)
        self._plans = CompiledPlans(services, data.serving, catalog)
        self._queries = TableQueries(services, data.serving, catalog, table_memory)
        self._warming = WarmUp(services, catalog, self._plans, self._queries)
        self._channel = CurrentChannel(services)
        self._lookups = Lookups(self.stores, self._plans, self.consistency, self._channel)
        self._small_queries = SmallQueries(
            self.stores, self._queries, self._reads_few, CurrentChannel(services)
        )

    def start(self, *, eager: bool) -> None:
        """Let the stores follow their topics; see TableStores.start."""
        self.stores.start(eager=eager)

    def changed(self) -> None:
        self.stores.changed()

    def _warm_up(self, source: Source) -> None:
        """Of a table that is followed: let the JVM compile before anybody waits for it."""
        self._warming.resume(source, self.stores, self._lookups.rehearse)

    def close(self) -> None:
        """Stop following tables and answering pull queries."""
        self.stores.close()
        self._channel.close()
        self._small_queries.close()

    def lag(self, source: Source) -> int | None:
        """How many records a table's store is behind its topic; None where that is not known."""
        table = self.stores.peek(source)
        return None if table is None else table.lag()

    def infos(self) -> list[StoreInfo]:
        """The stores that currently follow their topics."""
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

    def answer(
        self, plan: PullPlan, properties: Mapping[str, str]
    ) -> tuple[Iterator[Row], int | None]:
        """The rows of a plan with a route other than Batch, in order, and the epoch as of which
        they are read, if it is one. JobNeeded if it cannot be computed without a Spark job;
        ExternalError if a store is unreadable, not complete in time, has not kept the epoch, or
        does not include the consistency token's writes in time."""
        if isinstance(plan.route, StoredTables | TableScan):
            return self._answer_of_tables(plan, properties)
        source = scanned(plan.query.root).source
        table = self._table(source, properties)
        epoch = self._epoch(plan, {source.name: table}, properties)
        program = self._plans.get(without_keys(plan), properties)
        results = _results(plan, source, table, program, epoch)
        return answer_rows(results, plan, result_schema(plan)), epoch

    def _answer_of_tables(
        self, plan: PullPlan, properties: Mapping[str, str]
    ) -> tuple[Iterator[Row], int | None]:
        try:
            query = self._queries.compiled(plan, properties, few=self._reads_few(plan))
        except InternalError as error:
            raise JobNeeded(error.detail or error.message) from error
        scans = [each for each in operators(plan.query.root) if isinstance(each, Scan)]
        tables = {each.source.name: self._table(each.source, properties) for each in scans}
        epoch = self._epoch(plan, tables, properties)
        return map(push_decoder(plan.schema), self._queries.run(query, tables, epoch)), epoch

    def _reads_few(self, plan: PullPlan) -> bool:
        """Whether a query over whole tables evaluates its expressions for few rows."""
        if makes_rows(plan):
            return False
        rows = 1
        for each in operators(plan.query.root):
            if isinstance(each, Scan):
                table = self.stores.peek(each.source)
                rows *= FEW + 1 if table is None else max(1, table.rows())
        return rows <= FEW

    def records(
        self, plan: PullPlan, properties: Mapping[str, str]
    ) -> tuple[dict[str, EpochRecords], int | None]:
        """Of a plan for a Spark job: the records of its views by topic, and their epoch. None of
        both if one of them is between two epochs."""
        scans = [each for each in operators(plan.query.root) if isinstance(each, Scan)]
        views = {each.source.name: each.source for each in scans if _is_view(each)}
        tables = {name: self._table(source, properties) for name, source in views.items()}
        epoch = self._common_epoch(tables, self._wanted(plan, properties), properties)
        if epoch is None:
            return {}, None
        return {table.topic: table.records(epoch) for table in tables.values()}, epoch

    def _table(self, source: Source, properties: Mapping[str, str]) -> StoredTable:
        """A table's store once it can be read, with what the session has written."""
        table = self.stores.complete(source)
        if not source.is_view or self._written.epoch(_token(properties)) is None:
            self.consistency.wait_stored(source, self._catalog(), properties)
        return table

    def _epoch(
        self, plan: PullPlan, tables: Mapping[str, StoredTable], properties: Mapping[str, str]
    ) -> int | None:
        scans = [each for each in operators(plan.query.root) if isinstance(each, Scan)]
        views = {each.source.name: tables[each.source.name] for each in scans if _is_view(each)}
        return self._common_epoch(views, self._wanted(plan, properties), properties)

    def _common_epoch(
        self, views: Mapping[str, StoredTable], wanted: Wanted, properties: Mapping[str, str]
    ) -> int | None:
        found = common_epoch(views, wanted)
        if wanted.least is None and found is not None and len(views) > 1:
            self._written.put(_token(properties), found)
        return found

    def _wanted(self, plan: PullPlan, properties: Mapping[str, str]) -> Wanted:
        of_session = get_text(properties, VIEW_EPOCH)
        if plan.as_of is not None:
            return Wanted(plan.as_of.epoch, self._time(plan.as_of, properties))
        if of_session:
            return Wanted(int(of_session))
        return self._newest(properties)

    def _newest(self, properties: Mapping[str, str]) -> Wanted:
        token = _token(properties)
        return Wanted(least=self._written.epoch(token)) if token else Wanted()

    def _time(self, as_of: ReadAsOf, properties: Mapping[str, str]) -> int | None:
        if not isinstance(as_of.time, PullPlan):
            return as_of.time
        ((moment,),) = [row.values for row in self.answer(as_of.time, properties)[0]]
        if not isinstance(moment, datetime):
            raise ConfigError("AS OF TIMESTAMP is null", hint="Give a time in the past.")
        return millis(moment)

    def epoch(self, properties: Mapping[str, str]) -> int | None:
        """The newest epoch that the stores of all views have, with what the session has written;
        None: there is none. Opens the stores of all views if no view has been read. Views
        whose queries do not run are left out: they may not have kept it. So are new ones, which
        have done no epoch yet."""
        stopped = {info.id for info in self._all_queries.infos() if info.state in _STOPPED}
        views = [source for source in self._catalog().of_kind(Kind.TABLE) if source.is_view]
        views = [view for view in views if view.created_by_query not in stopped]
        opened = [view for view in views if self.stores.peek(view) is not None] or views
        tables = {view.name: self._table(view, properties) for view in opened}
        known = {name: table for name, table in tables.items() if table.has_epochs()}
        return self._common_epoch(known, self._newest(properties), properties)

    def lookup(self, sql: str, statement: Statement | None, session: Session) -> Answer | None:
        """The answer of a lookup of one key, if it is as simple as lookups.py wants it.

        `statement`: what the text has been parsed to; None: only where its shape is known."""
        catalog = self._catalog()
        found = self._lookups.find(sql, statement, session, catalog)
        if found is None and statement is not None:
            self._small_queries.prepare(sql, statement, session, catalog)
        return found

    def lookup_soon(
        self, sql: str, session: Session
    ) -> Coroutine[object, object, Answer | None] | None:
        """The answer of such a lookup, or of a small query that has been asked before, from an
        event loop, where that takes no thread: not for the first of a shape, nor with a
        consistency token. None and a result of None: it has to be executed in the usual way."""
        catalog = self._catalog()
        found = self._lookups.find_soon(sql, session, catalog)
        return found or self._small_queries.find_soon(sql, session, catalog)


def scanned(root: Operator) -> Scan:
    """The only scan of a plan that is answered out of a store."""
    while not isinstance(root, Scan):
        (root,) = root.inputs
    return root


def _token(properties: Mapping[str, str]) -> str:
    """Of what the session has written; empty: nothing."""
    return get_text(properties, CONSISTENCY_TOKEN) or ""


def _is_view(scan: Scan) -> bool:
    return scan.source.is_view


def _results(
    plan: PullPlan, source: Source, table: StoredTable, program: Any, epoch: int | None
) -> Iterator[bytes]:
    route = plan.route
    if isinstance(route, Batch):
        raise InternalError("the plan is not for a store")
    if isinstance(route, KeyLookup) and can_look_up(source):
        keys = [key_bytes(source, values) for values in route.keys]
        wanted = packed(keys, source, route.window)
        return iter(table.lookups(program, window_bytes(source), epoch).get(wanted).results)
    low, high = range_bytes(source, route) if isinstance(route, KeyRange) else (None, None)
    return table.scan(program, low, high, epoch)
