"""Exactly-once delivery: what it takes to give it to a plan.

A query that goes on after a failure runs its last batch again. What was committed of it must not be
written a second time; how that is told is decided here, written down in ARCHITECTURE.md.
"""

from __future__ import annotations

from enum import Enum

from streamsql.planner.operators.filter import Filter
from streamsql.planner.operators.flat_map import FlatMap
from streamsql.planner.operators.join import Join, JoinKind
from streamsql.planner.operators.lookup_join import LookupJoin
from streamsql.planner.operators.operator import Operator
from streamsql.planner.operators.project import Project
from streamsql.planner.operators.qualify import Qualify
from streamsql.planner.operators.repartition import Repartition
from streamsql.planner.operators.sink import Sink
from streamsql.planner.plans.state_stores import state_stores
from streamsql.schema import Kind

_STATELESS = (Filter, FlatMap, LookupJoin, Project, Qualify, Repartition, Sink)


class Replay(Enum):
    """What tells the committed rows of a batch that is run again from the others."""

    SOURCE = "SOURCE"
    """The record of the input that caused a row: there is no state."""
    CAUSE = "CAUSE"
    """That record and the row's task: a join of a stream's records with a table."""
    KEY = "KEY"
    """The row's key: of a table only the newest is written again."""
    TASK = "TASK"
    """The row's task: all of its rows of a micro-batch are committed together, or none."""

    @property
    def real_time(self) -> bool:
        """Whether a batch can be committed in parts."""
        return self is not Replay.TASK


def replay_of(root: Operator) -> Replay:
    """How the plan's rows are told apart."""
    if not state_stores(root):
        return Replay.SOURCE
    if root.kind is Kind.TABLE:
        return Replay.KEY
    return Replay.CAUSE if _joins_records(root) else Replay.TASK


def _joins_records(root: Operator) -> bool:
    """Whether all its state is that of one join of a stream, as it was read, with a table."""
    node = root
    while isinstance(node, _STATELESS):
        (node,) = node.inputs
    return (
        isinstance(node, Join)
        and node.join_kind is JoinKind.STREAM_TABLE
        and not state_stores(node.left, root)
    )
