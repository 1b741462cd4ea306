"""FLUSH, and CREATE MATERIALIZED VIEW: waits until queries have processed what was written."""

from __future__ import annotations

import time
from collections.abc import Iterable

from streamsql.catalog import Catalog
from streamsql.errors import ExternalError
from streamsql.nodes import Flush
from streamsql.results import Message, Result, Warning
from streamsql.runtime.catch_up import in_order
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
    deadline = time.monotonic() + SECONDS
    consistency = state.serving.consistency
    written: dict[str, dict[int, int]] = {}
    wanted_ids = with_upstream(catalog, catalog.queries if ids is None else ids)
    for level in in_order(catalog):
        queries = [catalog.queries[query_id] for query_id in level if query_id in wanted_ids]
        for query in queries:
            topics = catalog.topics_of(name for name in query.reads if name in catalog.sources)
            wanted = {t: written.get(t) or consistency.ends(t, 0.0, deadline) for t in topics}
            try:
                consistency.await_query(query, wanted, deadline, fails=ids is not None)
            except ExternalError as error:
                error.message = (
                    f"query {query.id} has not processed within {SECONDS:g} seconds what was "
                    "written before; whether it will is not known"
                )
                raise
        rests: dict[str, float] = {}
        for query in queries:
            if (sink := catalog.sources.get(query.writes)) is not None:
                topic = sink.topic.name
                rests[topic] = max(consistency.rest(query), rests.get(topic, 0.0))
        written |= consistency.all_ends(rests, deadline)
    if written:
        remember(context.session, written)


def with_upstream(catalog: Catalog, ids: Iterable[str]) -> set[str]:
    """These queries and those that write what they read."""
    found: set[str] = set()
    waiting = list(ids)
    while waiting:
        query_id = waiting.pop()
        if query_id not in found:
            found.add(query_id)
            reads = (n for n in catalog.queries[query_id].reads if n in catalog.sources)
            waiting += (writer for name in reads for writer in catalog.writers(name))
    return found
