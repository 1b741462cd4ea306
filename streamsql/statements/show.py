"""SHOW: lists in ksqlDB's columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from streamsql.catalog import Source
from streamsql.config import EngineConfig, is_internal
from streamsql.errors import CatalogError
from streamsql.functions import REGISTRY
from streamsql.kafka.client import KafkaClient, TopicInfo
from streamsql.kafka.groups import Readers
from streamsql.nodes import ConnectorType, Show, ShowWhat
from streamsql.planner.ddl.user_functions import functions_of
from streamsql.planner.plans.query_plan import Mode
from streamsql.properties import PROPERTIES, get_text, shown
from streamsql.results import Field, Result, Rows, Text
from streamsql.runtime.state import Context
from streamsql.schema import Kind
from streamsql.statements import connectors
from streamsql.statements.describe import description
from streamsql.statements.dispatch import handle
from streamsql.statements.metrics import late_rows
from streamsql.statements.query_details import ASLEEP, details
from streamsql.status import QueryInfo, QueryState
from streamsql.types import to_sql


@handle.register
def show(statement: Show, context: Context) -> Iterable[Result]:
    return _LISTS[statement.what](context, statement.extended)


def _fields(*names: str) -> tuple[Field, ...]:
    return tuple(Field(name) for name in names)


def _sources(kind: Kind) -> Callable[[Context, bool], Iterable[Result]]:
    name = f"{kind.value.capitalize()} Name"

    def rows(context: Context, extended: bool) -> Iterable[Result]:
        sources = sorted(context.state.catalog.of_kind(kind), key=lambda s: s.name)
        if extended:
            return [part for s in sources for part in description(s, context, extended=True)]
        fields = _fields(name, "Kafka Topic", "Key Format", "Value Format", "Windowed")
        return [Rows(fields, [_source_row(s) for s in sources])]

    return rows


def _materialized_views(context: Context, extended: bool) -> Iterable[Result]:
    found = [s for s in context.state.catalog.of_kind(Kind.TABLE) if s.is_materialized_view]
    rows = [
        (s.name, s.topic.name, s.created_by_query, s.statement)
        for s in sorted(found, key=lambda s: s.name)
    ]
    return [Rows(_fields("View Name", "Kafka Topic", "Query ID", "Statement"), rows)]


def _source_row(source: Source) -> tuple[object, ...]:
    topic, lookup = source.topic, source.lookup
    if lookup is not None:
        return source.name, "", "NONE", lookup.format or lookup.connection, False
    return (
        source.name,
        topic.name,
        topic.key_format.name,
        topic.value_format.name,
        source.is_windowed,
    )


def _topics(everything: bool) -> Callable[[Context, bool], Iterable[Result]]:
    def listed(context: Context, extended: bool) -> Iterable[Result]:
        client = context.state.services.kafka.get()
        names = [n for n in client.topics() if everything or not is_internal(n)]
        found = [info for name in names if (info := client.describe(name)) is not None]
        plain = [(t.name, t.partitions, t.replicas) for t in found]
        fields = _fields("Kafka Topic", "Partitions", "Partition Replicas")
        if not extended:
            return [Rows(fields, plain)]
        queries = Counter(context.state.queries.topics())
        more = _fields("Consumers", "Consumer Groups", "Queries", "Offsets", "Settings")
        readers = client.readers()
        rows = [
            (
                *row,
                *_readers(readers.get(t.name)),
                queries[t.name],
                _count(client, t.name),
                _settings(t),
            )
            for row, t in zip(plain, found, strict=True)
        ]
        return [Rows((*fields, *more), rows)]

    return listed


def _readers(readers: Readers | None) -> tuple[int, int]:
    return (readers.consumers, readers.groups) if readers else (0, 0)


def _count(client: KafkaClient, topic: str) -> int | None:
    """Number of offsets in a topic; None if it was deleted meanwhile."""
    try:
        ends, begins = client.end_offsets(topic), client.begin_offsets(topic)
    except CatalogError:
        return None
    return sum(end - begins.get(p, 0) for p, end in ends.items())


def _settings(topic: TopicInfo) -> str:
    return ", ".join(f"{name}={value}" for name, value in topic.config.items())


def _queries(context: Context, extended: bool) -> Iterable[Result]:
    state = context.state
    infos = [*state.queries.infos(), *state.pushes.infos()]
    if extended:
        parts = [part for q in infos for part in details(q, context)]
        return parts or [Text("There are no queries.")]
    fields = _fields(
        "Query ID",
        "Query Type",
        "Status",
        "Mode",
        "Guarantee",
        "Lag",
        "Sink Name",
        "Remark",
        "Query String",
    )
    metrics = state.query_metrics()
    rows = []
    for q in infos:
        remarks = (_remark(q), late_rows(metrics.get(q.id)))
        remark = "; ".join(filter(None, remarks)) or None
        rows.append(
            (q.id, q.kind, q.state.value, q.mode, q.guarantee, q.lag, q.sink, remark, q.sql)
        )
    return [Rows(fields, rows)]


def _remark(query: QueryInfo) -> str | None:
    """Exceptional status: an error, why it waits, why it does not run in real time, that it is
    idle."""
    if query.error:
        return query.error.splitlines()[0]
    if (
        query.state in (QueryState.WAITING, QueryState.STANDBY)
        or query.mode != Mode.REAL_TIME.value
    ):
        return query.reason
    return ASLEEP if query.asleep else None


def _functions(context: Context, extended: bool) -> Iterable[Result]:
    found = [*REGISTRY, *functions_of(context.state.catalog)]
    rows = [(f.name, f.type, f.category, f.doc) for f in sorted(found, key=lambda f: f.name)]
    return [Rows(_fields("Function Name", "Type", "Category", "Description"), rows)]


def _types(context: Context, extended: bool) -> Iterable[Result]:
    found = sorted(context.state.catalog.types.items())
    return [Rows(_fields("Type Name", "Schema"), [(n, to_sql(t)) for n, t in found])]


def _views(context: Context, extended: bool) -> Iterable[Result]:
    found = sorted(context.state.catalog.views.values(), key=lambda view: view.name)
    rows = [(v.name, ", ".join(sorted(v.reads)), v.statement) for v in found]
    return [Rows(_fields("View Name", "Reads", "Statement"), rows)]


def _sinks(context: Context, extended: bool) -> Iterable[Result]:
    found = sorted(context.state.catalog.sinks.values(), key=lambda sink: sink.name)
    fields = _fields("Sink Name", "Reads", "Connection", "Path", "Format", "Query ID")
    rows = [
        (s.name, s.reads or "ALL TABLES", s.connection, s.place, s.format, s.query_id)
        for s in found
    ]
    return [Rows(fields, rows)]


def _databases(context: Context, extended: bool) -> Iterable[Result]:
    catalog = context.state.catalog
    rows = [
        (d.name, "POSTGRES", d.login.url, d.login.user, len(catalog.captured_from(d.name)))
        for d in sorted(catalog.databases.values(), key=lambda database: database.name)
    ]
    return [Rows(_fields("Source Name", "Connection", "URL", "User", "Tables"), rows)]


def _properties(context: Context, extended: bool) -> Iterable[Result]:
    state = context.state
    overrides = {**_start_options(state.config), **context.session.properties}
    sizes = state.sizes.effective()
    rows = [
        (
            name,
            shown(name, overrides.get(name)),
            shown(name, get_text(overrides, name) or sizes.get(name)),
            definition.doc,
        )
        for name, definition in sorted(PROPERTIES.items())
    ]
    fields = _fields("Property", "Default override", "Effective Value", "Description")
    return [Rows(fields, rows)]


def _start_options(config: EngineConfig) -> dict[str, str]:
    return {n: value for n, value in config.properties.items() if PROPERTIES[n].at_start}


def _variables(context: Context, extended: bool) -> Iterable[Result]:
    rows = sorted(context.session.variables.items())
    return [Rows(_fields("Variable Name", "Value"), rows)]


def _connectors(type: ConnectorType | None) -> Callable[[Context, bool], Iterable[Result]]:
    return lambda context, extended: connectors.show(context, type)


_LISTS: dict[ShowWhat, Callable[[Context, bool], Iterable[Result]]] = {
    ShowWhat.STREAMS: _sources(Kind.STREAM),
    ShowWhat.TABLES: _sources(Kind.TABLE),
    ShowWhat.TOPICS: _topics(everything=False),
    ShowWhat.ALL_TOPICS: _topics(everything=True),
    ShowWhat.QUERIES: _queries,
    ShowWhat.FUNCTIONS: _functions,
    ShowWhat.TYPES: _types,
    ShowWhat.VIEWS: _views,
    ShowWhat.MATERIALIZED_VIEWS: _materialized_views,
    ShowWhat.SINKS: _sinks,
    ShowWhat.SOURCES: _databases,
    ShowWhat.PROPERTIES: _properties,
    ShowWhat.VARIABLES: _variables,
    ShowWhat.CONNECTORS: _connectors(None),
    ShowWhat.SOURCE_CONNECTORS: _connectors(ConnectorType.SOURCE),
    ShowWhat.SINK_CONNECTORS: _connectors(ConnectorType.SINK),
    ShowWhat.CONNECTOR_PLUGINS: lambda context, extended: connectors.show_plugins(context),
}
