"""Changes of class 3 that are carried out by a state migration."""

from __future__ import annotations

from streamsql.planner.changes.classes import PARTITIONS, Change, ChangeClass
from streamsql.planner.operators import Aggregate, Operator, operators, state_stores
from streamsql.schema import Kind, WindowType

REWRITTEN = "its state is migrated; continues from its checkpoint"
"""The effect of such a change."""


def keeps_state(change: Change, old: Operator, new: Operator) -> bool:
    """Whether the running plan's state can be migrated to the new plan, without reading the log. It
    depends on the plans alone, not on the checkpoint."""
    beyond = [d for d in change.differences if d.change > ChangeClass.IN_PLACE]
    if not beyond or not all(d.rewrites for d in beyond):
        return False
    if is_one_grouping(old) and is_one_grouping(new):
        return True
    return all(d.clause == PARTITIONS for d in beyond)


def moves_state(root: Operator) -> bool:
    """Whether a query's state can be divided into another number of partitions: Spark repartitions
    keyed operators, streamsql repartitions Spark's aggregation, but not both."""
    if not state_stores(root):
        return False
    return is_one_grouping(root) or not any(map(_is_sparks, operators(root)))


def is_one_grouping(root: Operator) -> bool:
    """Whether a query's only state are the aggregates of one GROUP BY over a stream, without
    sessions: Spark's own state, whose entries can be distinguished."""
    return len(state_stores(root)) == 1 and any(map(_is_sparks, operators(root)))


def _is_sparks(node: Operator) -> bool:
    return (
        isinstance(node, Aggregate)
        and node.input.kind is Kind.STREAM
        and (node.window is None or node.window.type is not WindowType.SESSION)
    )
