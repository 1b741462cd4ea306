"""The interfaces of the query manager: starting runs, and the state of Kafka."""

from __future__ import annotations

from typing import Protocol

from streamsql.executor.queries.definition import Definition
from streamsql.executor.queries.spark_run import Run
from streamsql.executor.queries.status_poll import Moment
from streamsql.executor.spark.messages import Status
from streamsql.kafka.positions import Positions
from streamsql.planner.plans.query_plan import Mode


class Launcher(Protocol):
    """Starts queries in Spark; every method may take a second, and raises StreamSQLError."""

    def prepare(self, query: Definition) -> Positions:
        """The positions of the next run: those of its checkpoint, else its start positions."""

    def catch_up(self, query: Definition, lag: int) -> Run:
        """Start a run that reads the `lag` records of its topics in micro-batches, and ends."""

    def live(self, query: Definition, mode: Mode) -> tuple[Run, Mode, str | None]:
        """Start a continuous run: the run, its mode, and why it is not the requested one."""

    def replays(self, query: Definition) -> bool:
        """Whether the next run has to begin with a micro-batch, however small the lag."""

    def status(self) -> Status:
        """The queries that run and sleep, and how far each has read in its current batch."""

    def has_room(self, query: Definition) -> bool:
        """Whether the task slots that the query needs in real time are free."""

    def behind(self, query: Definition) -> int:
        """The lag, in records, at which a real-time query catches up again."""

    def was_killed(self) -> bool:
        """Whether Spark's JVM, which has ended, was killed from outside."""

    def failed(self, query: Definition, *, exhausted: bool) -> None:
        """A run of the query has ended by itself, or with its JVM; `exhausted`: it ran out of
        memory, and its next batches have to be smaller."""

    def forget(self, query_id: str) -> None:
        """The query was dropped or replaced: its memory limits no longer apply."""

    def stopped(self, query_id: str) -> None:
        """The query's run has ended: its task slots are free."""

    def lags(self, query: Definition, positions: Positions) -> dict[str, int]:
        """The lag of each topic of the query from these positions."""

    def sweep(self) -> None:
        """Delete the remains of discarded checkpoints, as far as that is possible now; raises
        nothing."""


class Watch(Protocol):
    """The state of Kafka: see KafkaWatch."""

    @property
    def outage(self) -> str | None:
        """The present problem with Kafka, as text; None if it answers."""

    def look_soon(self) -> None:
        """Request a new reading of the ends soon."""

    @property
    def moment(self) -> Moment:
        """The positions of topics and queries at the last reading."""
