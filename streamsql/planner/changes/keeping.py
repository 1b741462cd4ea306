"""Which changes of class 3 are carried out by rewriting the state that is there."""

from __future__ import annotations

from streamsql.planner.changes.classes import PARTITIONS, Change, ChangeClass
from streamsql.planner.operators import Aggregate, Operator, operators, state_stores
from streamsql.schema import Kind, WindowType

REWRITTEN = "its state is rewritten; goes on where it stopped"
"""What such a change means."""


def keeps_state(change: Change, old: Operator, new: Operator) -> bool:
    """Whether the state of the plan that runs becomes that of the new one, and the log is not
    read again; the same for whoever asks, since no checkpoint is looked at."""
    beyond = [d for d in change.differences if d.change > ChangeClass.IN_PLACE]
    if not beyond or not all(d.rewrites for d in beyond):
        return False
    if is_one_grouping(old) and is_one_grouping(new):
        return True
    return all(d.clause == PARTITIONS for d in beyond)


def moves_state(root: Operator) -> bool:
    """Whether a query has state that can be put into another number of parts: Spark does it with
    the entries of our operators, and we with those of its own aggregation, but not both."""
    if not state_stores(root):
        return False
    return is_one_grouping(root) or not any(map(_is_sparks, operators(root)))


def is_one_grouping(root: Operator) -> bool:
    """Whether all that a query keeps are the aggregates of one GROUP BY over a stream, not in
    sessions: that is state of Spark's own, whose entries are told apart."""
    return len(state_stores(root)) == 1 and any(map(_is_sparks, operators(root)))


def _is_sparks(node: Operator) -> bool:
    return (
        isinstance(node, Aggregate)
        and node.input.kind is Kind.STREAM
        and (node.window is None or node.window.type is not WindowType.SESSION)
    )
