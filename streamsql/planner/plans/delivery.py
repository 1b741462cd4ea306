"""Exactly-once delivery: what it takes to give it to a plan.

A query that goes on after a failure runs its last batch again. What was committed of it must not be
written a second time; how a repeated row is recognized is decided here, see
docs/design/exactly-once.md.
"""

from __future__ import annotations

from enum import Enum

from streamsql.planner.operators import Operator, state_stores
from streamsql.schema import Kind


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
    if not state_stores(root):
        return Replay.SOURCE
    if root.kind is Kind.TABLE:
        return Replay.KEY
    return Replay.CAUSE if root.knows_cause else Replay.TASK
