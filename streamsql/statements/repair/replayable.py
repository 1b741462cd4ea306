"""Which queries support a replay, and which failures need one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from streamsql.errors import Span, UnsupportedError
from streamsql.planner.operators import Export, FlatMap, Operator, Scan, operators, state_stores
from streamsql.planner.plans.delivery import Replay, replay_of
from streamsql.planner.plans.query_plan import QueryPlan
from streamsql.schema import Kind
from streamsql.statements.repair.entries import Failure

_RECREATE = "DROP the query and create it again: it then reads its topics from their beginning."


@dataclass(frozen=True)
class Inputs:
    """Topics of a query: those of its records, and those of joined tables."""

    streams: frozenset[str]
    tables: frozenset[str]


def replayable(plan: QueryPlan, span: Span | None) -> Inputs:
    """The inputs of a query that supports a replay; otherwise UnsupportedError."""
    scans = [operator for operator in operators(plan.root) if isinstance(operator, Scan)]
    topics = [scan.source.topic.name for scan in scans]
    obstacle = _obstacle(plan.root, scans)
    if obstacle is None and len(set(topics)) < len(topics):
        obstacle = "it reads a topic twice, and the log does not say which reading failed"
    if obstacle is not None:
        raise UnsupportedError(
            f"records of {plan.query_id} cannot be replayed: {obstacle}", hint=_RECREATE, span=span
        )
    streams = frozenset(s.source.topic.name for s in scans if s.kind is Kind.STREAM)
    return Inputs(streams, frozenset(topics) - streams)


def _obstacle(root: Operator, scans: list[Scan]) -> str | None:
    if isinstance(root, Export):
        return "a sink outside Kafka writes in the order of its topic"
    replay = replay_of(root)
    if replay in (Replay.KEY, Replay.TASK):
        stores = "; ".join(store.text for store in state_stores(root))
        return f"they are missing in its state ({stores})"
    if replay is Replay.SOURCE and any(scan.kind is Kind.TABLE for scan in scans):
        return "a row of a table would undo later rows of its key"
    return None


_ROWLESS: Mapping[str, bool] = {
    "deserializationError": True,
    "serializationError": False,
    "productionError": False,
}
"""Failures that prevent a row of the record; False: if a record makes one row."""


def left_no_row(failure: Failure, plan: QueryPlan) -> bool:
    """Whether the record certainly produced no row: a failing expression is null, and its row may
    have been written."""
    if failure.step == "Source":
        return True
    # The sink reports unwritten results: violated constraints and format errors.
    whole = False if failure.step == "Sink" else _ROWLESS.get(failure.kind)
    if whole is None:
        return False
    return whole or not any(isinstance(operator, FlatMap) for operator in operators(plan.root))
