"""A query's new checkpoint, built from the log next to the running query. Its output is not
visible: rows of a stream are discarded, results of a table go to a separate topic, which is
compared with the table after the switch."""

from __future__ import annotations

import time
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

from streamsql.config import REBUILD_TOPIC_PREFIX
from streamsql.errors import ExternalError, InternalError
from streamsql.executor.queries import checkpoint
from streamsql.executor.queries.checkpoint import BUILDING, RebuildNote
from streamsql.executor.queries.definition import Definition, stuck
from streamsql.executor.queries.failures import RETRY
from streamsql.executor.queries.launcher import SparkLauncher
from streamsql.executor.queries.spark_run import Failure, Run
from streamsql.executor.rebuilds.comparisons import Comparisons
from streamsql.executor.services.services import Services
from streamsql.kafka.positions import Positions
from streamsql.planner.operators import Sink
from streamsql.schema import Kind
from streamsql.storage.location import Location
from streamsql.waiting import await_condition

if TYPE_CHECKING:
    from streamsql.executor.rebuilds.corrections import Corrections

NEAR = 1_000
"""Records: one with less lag than this can switch."""
MAX_ROUNDS = 10
"""A rebuild that does not catch up, because records arrive as fast, switches nevertheless."""
MAX_FAILURES = 5
FOLLOW_SECONDS = 10.0
"""How long a following rebuild may take to come near the end, and to the old query's final
position."""
_LOOK_SECONDS = 0.02
_LAG_SECONDS = 0.2
_COPIED = ("max.message.bytes", "message.timestamp.type")
"""Settings of a table's topic that decide which records it takes."""


class Rebuild:
    """The rebuild of one query. Not thread-safe. A rebuild that is not handed over must be
    discarded."""

    def __init__(
        self,
        definition: Definition,
        launcher: SparkLauncher,
        services: Services,
        checkpoints: Location,
        compared: Comparisons,
    ) -> None:
        """`definition` is the new definition of the query."""
        self.definition = definition
        self._launcher = launcher
        self._services = services
        self._compared = compared
        self._folder = checkpoint.rebuilt(checkpoints / definition.id)
        plan = replace(definition.plan, query_id=self._folder.name)
        self._own = replace(definition, id=self._folder.name, plan=plan, generation=BUILDING)
        root = definition.plan.root
        assert isinstance(root, Sink)
        table = root.target if root.kind is Kind.TABLE else None
        self._run: Run | None = None
        self._target = None if table is None else table.topic.name
        self.topic = None if table is None else f"{REBUILD_TOPIC_PREFIX}{uuid.uuid4().hex[:12]}"
        """Topic with a table's results so far."""

    def begin(self) -> None:
        """Creates its topic and checkpoint, and removes leftovers. ExternalError if Kafka or the
        disk fails."""
        self.discard()
        self._read_until(None)
        checkpoint.note_rebuild(self._folder, RebuildNote(self.topic))
        if self.topic is None:
            return
        client = self._services.kafka.get()
        found = client.describe(self._target or "")
        if found is None:
            raise ExternalError(f"the topic {self._target} no longer exists")
        config = {name: found.config[name] for name in _COPIED if name in found.config}
        config |= {"cleanup.policy": "delete", "retention.ms": "-1"}
        client.create_topic(self.topic, found.partitions, found.replicas, config)

    def catch_up(self) -> None:
        """Read the log until its end is near, then follow it. ExternalError after repeated
        failures."""
        if self._run is not None and self._run.active():
            return
        before: int | None = None
        for number in range(MAX_ROUNDS):
            self._read()
            if number == 0 and self.topic is not None:
                self._compared.keep(self.topic, self._corrections(self.topic).compare())
            lag = self._lag()
            # Another one would end as far from the end: as many records arrive meanwhile.
            if lag <= NEAR or (before is not None and 2 * lag > before):
                break
            before = lag
        run = self._run = self._started(follows=True)
        await_condition(
            lambda: not run.active() or self._lag() <= NEAR, FOLLOW_SECONDS, every=_LAG_SECONDS
        )

    def _lag(self) -> int:
        return self._launcher.lag(self._own, self.positions())

    def hold(self) -> None:
        """Pause reading: the old query has to reach at least the same position. ExternalError if
        Kafka fails."""
        found = None if self.topic is None else self._compared.of(self.topic)
        if self.topic is not None and found is not None:
            self._corrections(self.topic).advance(found)
        self._read_until(self.positions())

    def finish(self, until: Positions) -> None:
        """Proceeds to exactly these offsets; topics without an offset are read to their ends.
        Positions are before them. ExternalError on failure."""
        self._read_until(until)
        try:
            deadline = time.monotonic() + FOLLOW_SECONDS
            while not self._is_at(until) and self._run is not None and self._run.active():
                if time.monotonic() > deadline:
                    break
                time.sleep(_LOOK_SECONDS)
            if not self._stop():
                raise stuck(self._own.id)
            # Commits everything that was started; a failed run is repeated.
            if not self._is_at(until) or checkpoint.is_torn(self._folder):
                self._read()
        finally:
            self._read_until(None)
        if not self._is_at(until):
            raise InternalError(f"{self._own.id} has read up to {self.positions()}, not {until}")

    def positions(self) -> Positions:
        return checkpoint.committed(self._folder) or self._launcher.prepare(self._own)

    def is_beyond(self, reached: Positions) -> bool:
        """Whether it has read, or is reading, records beyond these offsets."""
        own = checkpoint.begun(self._folder)
        return any(
            offset > reached[topic].get(partition, 0)
            for topic in own.keys() & reached.keys()
            for partition, offset in own[topic].items()
        )

    def hand_over(self, generation: int) -> None:
        """Assign the checkpoint to that generation of the query, once that is logged."""
        checkpoint.hand_over(self._folder, generation)
        self._launcher.jvm.forget(self._own.id)

    def discard(self) -> None:
        if not self._stop():
            raise stuck(self._own.id)
        if self.topic is not None:
            self._compared.release(self.topic)
        if checkpoint.discard(self._folder) is not None:
            self._launcher.sweep()
        self._launcher.jvm.forget(self._own.id)

    def _stop(self) -> bool:
        if self._run is None:
            return True
        if self._run.stop():
            self._launcher.stopped(self._own.id)
            self._run = None
        return self._run is None

    def _is_at(self, until: Positions) -> bool:
        own = self.positions()
        return all(own[topic] == until[topic] for topic in own.keys() & until.keys())

    def _read(self) -> None:
        for failures in range(1, MAX_FAILURES + 1):
            failure = await_end(self._started(follows=False))
            self._launcher.stopped(self._own.id)
            if failure is None:
                return
            if not failure.retryable or failures == MAX_FAILURES:
                raise ExternalError(
                    f"{self.definition.id} was not rebuilt: {failure.text}",
                    hint="Nothing has been changed.",
                    retryable=failure.retryable,
                )
            time.sleep(RETRY.after(failures))

    def _started(self, *, follows: bool) -> Run:
        from streamsql.executor.rebuilds.muted import run

        return run(self._own, self.topic, self._launcher, follows=follows)

    def _corrections(self, made: str) -> Corrections:
        from streamsql.executor.rebuilds.corrections import Corrections

        client = self._services.kafka.get()
        return Corrections.of(self.definition, made, self._launcher, client)

    def _read_until(self, until: Positions | None) -> None:
        from streamsql.executor.rebuilds.muted import read_until

        read_until(self._own.id, until, self._services)


def await_end(run: Run) -> Failure | None:
    """Waits until a run ends; returns its error."""
    try:
        while run.active():
            time.sleep(_LOOK_SECONDS)
        return run.failure()
    finally:
        run.stop()


def committed_all(definition: Definition, launcher: SparkLauncher) -> Positions:
    """Lets a stopped query read and commit all records; returns its position. ExternalError on
    failure."""
    run = launcher.catch_up(definition, launcher.lag(definition, launcher.prepare(definition)))
    failure = await_end(run)
    launcher.stopped(definition.id)
    if failure is not None:
        raise ExternalError(
            f"{definition.id} reaches no commit to switch at: {failure.text}",
            hint="Nothing has been changed.",
            retryable=failure.retryable,
        )
    return launcher.prepare(definition)
