"""FLUSH, and CREATE MATERIALIZED VIEW: waits until queries have processed what was written."""

from __future__ import annotations

import time
from collections.abc import Iterable

from streamsql.catalog import Catalog, QueryLinks
from streamsql.errors import ExternalError
from streamsql.nodes import Flush
from streamsql.results import Message, Result, Warning
from streamsql.runtime.state import Context
from streamsql.statements.dispatch import handle
from streamsql.statements.tables.seen import remember

SECONDS = 120.0
"""How long to wait: a query that was just made starts first."""


@handle.register
def flush(statement: Flush, context: Context) -> Iterable[Result]:
    await_queries(context)
    return [Message("")]


def await_view(name: str, context: Context) -> Iterable[Result]:
    """Returns when the view has the results of what was written before, with a warning if it fails
    or that takes longer than SECONDS."""
    writers = context.state.catalog.writers(name)
    try:
        await_queries(context, writers)
    except ExternalError:
        infos = (info for info in context.state.queries.infos() if info.id in writers)
        why = next((info.error for info in infos if info.error), "it continues")
        return [Warning(f"{name} does not have the rows of all that its sources hold: {why}")]
    return []


def await_queries(context: Context, ids: Iterable[str] | None = None) -> None:
    """Returns when the results of these queries, or of all, are in Kafka, and has later queries of
    the session wait until the stores have them, too. ExternalError after SECONDS: whether the
    results will be there is then not known."""
    catalog, state = context.state.catalog, context.state
    queries = in_order(catalog, catalog.queries if ids is None else ids)
    deadline = time.monotonic() + SECONDS
    consistency = state.serving.consistency
    written: dict[str, dict[int, int]] = {}
    for query in queries:
        topics = catalog.topics_of(name for name in query.reads if name in catalog.sources)
        wanted = {t: written.get(t) or consistency.ends(t, 0.0, deadline) for t in topics}
        try:
            consistency.await_query(query, wanted, deadline, fails=ids is not None)
        except ExternalError as error:
            error.message = (
                f"query {query.id} has not processed within {SECONDS:g} seconds what was written "
                "before; whether it will is not known"
            )
            raise
        sink = catalog.sources.get(query.writes)
        if sink is not None:
            topic = sink.topic.name
            written[topic] = consistency.ends(topic, consistency.rest(query), deadline)
    if written:
        remember(context.session, written)


def in_order(catalog: Catalog, ids: Iterable[str]) -> list[QueryLinks]:
    """These queries, each behind those that write what it reads; those of a circle in any order."""
    ordered: dict[str, QueryLinks] = {}
    open_: set[str] = set()

    def visit(query: QueryLinks) -> None:
        if query.id in open_:
            return
        open_.add(query.id)
        for name in query.reads:
            if name in catalog.sources:
                for writer in catalog.writers(name):
                    visit(catalog.queries[writer])
        ordered[query.id] = query

    for query_id in ids:
        visit(catalog.queries[query_id])
    return list(ordered.values())
