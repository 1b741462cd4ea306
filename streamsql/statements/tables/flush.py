"""FLUSH: waits until every query has processed what was written before."""

from __future__ import annotations

import time
from collections.abc import Iterable

from streamsql.catalog import Catalog, QueryLinks
from streamsql.errors import ExternalError
from streamsql.nodes import Flush
from streamsql.results import Message, Result
from streamsql.runtime.state import Context
from streamsql.statements.dispatch import handle
from streamsql.statements.tables.seen import remember

SECONDS = 120.0
"""How long to wait: a query that was just made starts first."""


@handle.register
def flush(statement: Flush, context: Context) -> Iterable[Result]:
    await_queries(context)
    return [Message("")]


def await_queries(context: Context) -> None:
    """Returns when the results are in Kafka, and has later queries of the session wait until the
    stores have them, too. ExternalError after SECONDS: whether the results will be there is then
    not known."""
    catalog, state = context.state.catalog, context.state
    deadline = time.monotonic() + SECONDS
    consistency = state.serving.consistency
    written: dict[str, dict[int, int]] = {}
    for query in in_order(catalog):
        topics = catalog.topics_of(name for name in query.reads if name in catalog.sources)
        wanted = {t: written.get(t) or consistency.ends(t, 0.0, deadline) for t in topics}
        try:
            consistency.await_query(query, wanted, deadline)
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


def in_order(catalog: Catalog) -> list[QueryLinks]:
    """All queries, each behind those that write what it reads; those of a circle in any order."""
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

    for query in catalog.queries.values():
        visit(query)
    return list(ordered.values())
