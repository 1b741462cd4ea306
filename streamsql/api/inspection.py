"""Inspection of an engine as data (facts.py)."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from streamsql.api.checking import check_against
from streamsql.api.facts import (
    ColumnOrigin,
    ConnectorFacts,
    FunctionFacts,
    LineageFacts,
    ParameterFacts,
    PlanFacts,
    Progress,
    QueryFacts,
    QueryFlow,
    Read,
    SignatureFacts,
    SourceFacts,
    TopicFacts,
    Topology,
    ViewFacts,
)
from streamsql.api.placeholders import columns_of, expected_types
from streamsql.api.script import PreparedStatement
from streamsql.catalog import Catalog, Source
from streamsql.config import PROCESSING_LOG_TOPIC, is_internal
from streamsql.errors import StreamSQLError
from streamsql.executor.queries.push import SCALABLE, TRANSIENT
from streamsql.executor.queries.status_poll import Progress as QueryProgress
from streamsql.functions import REGISTRY
from streamsql.functions.base import Function
from streamsql.functions.user import UserAggregate, UserFunction, using
from streamsql.kafka.client import KafkaClient
from streamsql.planner.ddl.user_functions import functions_of
from streamsql.planner.ddl.views import source_of
from streamsql.planner.explain.plan import explain
from streamsql.planner.operators import Aggregate, Export, Operator, Sink
from streamsql.planner.operators.edges import Edge
from streamsql.planner.plans.query_plan import QueryPlan
from streamsql.planner.plans.statements import QueryStatementPlan
from streamsql.planner.statements import plan
from streamsql.results import Field
from streamsql.runtime.state import EngineState
from streamsql.schema import Kind, Schema
from streamsql.session import Session
from streamsql.status import QueryInfo
from streamsql.types import SQLType


class Inspection:
    """Reads the state of an engine. Without Kafka, facts that depend on it are None."""

    def __init__(self, state: EngineState) -> None:
        self._state = state

    # -- catalog -----------------------------------------------------------------------------------

    def sources(self, kind: Kind | None = None) -> list[SourceFacts]:
        """All streams and tables, or those of a kind, in order of creation."""
        catalog = self._state.catalog
        sources = catalog.sources.values() if kind is None else catalog.of_kind(kind)
        return [_source(source, catalog) for source in sources]

    def source(self, name: str) -> SourceFacts:
        """Raises CatalogError for an unknown name."""
        catalog = self._state.catalog
        return _source(catalog.get(name), catalog)

    def topic_of(self, source: str) -> str | None:
        """Topic of a stream or table; None if it does not exist."""
        found = self._state.catalog.sources.get(source)
        return None if found is None or found.lookup else found.topic.name

    def views(self) -> list[ViewFacts]:
        views = self._state.catalog.views.values()
        return [ViewFacts(v.name, tuple(sorted(v.reads)), v.statement) for v in views]

    def view_schema(self, name: str) -> Schema:
        """Columns of a view; KeyError for an unknown name."""
        catalog = self._state.catalog
        return source_of(catalog.views[name], catalog).schema

    def types(self) -> dict[str, SQLType]:
        return dict(self._state.catalog.types)

    def functions(self) -> list[FunctionFacts]:
        found = [*REGISTRY, *functions_of(self._state.catalog)]
        return [_function(f) for f in sorted(found, key=lambda f: f.name)]

    def function(self, name: str) -> FunctionFacts:
        with using(functions_of(self._state.catalog)):
            return _function(REGISTRY.get(name))

    @property
    def sequence(self) -> int:
        """Number of the last statement in the log, or 0."""
        return self._state.log.next_sequence - 1

    # -- queries -----------------------------------------------------------------------------------

    def infos(self) -> list[QueryInfo]:
        """Persistent and push queries."""
        return [*self._state.queries.infos(), *self._state.pushes.infos()]

    def info(self, query_id: str) -> QueryInfo | None:
        wanted = query_id.upper()
        return next((info for info in self.infos() if info.id.upper() == wanted), None)

    def is_push(self, query_id: str) -> bool:
        """Whether an id belongs to a push query, including ended ones."""
        return query_id.startswith((f"{TRANSIENT}_", f"{SCALABLE}_"))

    def query(self, query_id: str) -> QueryFacts | None:
        """None if the query does not exist."""
        info = self.info(query_id)
        if info is None:
            return None
        pushed = self._state.pushes.plan(info.id)
        if pushed is not None:
            return QueryFacts(info, _plan(pushed), explain(pushed), {})
        try:
            definition = self._state.queries.definition(info.id)
        except StreamSQLError:
            return None
        found = definition.plan
        return QueryFacts(info, _plan(found), explain(found, running=info), definition.properties)

    def lineage(self, query_id: str) -> LineageFacts | None:
        try:
            plan = self._state.queries.definition(query_id).plan
        except StreamSQLError:
            return None
        if not isinstance(plan.root, Sink):
            return None
        with using(functions_of(self._state.catalog)):
            found = plan.root.lineage()
        columns = {name: _origins(found.columns.get(name, ())) for name in plan.schema.names}
        return LineageFacts(plan.reads, plan.root.target.name, columns, _origins(found.influences))

    def planned(self, statement: PreparedStatement, session: Session) -> PlanFacts | None:
        """How the query of a statement would run; None if it has none."""
        catalog, schemas = self._state.catalog, self._state.schemas()
        planned = plan(statement.node, catalog, session.properties, schemas=schemas)
        return _plan(planned.query) if isinstance(planned, QueryStatementPlan) else None

    def columns(self, statement: PreparedStatement, session: Session) -> tuple[Field, ...] | None:
        """Columns of the result of a query; None for another statement."""
        return columns_of(statement, self._state.catalog, session.properties)

    def expected_types(
        self, statement: PreparedStatement, marks: Collection[str], session: Session
    ) -> dict[str, SQLType]:
        """Types expected for text literals of these contents: see placeholders.py."""
        return expected_types(statement, marks, self._state.catalog, session.properties)

    def progress(self, query_id: str) -> list[Progress]:
        """Progress of a persistent query per partition."""
        try:
            topics = self._state.queries.definition(query_id).topics
            seen = self._state.queries.progress(query_id)
        except StreamSQLError:
            return []
        found = []
        for topic in dict.fromkeys(topics):
            known = seen.positions.get(topic, {}) if seen else {}
            ends = seen.ends.get(topic, {}) if seen else {}
            begins = self._begins(topic)
            for partition in sorted(known.keys() | ends.keys() | begins.keys()):
                found.append(
                    Progress(
                        topic,
                        partition,
                        begins.get(partition),
                        ends.get(partition),
                        known.get(partition),
                    )
                )
        return found

    def topology(self) -> Topology:
        """All sources and persistent queries; reads the ends of all topics if Kafka responds."""
        sources = self.sources()
        outage = self._state.watch.outage
        ends = {} if outage else self._all_ends({s.topic for s in sources if s.looked_up is None})
        metrics, at = self._state.query_metrics(), time.time()
        topics = {source.name: source.topic for source in sources}
        flows = []
        for info in self._state.queries.infos():
            try:
                plan = self._state.queries.definition(info.id).plan
                seen = self._state.queries.progress(info.id)
            except StreamSQLError:
                continue  # It has been terminated meanwhile.
            reads = tuple(_read(name, topics.get(name, ""), seen) for name in plan.reads)
            info = info if seen is None or info.lag is None else replace(info, lag=seen.lag)
            flows.append(QueryFlow(info, reads, metrics.get(info.id), seen.at if seen else None))
        totals = {topic: sum(partitions.values()) for topic, partitions in ends.items()}
        views, connectors = tuple(self.views()), tuple(self._connectors())
        return Topology(tuple(sources), views, tuple(flows), connectors, totals, at, outage)

    def _connectors(self) -> Iterator[ConnectorFacts]:
        """Those of the embedded worker, without asking it."""
        worker = self._state.services.embedded_connect
        runs = worker.running() is not None
        for flow in worker.flows:
            found = flow.connector
            state = found.state if found.failure is None else "FAILED"
            yield ConnectorFacts(
                found.name,
                found.type,
                found.class_name,
                state if runs else "UNKNOWN",
                tuple(topic for topic in flow.topics if not is_internal(topic)),
            )

    def check(self, sql: str, session: Session) -> list[StreamSQLError]:
        """Errors of statements, checked against the existing catalog without running them."""
        state = self._state
        return check_against(sql, session, state.catalog, state.schemas())

    def topic(self, name: str) -> TopicFacts | None:
        client = self._client()
        try:
            found = client.describe(name) if client else None
        except StreamSQLError:
            return None
        return None if found is None else TopicFacts(found.partitions, found.replicas)

    def _begins(self, topic: str) -> dict[int, int]:
        client = self._client()
        try:
            return client.begin_offsets(topic) if client else {}
        except StreamSQLError:
            return {}

    def _all_ends(self, topics: Collection[str]) -> dict[str, dict[int, int]]:
        client = self._client()
        try:
            return client.all_end_offsets(topics) if client else {}
        except StreamSQLError:
            return {}

    def bootstrap_servers(self) -> str | None:
        """Bootstrap servers of the cluster; None if there is none."""
        client = self._client()
        return client.bootstrap if client else None

    def cluster_id(self) -> str | None:
        client = self._client()
        return client.cluster_id() if client else None

    def kafka_answers(self) -> bool:
        """Whether Kafka responds within two seconds."""
        client = self._client()
        return client is not None and client.reachable(2.0)

    def _client(self) -> KafkaClient | None:
        client: KafkaClient | None = self._state.services.kafka.peek()
        return client


def _source(source: Source, catalog: Catalog) -> SourceFacts:
    topic, lookup = source.topic, source.lookup
    return SourceFacts(
        name=source.name,
        kind=source.kind,
        schema=Schema(source.shown),
        topic=topic.name,
        key_format=topic.key_format.name if source.schema.key else None,
        value_format=lookup.format or lookup.connection if lookup else topic.value_format.name,
        window=topic.window.type.value if topic.window else None,
        timestamp=source.timestamp.name if source.timestamp else None,
        statement=source.statement,
        partitions=topic.partitions,
        replicas=topic.replicas,
        created_by=source.created_by_query,
        readers=tuple(catalog.readers(source.name)),
        writers=tuple(catalog.writers(source.name)),
        viewers=tuple(catalog.viewers(source.name)),
        built_in=topic.name == PROCESSING_LOG_TOPIC,
        comment=source.comment,
        constraints=source.constraints,
        looked_up=lookup.place if lookup else None,
        looked_up_table=(lookup.table or None) if lookup else None,
        materialized=source.is_materialized_view,
    )


def _read(source: str, topic: str, seen: QueryProgress | None) -> Read:
    if seen is None or topic not in seen.positions:
        return Read(source, None, None)
    return Read(source, sum(seen.positions[topic].values()), seen.lag_of(topic))


def _origins(edges: Iterable[Edge]) -> tuple[ColumnOrigin, ...]:
    found = (ColumnOrigin(e.source, e.column, e.by.direct, e.by.value) for e in edges)
    return tuple(sorted(found, key=lambda o: (o.source, o.column, o.transformation)))


def _plan(plan: QueryPlan) -> PlanFacts:
    root = plan.root
    sink = root.target.name if isinstance(root, Sink | Export) else None
    return PlanFacts(plan.schema, plan.reads, sink, next(_windows(root), None))


def _windows(plan: Operator) -> Iterator[str]:
    """The types of the windows that rows are grouped by, the last grouping first."""
    if isinstance(plan, Aggregate):
        if plan.window is not None:
            yield plan.window.type.value
        return
    for node in plan.inputs:
        yield from _windows(node)


def _function(function: Function) -> FunctionFacts:
    signatures = [
        SignatureFacts(
            tuple(ParameterFacts(p.name, str(p.pattern), p.variadic) for p in s.parameters),
            s.returns,
        )
        for s in function.signatures
    ]
    own = isinstance(function, UserFunction | UserAggregate)
    return FunctionFacts(
        function.name, function.type, function.category, function.doc, own, tuple(signatures)
    )
