"""GET /streamsql/graph: objects, their connections, throughput and lag. Values are totals with
their times; rates follow from two responses. Kafka is polled at most once a second."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from streamsql.api.facts import ConnectorFacts, QueryFlow, SourceFacts, Topology
from streamsql.server.state.server_state import state_of

Json = dict[str, Any]


def encode(found: Topology) -> Json:
    """`at` is the time of totals, `readAt` that of a query's reads, in milliseconds."""
    return {
        "at": round(found.at * 1000),
        "sources": [_source(source) for source in found.sources],
        "views": [{"name": view.name, "reads": view.reads} for view in found.views],
        "queries": [_query(query) for query in found.queries],
        "connectors": [_connector(connector) for connector in found.connectors],
        "topics": found.ends,
        "outage": found.outage,
    }


def _source(source: SourceFacts) -> Json:
    return {
        "name": source.name,
        "kind": source.kind.value,
        "topic": source.topic,
        "format": source.value_format,
        "window": source.window,
        "writers": source.writers,
        "statement": source.statement,
        "comment": source.comment,
        "builtIn": source.built_in,
        "lookedUp": source.looked_up,
    }


def _connector(connector: ConnectorFacts) -> Json:
    return {
        "name": connector.name,
        "type": connector.type,
        "className": connector.class_name,
        "state": connector.state,
        "topics": connector.topics,
    }


def _query(query: QueryFlow) -> Json:
    info, metrics = query.info, query.metrics
    numbers = ("records_in", "records_out", "errors", "rows_late", "batch_ms", "state_rows")
    recent = metrics.recent if metrics else {}
    return {
        **asdict(info),
        "state": info.state.value,
        "readAt": query.read_at and round(query.read_at * 1000),
        "reads": [asdict(read) for read in query.reads],
        **({name: getattr(metrics, name) for name in numbers} if metrics else {}),
        "latency": {window: asdict(found) for window, found in recent.items()},
    }


async def graph(request: Request) -> Response:
    state = state_of(request)

    async def look() -> Json:
        return encode(await state.run(state.engine.inspection.topology))

    return JSONResponse(await state.observed.now(look), headers={"Cache-Control": "no-store"})


ROUTES = [Route("/streamsql/graph", graph, methods=["GET"])]
