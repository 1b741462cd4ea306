"""DESCRIBE and EXPLAIN: what a source, a function or a query is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from streamsql.catalog import Catalog, ExternalSink, Source
from streamsql.errors import BindError, StreamSQLError
from streamsql.functions import REGISTRY
from streamsql.functions.user import UserAggregate, UserFunction, using
from streamsql.kafka.client import KafkaClient
from streamsql.ksqldb import says
from streamsql.nodes import Describe, DescribeAll, DescribeFunction, DescribeSink, Explain
from streamsql.planner.ddl.control import unknown_sink
from streamsql.planner.ddl.user_functions import functions_of
from streamsql.planner.ddl.views import source_of
from streamsql.planner.explain.plan import explain as explain_plan
from streamsql.planner.operators import lookup_facts
from streamsql.planner.plans.statements import ExplainPlan, ExplainQueryPlan
from streamsql.results import Field, Result, Rows, Text
from streamsql.runtime.state import Context
from streamsql.schema import Column, FormatSpec, Kind, Namespace
from streamsql.statements.captures import changed_columns
from streamsql.statements.dispatch import handle
from streamsql.statements.query_details import offsets, query_info, query_line, query_lines
from streamsql.types import to_sql

_TITLE_WIDTH = 22


@handle.register
def describe(statement: Describe, context: Context) -> Iterable[Result]:
    catalog = context.state.catalog
    if statement.name in catalog.views:
        return _view(catalog, statement)
    try:
        source = catalog.get(statement.name)
    except StreamSQLError as error:
        error.span = error.span or statement.span
        error.ksqldb = says("described-source", name=statement.name)
        raise
    found = description(source, context, extended=statement.extended)
    return [*found, *changed_columns(source, context.state)] if statement.extended else found


def _view(catalog: Catalog, statement: Describe) -> list[Result]:
    view = catalog.views[statement.name]
    source = source_of(view, catalog)
    rows = [(c.name, _column_type(c, source)) for c in source.shown]
    table = Rows((Field("Field"), Field("Type")), rows, f"Name : {view.name}")
    details = Text(
        f"{'Type':<{_TITLE_WIDTH}}: VIEW ({source.kind.value})\n"
        f"{'Statement':<{_TITLE_WIDTH}}: {view.statement}"
    )
    return [table, details] if statement.extended else [table]


@handle.register
def describe_all(statement: DescribeAll, context: Context) -> Iterable[Result]:
    sources = sorted(context.state.catalog.of_kind(statement.kind), key=lambda s: s.name)
    return [part for s in sources for part in description(s, context, extended=statement.extended)]


def description(source: Source, context: Context, *, extended: bool) -> list[Result]:
    """Columns of a source; EXTENDED adds its topic, readers and writers."""
    rows = [(c.name, _column_type(c, source)) for c in source.shown]
    title = f"Name : {source.name}"
    if source.comment is not None:
        title += f"\n{source.comment}"
    tables: list[Result] = [
        Rows((Field("Field"), Field("Type")), rows, title),
        *_constraints(source, context),
    ]
    if not extended:
        return tables
    catalog = context.state.catalog
    queries = dict.fromkeys([*catalog.readers(source.name), *catalog.writers(source.name)])
    return [*tables, Text(_details(source, context)), *offsets(queries, context)]


_CONSTRAINT_FIELDS = tuple(map(Field, ("Constraint", "Expects", "On Violation", "Violations")))


def _constraints(source: Source, context: Context) -> list[Rows]:
    """The constraints with their violation counts, summed over the queries that read the source;
    None if a count is unknown."""
    if not source.constraints:
        return []
    metrics = context.state.query_metrics()
    counted = [metrics[id].violations for id in sorted(metrics)]
    rows = []
    for constraint in source.constraints:
        name = f"{source.name}.{constraint.name}"
        known = [counts.get(name, 0) for counts in counted if counts is not None]
        count = sum(known) if len(known) == len(counted) else None
        action = constraint.on_violation.value
        rows.append((constraint.name, constraint.condition, action, count))
    return [Rows(_CONSTRAINT_FIELDS, rows)]


def _column_type(column: Column, source: Source) -> str:
    text = to_sql(column.type)
    if column.namespace is Namespace.KEY:
        key = "primary key" if source.kind is Kind.TABLE else "key"
        return f"{text} ({key}){_window(source)}"
    if column.namespace is Namespace.HEADERS:
        return f"{text} (header('{column.header}'))" if column.header else f"{text} (headers)"
    return text


def _window(source: Source) -> str:
    window = source.topic.window
    return f" (Window type: {window.type.value})" if window else ""


def _details(source: Source, context: Context) -> str:
    catalog, topic = context.state.catalog, source.topic
    type = source.kind.value + (" (read-only)" if source.is_source else "")
    if source.lookup is not None:
        where = {k: v for k, v in lookup_facts(source.lookup).items() if v}
        facts = {"Type": "TABLE (lookup)", **where, "Statement": source.statement}
    else:
        facts = {
            "Type": type,
            "Timestamp field": _timestamp(source),
            "Key format": _format(topic.key_format),
            "Value format": _format(topic.value_format),
            "Kafka topic": _topic(source, context),
            **({"Captured from": source.capture.place} if source.capture else {}),
            "Statement": source.statement,
        }
    if topic.window and topic.window.size_ms is not None:
        facts["Window size"] = f"{topic.window.size_ms} ms"
    lines = [f"{title:<{_TITLE_WIDTH}}: {text}" for title, text in facts.items()]
    for title, ids in (
        ("Queries that read from this source", catalog.readers(source.name)),
        ("Queries that write into this source", catalog.writers(source.name)),
    ):
        if ids:
            lines += ["", title, "-" * len(title)]
            lines += [line for i in ids for line in query_lines(i, context)]
    return "\n".join(lines)


def _timestamp(source: Source) -> str:
    if source.timestamp is None:
        return "Not set - using <ROWTIME>"
    pattern = source.timestamp.format
    return source.timestamp.name + (f" (format {pattern})" if pattern else "")


def _format(spec: FormatSpec) -> str:
    settings = ", ".join(f"{k}={v!r}" for k, v in sorted(spec.properties.items()))
    return f"{spec.name} ({settings})" if settings else spec.name


def _topic(source: Source, context: Context) -> str:
    """The topic, with Kafka's metadata if available."""
    name = source.topic.name
    client: KafkaClient | None = context.state.services.kafka.peek()
    try:
        info = client.describe(name) if client else None
        if client is None or info is None:
            return name
        begins, ends = client.begin_offsets(name), client.end_offsets(name)
    except StreamSQLError as error:
        return f"{name} ({error.message})"
    count = sum(end - begins.get(p, 0) for p, end in ends.items())
    return f"{name} (partitions: {info.partitions}, replication: {info.replicas}, offsets: {count})"


@handle.register
def describe_function(statement: DescribeFunction, context: Context) -> Iterable[Result]:
    with using(functions_of(context.state.catalog)):
        function = REGISTRY.get(statement.name, span=statement.span)
    lines = [
        f"{'Name':<12}: {function.name}",
        f"{'Type':<12}: {function.type}",
        f"{'Category':<12}: {function.category}",
        f"{'Overview':<12}: {function.doc}",
        "",
        "Variations:",
        *(f"  {function.name}{overload.signature}" for overload in function.overloads),
    ]
    if isinstance(function, UserFunction | UserAggregate):
        lines += ["", f"Statement: {function.statement}"]
    if function.examples:
        lines += ["", "Examples:", *(f"  {sql} -> {value}" for sql, value in function.examples)]
    return [Text("\n".join(lines))]


@handle.register
def describe_sink(statement: DescribeSink, context: Context) -> Iterable[Result]:
    """DESCRIBE SINK name: columns, destination, progress."""
    catalog = context.state.catalog
    sink = catalog.sinks.get(statement.name)
    if sink is None:
        raise unknown_sink(statement.name, catalog, statement.span)
    if sink.of_all:
        return _sink_of_all(sink, context)
    plan = context.state.queries.definition(sink.query_id).plan
    rows = [(c.name, to_sql(c.type)) for c in plan.schema]
    facts = {**_place_of(sink), "Reads": sink.reads, "Statement": sink.statement}
    lines = [f"{title:<{_TITLE_WIDTH}}: {text}" for title, text in facts.items() if text]
    lines += ["", *query_lines(sink.query_id, context)]
    table = Rows((Field("Field"), Field("Type")), rows, f"Name : {sink.name}")
    return [table, Text("\n".join(lines)), *offsets([sink.query_id], context)]


def _sink_of_all(sink: ExternalSink, context: Context) -> list[Result]:
    """Its parts, and the sources that have none."""
    parts = [s for s in context.state.catalog.sinks.values() if s.part_of == sink.name]
    rows = [(part.reads, part.table, part.name, part.query_id) for part in parts]
    names = ("Reads", "Table", "Sink", "Query ID")
    facts = {**_place_of(sink), "Statement": sink.statement}
    facts |= {
        f"Not {source}": reason
        for source, reason in context.state.sinks_of_all.refused(sink.name).items()
    }
    lines = [f"{title:<{_TITLE_WIDTH}}: {text}" for title, text in facts.items() if text]
    return [Rows(tuple(map(Field, names)), rows, f"Name : {sink.name}"), Text("\n".join(lines))]


def _place_of(sink: ExternalSink) -> Mapping[str, str]:
    """Where it writes, and how; empty texts for unset properties."""
    if sink.connection == "FILE":
        return {"Connection": "FILE", "Path": sink.path, "Format": sink.format}
    return {
        "Connection": sink.connection,
        "URL" if sink.connection == "JDBC" else "Warehouse": sink.path,
        "Table": sink.table,
        "Mode": sink.format,
        "User": sink.user,
        "Password": sink.password,
    }


@handle.register
def explain(statement: Explain, context: Context) -> Iterable[Result]:
    """EXPLAIN [VERBOSE] of a statement, or of a running query."""
    planned = context.plan(statement)
    if isinstance(planned, ExplainPlan):
        return [Text(planned.text)]
    assert isinstance(planned, ExplainQueryPlan)
    try:
        definition = context.state.queries.definition(planned.query_id)
    except BindError as error:
        error.ksqldb = says("explained-query", id=planned.query_id)
        raise
    running = query_info(planned.query_id, context)
    text = explain_plan(definition.plan, verbose=planned.verbose, running=running)
    return [Text(f"{definition.sql}\n\n{text}\n\n{query_line(definition.id, context)}")]
