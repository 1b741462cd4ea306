"""FLUSH: waits until every query has processed what was written before."""

from __future__ import annotations

import time
from collections.abc import Iterable

from streamsql.catalog import Catalog, QueryLinks
from streamsql.errors import ExternalError
from streamsql.nodes import Flush
from streamsql.properties import CONSISTENCY_TIMEOUT, get_int
from streamsql.results import Message, Result
from streamsql.runtime.state import Context
from streamsql.statements.dispatch import handle


@handle.register
def flush(statement: Flush, context: Context) -> Iterable[Result]:
    await_queries(context)
    return [Message("")]


def await_queries(context: Context) -> None:
    """Returns when the results are in Kafka; ExternalError after CONSISTENCY_TIMEOUT: whether they
    will be is then not known."""
    catalog, state = context.state.catalog, context.state
    seconds = get_int(context.session.properties, CONSISTENCY_TIMEOUT) / 1000
    deadline = time.monotonic() + seconds
    consistency = state.serving.consistency
    rest: dict[str, float] = {}
    """How long the topic of a real-time query must be at rest."""
    for query in in_order(catalog):
        topics = catalog.topics_of(name for name in query.reads if name in catalog.sources)
        wanted = {name: consistency.ends(name, rest.get(name, 0.0), deadline) for name in topics}
        try:
            consistency.await_query(query, wanted, deadline)
        except ExternalError as error:
            error.message = (
                f"query {query.id} has not processed within {seconds:g} seconds what was written "
                "before; whether it will is not known"
            )
            raise
        sink = catalog.sources.get(query.writes)
        if sink is not None:
            rest[sink.topic.name] = max(rest.get(sink.topic.name, 0.0), consistency.rest(query))


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
