"""Which queries can be given a record of the past again, and which failures are worth it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from streamsql.errors import Span, UnsupportedError
from streamsql.planner.operators import FileSink, FlatMap, Operator, Scan, operators, state_stores
from streamsql.planner.plans.delivery import Replay, replay_of
from streamsql.planner.plans.query_plan import QueryPlan
from streamsql.schema import Kind
from streamsql.statements.repair.entries import Failure

_ANEW = "Drop the query and create it anew: it then reads its topics from their beginning."


@dataclass(frozen=True)
class Inputs:
    """The topics that a query reads: its records', and those of the tables they are joined with."""

    streams: frozenset[str]
    tables: frozenset[str]


def replayable(plan: QueryPlan, span: Span | None) -> Inputs:
    """What a query reads whose records can be given to it again; UnsupportedError for others."""
    scans = [operator for operator in operators(plan.root) if isinstance(operator, Scan)]
    topics = [scan.source.topic.name for scan in scans]
    obstacle = _obstacle(plan.root, scans)
    if obstacle is None and len(set(topics)) < len(topics):
        obstacle = "it reads a topic more than once: which time has failed is not in the log"
    if obstacle is not None:
        raise UnsupportedError(
            f"records of {plan.query_id} cannot be replayed: {obstacle}", hint=_ANEW, span=span
        )
    streams = frozenset(s.source.topic.name for s in scans if s.kind is Kind.STREAM)
    return Inputs(streams, frozenset(topics) - streams)


def _obstacle(root: Operator, scans: list[Scan]) -> str | None:
    if isinstance(root, FileSink):
        return "it writes files, in the order of its topic alone"
    replay = replay_of(root)
    if replay in (Replay.KEY, Replay.TASK):
        stores = "; ".join(store.text for store in state_stores(root))
        return f"they would be missing in what it keeps ({stores})"
    if replay is Replay.SOURCE and any(scan.kind is Kind.TABLE for scan in scans):
        return "a row of a table would undo what has come for its key since"
    return None


_ROWLESS: Mapping[str, bool] = {
    "deserializationError": True,
    "serializationError": False,
    "productionError": False,
}
"""Failures after which there is no row of the record; False: if a record makes one row."""


def left_no_row(failure: Failure, plan: QueryPlan) -> bool:
    """Whether it is certain that the record has made no row: an expression that fails is null, and
    its row may have been written all the same."""
    if failure.step == "Source":
        return True
    # What the sink reports is a result that was not written, for a constraint or for its format.
    whole = False if failure.step == "Sink" else _ROWLESS.get(failure.kind)
    if whole is None:
        return False
    return whole or not any(isinstance(operator, FlatMap) for operator in operators(plan.root))
