"""Queries over few rows of tables that are asked again in the same words, as dashboards do.

From its second execution on, such a SELECT is compiled and registered in the JVM, which then
answers it as it does a lookup: one message, no thread, nothing planned. What the JVM cannot answer
at once takes the usual way.
"""

from __future__ import annotations

import asyncio
import struct
import time
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamsql.catalog import Catalog
from streamsql.errors import StreamSQLError
from streamsql.executor.frames.push_rows import push_decoder
from streamsql.nodes import SelectQuery, Statement
from streamsql.planner.operators import Scan, operators
from streamsql.planner.permissions import check_plan
from streamsql.planner.plans.routes import StoredTables, TableScan
from streamsql.planner.plans.statements import PullPlan
from streamsql.planner.statements import plan
from streamsql.properties import CONSISTENCY_TOKEN, VIEW_EPOCH, get_text
from streamsql.results import Answer
from streamsql.schema import Kind, Schema
from streamsql.serving.compiled import name_of
from streamsql.serving.current_channel import CurrentChannel
from streamsql.serving.fingerprints import LONGEST
from streamsql.serving.origins import Origins
from streamsql.serving.prepared import PreparedStatements, planned_by
from streamsql.serving.rows import Decoder
from streamsql.serving.stores import TableStores
from streamsql.serving.table_queries import TableQueries
from streamsql.session import Session

if TYPE_CHECKING:
    from streamsql.serving.channel import Channel
    from streamsql.serving.table import Registered, StoredTable

ANSWER_SECONDS = 10.0
"""How long the JVM is awaited before the query takes the usual way."""
KEPT = 256
"""How many compiled queries are kept."""
NOTED = 1_000
"""How many statements are remembered after their first execution."""
_EPOCH = struct.Struct(">q")
_NEWEST = -1


@dataclass(frozen=True)
class _Prepared:
    origins: Origins
    asked: Registered
    tables: tuple[StoredTable, ...]
    schema: Schema
    decode: Decoder


class SmallQueries:
    """The small queries of one engine; may be used from any thread."""

    def __init__(
        self,
        stores: TableStores,
        queries: TableQueries,
        reads_few: Callable[[PullPlan], bool],
        channel: CurrentChannel,
    ) -> None:
        """`channel`: one of its own, on which no lookup waits for a query."""
        self._stores = stores
        self._queries = queries
        self._reads_few = reads_few
        self._channel = channel
        self._prepared: PreparedStatements[_Prepared] = PreparedStatements(KEPT)
        self._asked: dict[Hashable, None] = {}
        """The names of statements that have been asked for once."""

    def find_soon(
        self, sql: str, session: Session, catalog: Catalog
    ) -> Coroutine[object, object, Answer | None] | None:
        """The answer, for an event loop; None, also as its result: the query has to be executed
        in the usual way."""
        if CONSISTENCY_TOKEN in session.properties:
            return None
        self._prepared.adopt(catalog)
        name = _name(sql, session)
        prepared = self._prepared.get(name)
        if prepared is None:
            return None
        if not all(map(self._stores.is_open, prepared.tables)):
            self._prepared.discard(name)
            return None
        channel = self._channel.get()
        epoch = get_text(session.properties, VIEW_EPOCH)
        packed = _EPOCH.pack(int(epoch) if epoch else _NEWEST)
        return None if channel is None else _ask(channel, prepared, packed)

    def prepare(self, sql: str, statement: Statement, session: Session, catalog: Catalog) -> None:
        """Notes a statement that takes the usual way; prepares one that has been noted before."""
        self._prepared.adopt(catalog)
        name = _name(sql, session)
        if len(sql) > LONGEST or "${" in sql or name in self._prepared:
            return
        if name not in self._asked:
            self._asked[name] = None
            while len(self._asked) > NOTED:
                self._asked.pop(next(iter(self._asked)), None)
            return
        self._asked.pop(name, None)
        try:
            prepared = self._prepare(statement, session, catalog)
            self._channel.listen()
        except StreamSQLError:
            prepared = None  # the usual way tells what is wrong with it
        self._prepared.put(name, prepared, catalog)

    def close(self) -> None:
        self._channel.close()

    def _prepare(
        self, statement: Statement, session: Session, catalog: Catalog
    ) -> _Prepared | None:
        if not isinstance(statement, SelectQuery) or statement.query.emit is not None:
            return None
        asked = plan(statement, catalog, session.properties)
        if not isinstance(asked, PullPlan) or not self._is_small(asked):
            return None
        check_plan(statement, asked, session)
        query = self._queries.compiled(asked, session.properties, few=True)
        scans = [each for each in operators(asked.query.root) if isinstance(each, Scan)]
        tables = {each.source.name: self._stores.get(each.source) for each in scans}
        schema = asked.schema
        return _Prepared(
            query.origins,
            query.registered(tables),
            tuple(tables.values()),
            schema,
            push_decoder(schema),
        )

    def _is_small(self, asked: PullPlan) -> bool:
        of_tables = isinstance(asked.route, StoredTables | TableScan)
        is_plain = asked.as_of is None and asked.limit != 0 and name_of(asked) is not None
        # The result of a stream has a final message.
        is_table = asked.query.root.kind is not Kind.STREAM
        return of_tables and is_plain and is_table and self._reads_few(asked)


async def _ask(channel: Channel, prepared: _Prepared, packed: bytes) -> Answer | None:
    from streamsql.serving.table import Found

    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            content = await channel.ask(prepared.asked.number, packed)
    except TimeoutError:
        return None
    if content is None:
        return None
    found = Found.of(content)
    query_id = f"query_{time.time_ns() // 1_000_000}"
    rows = list(map(prepared.decode, found.results))
    return Answer(query_id, prepared.schema, rows, epoch=found.epoch)


def _name(sql: str, session: Session) -> Hashable:
    return sql, session.role, planned_by(session.properties)
