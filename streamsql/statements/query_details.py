"""Details of queries in EXTENDED statements: state, mode, kept state, progress. Without Kafka, they
show what is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from streamsql.catalog import Source
from streamsql.errors import StreamSQLError
from streamsql.executor.queries.definition import Definition
from streamsql.executor.queries.status_poll import Progress
from streamsql.kafka.client import KafkaClient
from streamsql.planner.explain.plan import explain
from streamsql.planner.operators import state_stores
from streamsql.properties import shown
from streamsql.results import Field, Result, Rows, Text
from streamsql.runtime.state import Context
from streamsql.statements.metrics import metrics_lines
from streamsql.status import QueryInfo

ASLEEP = "asleep: its topics get no records"
_TITLE_WIDTH = 12
_OFFSET_FIELDS = tuple(
    Field(name)
    for name in (
        "Query ID",
        "Kafka Topic",
        "Partition",
        "Start Offset",
        "End Offset",
        "Offset",
        "Lag",
    )
)


def details(info: QueryInfo, context: Context) -> list[Result]:
    """A query of SHOW QUERIES EXTENDED."""
    seen = _progress(info.id, context)
    lag = info.lag if seen is None or info.lag is None else seen.lag
    facts = {
        "Query ID": info.id,
        "Type": info.kind,
        "State": info.state.value,
        "Mode": f"{info.mode} ({info.reason})",
        "Activity": ASLEEP if info.asleep else None,
        "Lag": "unknown" if lag is None else f"{lag} record{'s' * (lag != 1)}",
        **metrics_lines(context.state.query_metrics().get(info.id)),
        "Error": info.error,
        "Statement": info.sql,
    }
    definition = _definition(info.id, context)
    if definition is None:
        return [Text(_lines(facts))]
    root = definition.plan.root
    sources = context.state.catalog.sources
    facts["Reads"] = _with_topics(sources[n] for n in definition.plan.reads if n in sources)
    facts["Writes"] = _with_topics(sources[n] for n in (definition.sink,) if n in sources)
    facts["Columns"] = str(root.schema)
    facts["Properties"] = ", ".join(
        f"{name}={shown(name, value)}" for name, value in sorted(definition.properties.items())
    )
    text = explain(definition.plan, running=info)
    return [Text(f"{_lines(facts)}\n\n{text}\n"), *_offsets({info.id: seen}, context)]


def query_line(query_id: str, context: Context) -> str:
    info = query_info(query_id, context)
    if info is None:
        return query_id
    lag = "" if info.lag is None else f", lag {info.lag}"
    asleep = ", asleep" if info.asleep else ""
    return f"{info.id} ({info.state.value}, {info.mode}{asleep}{lag}): {info.sql}"


def query_lines(query_id: str, context: Context) -> Iterator[str]:
    """A query of DESCRIBE .. EXTENDED: one line, followed by lines about its state."""
    yield query_line(query_id, context)
    info, definition = query_info(query_id, context), _definition(query_id, context)
    if info is not None and info.error:
        yield f"  Error: {info.error.splitlines()[0]}"
    if definition is not None:
        planned = definition.plan.mode
        if info is not None and info.mode != planned.mode.value:
            yield f"  Mode: {info.mode}, because {info.reason}"
        for store in state_stores(definition.plan.root):
            yield f"  State: {store.text}"
    for title, text in metrics_lines(context.state.query_metrics().get(query_id)).items():
        yield f"  {title}: {text}"


def offsets(query_ids: Iterable[str], context: Context) -> list[Result]:
    """Positions of queries per partition; empty without queries."""
    return _offsets({query_id: _progress(query_id, context) for query_id in query_ids}, context)


def _offsets(queries: Mapping[str, Progress | None], context: Context) -> list[Result]:
    client = context.state.services.kafka.peek()
    rows: list[tuple[object, ...]] = []
    for query_id, seen in queries.items():
        definition = _definition(query_id, context)
        if definition is None:
            continue
        for topic in dict.fromkeys(definition.topics):
            known = seen.positions.get(topic, {}) if seen else {}
            ends = seen.ends.get(topic, {}) if seen else {}
            begins = _begins(client, topic)
            for partition in sorted(known.keys() | ends.keys() | begins.keys()):
                offset, end = known.get(partition), ends.get(partition)
                lag = None if offset is None or end is None else max(0, end - offset)
                place = (query_id, topic, partition)
                rows.append((*place, begins.get(partition), end, offset, lag))
    return [Rows(_OFFSET_FIELDS, rows)] if rows else []


def _begins(client: KafkaClient | None, topic: str) -> dict[int, int]:
    """First offsets of a topic; empty if unknown."""
    try:
        return client.begin_offsets(topic) if client else {}
    except StreamSQLError:
        return {}


def _progress(query_id: str, context: Context) -> Progress | None:
    """None if unknown, and for a push query."""
    try:
        return context.state.queries.progress(query_id)
    except StreamSQLError:
        return None


def query_info(query_id: str, context: Context) -> QueryInfo | None:
    """None for a query that has just ended."""
    return next((i for i in context.state.queries.infos() if i.id == query_id), None)


def _definition(query_id: str, context: Context) -> Definition | None:
    """None for a push query, and for one that has just ended."""
    try:
        return context.state.queries.definition(query_id)
    except StreamSQLError:
        return None


def _with_topics(sources: Iterable[Source]) -> str:
    return ", ".join(f"{source.name} ({_place(source)})" for source in sources)


def _place(source: Source) -> str:
    lookup = source.lookup
    return f"topic {source.topic.name}" if lookup is None else f"lookup in {lookup.place}"


def _lines(facts: dict[str, str | None]) -> str:
    return "\n".join(f"{title:<{_TITLE_WIDTH}}: {text}" for title, text in facts.items() if text)
