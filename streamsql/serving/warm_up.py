"""Has the JVM load and compile what pull queries run before anybody waits for one.

The first query of a JVM takes a second, and its first lookups some hundred ms. So the first served
table that has rows is asked for one of its own, again and again, while it or the engine's start is
waited for anyway.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from streamsql.catalog import Catalog, Source
from streamsql.executor.frames.push_rows import push_decoder
from streamsql.executor.services.services import Services
from streamsql.nodes import Statement
from streamsql.parser import parse
from streamsql.planner.plans.routes import StoredTables
from streamsql.planner.plans.statements import PullPlan
from streamsql.planner.statements import plan
from streamsql.results import Value
from streamsql.serving.all_columns import all_columns
from streamsql.serving.compiled import CompiledPlans
from streamsql.serving.rows import result_schema
from streamsql.serving.stores import TableStores
from streamsql.serving.table_queries import TableQueries
from streamsql.session import Session
from streamsql.types import quote

LOOKUPS = 300
"""The JVM compiles code after some hundred executions."""
Rehearse = Callable[[str, Statement, Session, Catalog, int], None]
"""See Lookups.rehearse."""


class WarmUp:
    """For one engine; used by the thread that sees to the stores."""

    def __init__(
        self,
        services: Services,
        catalog: Callable[[], Catalog],
        plans: CompiledPlans,
        queries: TableQueries,
    ) -> None:
        self._services = services
        self._catalog = catalog
        self._plans = plans
        self._queries = queries
        self._compiled: object = None
        """The Spark session that has compiled queries, and the one that has looked up keys."""
        self._looked_up: object = None

    def resume(self, source: Source, stores: TableStores, rehearse: Rehearse) -> None:
        """Prepares what is possible for an open store. Once per JVM."""
        spark = self._services.current_spark()
        if spark is None or self._looked_up is spark:
            return
        if self._look_up_first(source, stores, rehearse):
            self._looked_up = spark
        if self._compiled is not spark:
            self._compiled = spark
            counted = self._plan(f"SELECT COUNT(*) AS N FROM {quote(source.name)};")
            if isinstance(counted.route, StoredTables):
                self._queries.prepare(counted, {})

    def _look_up_first(self, source: Source, stores: TableStores, rehearse: Rehearse) -> bool:
        """Looks up a row of the table, which may still be filling: its first query follows as soon
        as it is full."""
        everything = all_columns(source, self._catalog(), {})
        rows = stores.get(source).scan(self._plans.get(everything, {}), None, None)
        first = next(rows, None)
        rows.close()
        if first is None:
            return False
        schema = result_schema(everything)
        cells = dict(zip(schema.names, push_decoder(schema)(first).values, strict=True))
        key = [column.name for column in source.schema.key]
        if all(name in cells for name in key):  # the key of a view may be hidden
            self._look_up(source, [cells[name] for name in key], rehearse)
        return True

    def _plan(self, sql: str) -> PullPlan:
        (statement,) = parse(sql)
        found = plan(statement, self._catalog(), {})
        assert isinstance(found, PullPlan)
        return found

    def _look_up(self, source: Source, key: list[Value], rehearse: Rehearse) -> None:
        names = (quote(column.name) for column in source.schema.key)
        where = " AND ".join(f"{n} = {literal(v)}" for n, v in zip(names, key, strict=True))
        sql = f"SELECT * FROM {quote(source.name)} WHERE {where};"
        (statement,) = parse(sql)
        rehearse(sql, statement, Session(), self._catalog(), LOOKUPS)


def literal(value: Value) -> str:
    if isinstance(value, int | float | Decimal):
        return str(value)
    return "'" + str(value).replace("'", "''") + "'"
