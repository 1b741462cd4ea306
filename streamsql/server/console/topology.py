"""GET /streamsql/graph: what there is, who reads and writes it, how much and how far.

Numbers are totals since some beginning: whoever looks twice sees rates. Kafka is asked once a
second at most, however many look.
"""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from streamsql.api.facts import QueryFlow, SourceFacts, Topology
from streamsql.server.state.server_state import state_of

Json = dict[str, Any]


def encode(found: Topology) -> Json:
    """As JSON; `at`: when it was so, in milliseconds."""
    return {
        "at": round(time.time() * 1000),
        "sources": [_source(source) for source in found.sources],
        "views": [{"name": view.name, "reads": view.reads} for view in found.views],
        "queries": [_query(query) for query in found.queries],
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


def _query(query: QueryFlow) -> Json:
    info, metrics = query.info, query.metrics
    numbers = ("records_in", "records_out", "errors", "rows_late", "batch_ms", "state_rows")
    latency = metrics.latency if metrics else None
    return {
        **asdict(info),
        "state": info.state.value,
        "reads": [asdict(read) for read in query.reads],
        **({name: getattr(metrics, name) for name in numbers} if metrics else {}),
        "p50": latency.quantile(0.5) if latency else None,
        "p99": latency.quantile(0.99) if latency else None,
    }


async def graph(request: Request) -> Response:
    """The endpoint."""
    state = state_of(request)

    async def look() -> Json:
        return encode(await state.run(state.engine.inspection.topology))

    return JSONResponse(await state.observed.now(look), headers={"Cache-Control": "no-store"})


ROUTES = [Route("/streamsql/graph", graph, methods=["GET"])]
