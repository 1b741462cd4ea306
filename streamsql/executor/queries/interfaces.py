"""What the query manager needs of its surroundings: starts of runs, and what Kafka holds."""

from __future__ import annotations

from typing import Protocol

from streamsql.executor.queries.definition import Definition
from streamsql.executor.queries.spark_run import Run
from streamsql.executor.queries.status_poll import Moment, Pulse
from streamsql.kafka.positions import Positions
from streamsql.planner.plans.query_plan import Mode


class Launcher(Protocol):
    """Starts queries in Spark; every method may take a second, and raises StreamSQLError."""

    def prepare(self, query: Definition) -> Positions:
        """The positions of the next run: those of its checkpoint, else where it begins."""

    def catch_up(self, query: Definition, lag: int) -> Run:
        """Start a run that reads the `lag` records of its topics in micro-batches, and ends."""

    def live(self, query: Definition, mode: Mode) -> tuple[Run, Mode, str | None]:
        """Start a continuous run: the run, the mode that Spark allows, and why it is not the
        one asked for."""

    def replays(self, query: Definition) -> bool:
        """Whether the next run has to begin with a micro-batch, however small the lag."""

    def pulse(self) -> Pulse:
        """The queries that run and sleep, and how far each has read in its current batch."""

    def has_room(self, query: Definition) -> bool:
        """Whether the task slots that the query needs in real time are free."""

    def behind(self, query: Definition) -> int:
        """The lag, in records, at which a real-time query catches up again."""

    def was_killed(self) -> bool:
        """Whether Spark's JVM, which has ended, was killed from outside."""

    def failed(self, query: Definition, *, exhausted: bool) -> None:
        """A run of the query has ended by itself, or with its JVM; `exhausted`: it asked for more
        memory than there is, and its next batches are to be smaller."""

    def forget(self, query_id: str) -> None:
        """The query was dropped or replaced: its memory limits no longer apply."""

    def stopped(self, query_id: str) -> None:
        """The query's run has ended: its task slots are free."""

    def lags(self, query: Definition, positions: Positions) -> dict[str, int]:
        """How many records of each topic of the query lie between positions and its end."""

    def sweep(self) -> None:
        """Delete the remains of discarded checkpoints, as far as that is possible now; raises
        nothing."""


class Watch(Protocol):
    """What is known of Kafka: see KafkaWatch."""

    @property
    def outage(self) -> str | None:
        """What is wrong with Kafka just now, in words; None if it answers."""

    def look_soon(self) -> None:
        """The ends of just now are wanted."""

    @property
    def moment(self) -> Moment:
        """Where topics ended and queries were when both were last looked at."""
