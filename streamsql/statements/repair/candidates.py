"""Selects the failures of a query to replay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from streamsql.executor.queries.checkpoint import Takeover
from streamsql.executor.queries.definition import Definition
from streamsql.kafka.client import KafkaClient
from streamsql.kafka.positions import Positions
from streamsql.nodes import ReplayErrors, SelectQuery
from streamsql.parser import parse_one
from streamsql.planner.plans.statements import PullPlan
from streamsql.planner.processing_log import STREAM
from streamsql.runtime.state import Context
from streamsql.statements.pull import answer
from streamsql.statements.repair.entries import Failure, Place, Replayed, entries, failures
from streamsql.statements.repair.outcomes import Outcome, Outcomes, Places
from streamsql.statements.repair.replayable import Inputs, left_no_row

MOST = 100_000
"""Maximum number of records per replay, which are held in memory."""


@dataclass(frozen=True)
class Chooser:
    """Criteria for replaying a failure."""

    statement: ReplayErrors
    definition: Definition
    inputs: Inputs
    reached: Positions
    """Committed positions: the query may still read later records itself."""
    takeovers: Sequence[Takeover]
    """Records that the query has read again with a later statement."""

    def choose(
        self, client: KafkaClient, matching: Places | None, outcomes: Outcomes
    ) -> dict[Place, Failure]:
        """The records, each with its last failure; skipped ones are counted as outcomes."""
        replayed = Places()
        for entry in entries(client):
            if isinstance(entry, Replayed) and entry.query_id == self.definition.id:
                replayed.add(entry.place)
        chosen: dict[Place, Failure] = {}
        for failure in self._of_query(client, matching):
            outcome = self._left_out(failure, replayed)
            place = failure.place
            if outcome is None and place not in chosen and len(chosen) >= MOST:
                outcome = Outcome.MORE
            if outcome is not None:
                outcomes.add(outcome, failure)
            elif place is not None:
                chosen[place] = failure
        outcomes.forget(chosen)
        return chosen

    def _of_query(self, client: KafkaClient, matching: Places | None) -> Iterator[Failure]:
        for failure in failures(client):
            if failure.query_id != self.definition.id:
                continue
            if matching is None or (failure.place is not None and failure.place in matching):
                yield failure

    def _left_out(self, failure: Failure, replayed: Places) -> Outcome | None:
        place = failure.place
        if place is None:
            return Outcome.UNKNOWN
        if place in replayed:
            return Outcome.BEFORE
        if failure.kind == "dataLoss":
            return Outcome.GONE
        if place.topic not in self.inputs.streams:
            return Outcome.TABLE
        if place.offset >= self.reached.get(place.topic, {}).get(place.partition, 0):
            return Outcome.UNCOMMITTED
        where = (place.topic, place.partition, place.offset, failure.time)
        if any(takeover.reads_again(*where) for takeover in self.takeovers):
            return Outcome.READ_AGAIN
        if not self.statement.all and not left_no_row(failure, self.definition.plan):
            return Outcome.HAS_ROW
        return None


def matching_places(statement: ReplayErrors, context: Context) -> Places | None:
    """Positions of the entries that match the statement's WHERE; None without one."""
    if statement.where is None:
        return None
    select = parse_one(f"SELECT `TOPIC`, `PARTITION`, OFFSET FROM {STREAM};")
    assert isinstance(select, SelectQuery)
    of_query = exp.EQ(
        this=exp.Column(this=exp.Identifier(this="QUERYID", quoted=True)),
        expression=exp.Literal.string(statement.query_id),
    )
    where = exp.And(this=of_query, expression=statement.where)
    planned = context.plan(replace(select, query=replace(select.query, where=where)))
    assert isinstance(planned, PullPlan)
    found = Places()
    for row in answer(planned, context).rows:
        topic, partition, offset = row.values
        if isinstance(topic, str) and isinstance(partition, int) and isinstance(offset, int):
            found.add(Place(topic, partition, offset))
    return found
