"""Pull queries: results from stores, or from Spark's batch engine."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from streamsql.errors import UnsupportedError
from streamsql.planner.operators import Operator, Scan, operators
from streamsql.planner.plans.routes import Batch
from streamsql.planner.plans.statements import PullPlan
from streamsql.properties import VIEW_EPOCH
from streamsql.results import Answer, Row
from streamsql.runtime.state import Context
from streamsql.schema import Kind
from streamsql.serving.serving import JobNeeded

if TYPE_CHECKING:
    from streamsql.executor.lowering.batch import StoredRecords

_log = logging.getLogger(__name__)

LIMIT_REACHED = "Limit Reached"
COMPLETED = "Query Completed"
MOST_LOGGED = 500
"""Characters of the reason why a query takes a Spark job, which may hold a plan."""


def answer(plan: PullPlan, context: Context) -> Answer:
    """The result; its rows arrive while it is read."""
    query_id = f"query_{time.time_ns() // 1_000_000}"
    found = Answer(query_id, plan.schema, ())
    if plan.limit == 0:
        return found
    rows, found.epoch = _rows(plan, query_id, context)
    found.rows = _completed(rows, plan, found)
    return found


def _rows(plan: PullPlan, query_id: str, context: Context) -> tuple[Iterable[Row], int | None]:
    """The rows, and the epoch as of which views are read."""
    state, properties = context.state, dict(context.session.properties)
    if not isinstance(plan.route, Batch):
        try:
            return state.serving.answer(plan, properties)
        except JobNeeded as error:
            _log.warning("a pull query takes a Spark job: %s", str(error)[:MOST_LOGGED])
    catalog = state.catalog
    known = (catalog.sources.get(name) for name in plan.query.reads)
    sources = [source for source in known if source is not None and source.lookup is None]
    state.serving.consistency.wait(sources, catalog, properties)
    stored, epoch = _stored(plan, context)
    return state.launcher.batch(plan, query_id, properties, stored), epoch


def _stored(plan: PullPlan, context: Context) -> tuple[Mapping[str, StoredRecords], int | None]:
    """The views that Spark reads out of their stores, by topic, and the epoch as of which; others
    are read as they are, out of their topics."""
    state, properties = context.state, context.session.properties
    views = [each for each in operators(plan.query.root) if _is_view(each)]
    reads_stores = state.serving.has_epochs and state.launcher.reads_stores(plan)
    if views and reads_stores and not plan.query.starts:
        return state.serving.records(plan, properties)
    if views and (VIEW_EPOCH in properties or plan.as_of is not None):
        raise UnsupportedError(
            "the Spark job of this SELECT reads views as they are now, since it joins one with a "
            "stream, begins at a position, or runs on a cluster",
            hint=f"Leave AS OF out, end the transaction, or UNSET '{VIEW_EPOCH}'.",
        )
    return {}, None


def _is_view(operator: Operator) -> bool:
    return isinstance(operator, Scan) and operator.source.is_view


def _completed(rows: Iterable[Row], plan: PullPlan, found: Answer) -> Iterator[Row]:
    """The rows, followed by the final message of a stream's result."""
    count = 0
    for row in rows:
        count += 1
        yield row
    if plan.query.root.kind is Kind.STREAM:
        found.final_message = LIMIT_REACHED if count == plan.limit else COMPLETED
