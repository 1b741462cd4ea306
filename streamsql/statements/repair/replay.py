"""REPLAY ERRORS: reprocesses failed records with the query's current plan. A record's rows and its
log entry are one transaction. A replay reads the log after it has fenced previous replays."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from streamsql.config import PROCESSING_LOG_TOPIC
from streamsql.executor.queries.checkpoint import committed, takeovers
from streamsql.executor.queries.definition import Definition
from streamsql.executor.queries.offset_ranges import offset_ranges
from streamsql.kafka.client import KafkaClient, NewRecord, Reader, Record
from streamsql.nodes import ReplayErrors
from streamsql.planner.plans.guarantee import Guarantee
from streamsql.planner.plans.query_plan import Mode
from streamsql.results import Result
from streamsql.runtime.state import Context
from streamsql.statements.dispatch import handle
from streamsql.statements.repair.candidates import Chooser, matching_places
from streamsql.statements.repair.entries import Failure, Place, Replayed, entries
from streamsql.statements.repair.outcomes import Outcome, Outcomes
from streamsql.statements.repair.replayable import Inputs, replayable

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from streamsql.executor.reruns.replaying import Rerun
    from streamsql.executor.spark.transactions import TransactionalWriter

CHUNK = 500
"""Records per batch and transaction."""
HEADER = "streamsql.replay"
"""Header of a replayed row: the position of its source record."""
_NEAR = 1_000
"""Offsets closer than this are read in one request."""


@handle.register
def replay_errors(statement: ReplayErrors, context: Context) -> Iterable[Result]:
    """REPLAY [ALL] ERRORS OF query [WHERE ..] [DRY RUN]."""
    state = context.state
    definition = state.queries.definition(statement.query_id)
    inputs = replayable(definition.plan, statement.span)
    client = state.services.kafka.get()
    folder = state.data.checkpoints / definition.id
    chooser = Chooser(statement, definition, inputs, committed(folder) or {}, takeovers(folder))
    outcomes = Outcomes()
    with _writer(statement, context) as writer, _rerun(definition, inputs, context) as rerun:
        chosen = chooser.choose(client, matching_places(statement, context), outcomes)
        replay = _Replay(definition, client, writer, rerun, outcomes)
        places = sorted(chosen)
        for i in range(0, len(places), CHUNK):
            replay.chunk({place: chosen[place] for place in places[i : i + CHUNK]})
    return [outcomes.rows(dry_run=statement.dry_run)]


def _writer(
    statement: ReplayErrors, context: Context
) -> AbstractContextManager[TransactionalWriter | None]:
    if statement.dry_run:
        return nullcontext()
    from streamsql.executor.spark.transactions import TransactionalWriter

    services = context.state.services
    connection = services.kafka.get().java_settings
    id = f"streamsql.replay.{statement.query_id}"
    return TransactionalWriter(services.spark.get().start(), connection, id)


@contextmanager
def _rerun(definition: Definition, inputs: Inputs, context: Context) -> Iterator[Rerun]:
    from streamsql.executor.reruns.replaying import Rerun

    state = context.state
    client = state.services.kafka.get()
    lowering = state.launcher.context(definition.properties, None, Mode.MICRO_BATCH)
    exactly_once = definition.plan.guarantee is Guarantee.EXACTLY_ONCE
    tables = offset_ranges(inputs.tables, {}, client)
    log = state.pushes.topic_for("replay")
    client.create_topic(log, 1, -1)
    try:
        yield Rerun(definition.plan, replace(lowering, committed_only=exactly_once), tables, log)
    finally:
        state.launcher.stopped(log)
        client.delete_topics([log])


@dataclass
class _Replay:
    definition: Definition
    client: KafkaClient
    writer: TransactionalWriter | None
    """None: a dry run."""
    rerun: Rerun
    outcomes: Outcomes
    logged: int = 0
    """Number of entries of the rerun's log that have been read."""

    def chunk(self, failures: Mapping[Place, Failure]) -> None:
        records = dict(self._read(failures))
        failed: dict[Place, str] = {}
        rows: dict[Place, list[NewRecord]] = {place: [] for place in records}
        self._run(list(records.values()), rows, failed)
        self._write({place: rows[place] for place in records if place not in failed})
        for place, failure in failures.items():
            if place not in records:
                self.outcomes.add(Outcome.GONE, failure)
            elif place in failed:
                self.outcomes.add(Outcome.FAILS, failure, failed[place])
            else:
                made = Outcome.REPLAYED if rows[place] else Outcome.NO_ROW
                self.outcomes.add(made, failure)

    def _run(
        self,
        records: Sequence[Record],
        rows: Mapping[Place, list[NewRecord]],
        failed: dict[Place, str],
    ) -> None:
        if not records:
            return
        found = self.rerun.results(records)
        errors = self._errors()
        if len(records) > 1 and any(error.place is None for error in errors):
            # After a shuffle, the log has no position: the record is found by bisection.
            for half in (records[: len(records) // 2], records[len(records) // 2 :]):
                self._run(half, rows, failed)
            return
        for error in errors:
            failed[error.place or _place(records[0])] = error.text
        for cause, record in found:
            place = Place(*cause)
            if record.timestamp is not None and record.timestamp < 0:
                failed[place] = f"the record's timestamp is negative: {record.timestamp}"
            rows[place].append(record)

    def _errors(self) -> list[Failure]:
        log = self.rerun.log
        ends = self.client.end_offsets(log)
        found = entries(self.client, log, self.logged) if ends[0] > self.logged else ()
        errors = [entry for entry in found if isinstance(entry, Failure)]
        self.logged = ends[0]
        return errors

    def _write(self, rows: Mapping[Place, Sequence[NewRecord]]) -> None:
        sink = self.definition.writes
        if self.writer is None or not rows or sink is None:
            return
        now = time.time_ns() // 1_000_000
        batch: list[tuple[str, NewRecord]] = []
        for place, made in rows.items():
            mark = (HEADER, f"{place.topic}/{place.partition}/{place.offset}".encode())
            batch += [(sink, replace(r, headers=(*r.headers, mark))) for r in made]
            entry = Replayed(self.definition.id, place).entry(now)
            batch.append((PROCESSING_LOG_TOPIC, NewRecord(None, entry)))
        self.writer.write(batch)

    def _read(self, places: Iterable[Place]) -> Iterator[tuple[Place, Record]]:
        by_partition: dict[tuple[str, int], list[int]] = defaultdict(list)
        for place in places:
            by_partition[place.topic, place.partition].append(place.offset)
        for (topic, partition), offsets in by_partition.items():
            for near in _runs(sorted(offsets)):
                wanted = set(near)
                reader = Reader(
                    self.client.bootstrap,
                    self.client.settings,
                    topic,
                    {partition: near[0]},
                    {partition: near[-1] + 1},
                    None,
                    lambda: False,
                )
                for record in reader.records():
                    if record.offset in wanted:
                        yield _place(record), record


def _place(record: Record) -> Place:
    return Place(record.topic, record.partition, record.offset)


def _runs(offsets: Sequence[int]) -> Iterator[list[int]]:
    """Splits ascending offsets into ranges that are read in one request.

    >>> list(_runs([1, 2, 5000, 5001]))
    [[1, 2], [5000, 5001]]
    """
    run: list[int] = []
    for offset in offsets:
        if run and offset - run[-1] > _NEAR:
            yield run
            run = []
        run.append(offset)
    if run:
        yield run
