"""STATE_TTL: the time limit between joined rows of two streams without WITHIN."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from streamsql.errors import ConfigError
from streamsql.nodes import (
    Duration,
    Join,
    MatchRecognize,
    Query,
    Relation,
    Subquery,
    WindowFunction,
    Within,
)
from streamsql.planner.operators import FOREVER_MS, JoinWindow, Operator, operators
from streamsql.planner.operators import Join as JoinPlan
from streamsql.planner.with_clause.properties import WithProperties

_NAME = "STATE_TTL"
_FOREVER = "FOREVER"
_GROWS = "A join of streams without a WITHIN keeps every row of both: its state grows forever."


def state_ttl(properties: WithProperties) -> Within | None:
    """How long rows are kept; None if the property is not given."""
    given = properties.text(_NAME)
    if given is None:
        return None
    if given.upper() == _FOREVER:
        ever = Duration(FOREVER_MS, "MILLISECOND")
        return Within(ever, ever, implied=True)
    ttl = properties.duration(_NAME, given)
    return Within(ttl, ttl, Duration(0, "MILLISECOND"), implied=True)


def with_ttl(query: Query, ttl: Within | None) -> Query:
    if ttl is None:
        return query
    union = tuple(with_ttl(select, ttl) for select in query.union)
    return replace(query, relation=_relation(query.relation, ttl), union=union)


def _relation(relation: Relation, ttl: Within) -> Relation:
    match relation:
        case Join():
            right = _relation(relation.right, ttl)
            assert not isinstance(right, Join)
            left = _relation(relation.left, ttl)
            return replace(relation, left=left, right=right, within=relation.within or ttl)
        case Subquery():
            return replace(relation, query=with_ttl(relation.query, ttl))
        case (
            WindowFunction(source=Subquery(query) as source)
            | MatchRecognize(source=Subquery(query) as source)
        ):
            return replace(relation, source=replace(source, query=with_ttl(query, ttl)))
    return relation


def check_ttl_is_used(root: Operator, properties: WithProperties) -> None:
    if properties.text(_NAME) is None or any(_windows(root)):
        return
    raise ConfigError(
        f"{_NAME} applies to stream-stream joins, and the query has none.",
        hint=f"Leave {_NAME} out.",
        span=properties.span(_NAME),
    )


def growth_warning(root: Operator, properties: WithProperties | None) -> str | None:
    """Warning about joins that keep every row, unless STATE_TTL declares it. `properties` are those
    of WITH; push queries have none."""
    if not any(window.is_forever for window in _windows(root)):
        return None
    if properties is None:
        return f"{_GROWS} JOIN .. WITHIN 1 HOUR ON .. bounds it."
    if properties.text(_NAME) is not None:
        return None
    return (
        f"{_GROWS} JOIN .. WITHIN 1 HOUR ON .. or WITH ({_NAME}='7 DAYS') bounds it, "
        f"{_NAME}='{_FOREVER}' says that it is meant."
    )


def _windows(root: Operator) -> Iterator[JoinWindow]:
    for node in operators(root):
        if isinstance(node, JoinPlan) and node.window is not None:
            yield node.window
