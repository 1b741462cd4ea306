"""What the query manager needs of its surroundings: starts of runs, and what Kafka holds."""

from __future__ import annotations

from typing import Protocol

from streamsql.executor.queries.definition import Definition
from streamsql.executor.queries.pulse import Moment, Pulse
from streamsql.executor.queries.spark_run import Run
from streamsql.kafka.positions import Positions
from streamsql.planner.plans.query_plan import Mode


class Launcher(Protocol):
    """Starts queries in Spark; every method may take a second, and raises StreamSQLError."""

    def prepare(self, query: Definition) -> Positions:
        """Where a query goes on: at its checkpoint, else where it is to begin."""

    def catch_up(self, query: Definition, lag: int) -> Run:
        """Begin to read what there is, about `lag` records, in micro-batches; the run ends by
        itself."""

    def live(self, query: Definition, mode: Mode) -> tuple[Run, Mode, str | None]:
        """Begin to go on for good: the run, the mode that Spark allows, and why if not the one
        asked for."""

    def replays(self, query: Definition) -> bool:
        """Whether a query that goes on has to begin with a micro-batch, however near it is."""

    def pulse(self) -> Pulse:
        """Who runs, who sleeps, and how far each has read in its present batch."""

    def has_room(self, query: Definition) -> bool:
        """Whether the query would find the task slots that it needs in real time."""

    def behind(self, query: Definition) -> int:
        """The lag, in records, at which a real-time query is to catch up again."""

    def was_killed(self) -> bool:
        """Whether Spark's JVM, which is gone, has ended by no fault of its own."""

    def failed(self, query: Definition, *, exhausted: bool) -> None:
        """A run of the query has ended by itself, or with its JVM; `exhausted`: it asked for more
        memory than there is, and its next batches are to be smaller."""

    def forget(self, query_id: str) -> None:
        """The query is no more, or is another one from now on: it may have what any has."""

    def stopped(self, query_id: str) -> None:
        """The query's run has ended: its place is free."""

    def lags(self, query: Definition, positions: Positions) -> dict[str, int]:
        """How many records of each topic of the query lie between positions and its end."""

    def sweep(self) -> None:
        """Have nothing be left of checkpoints that were discarded, as far as that is possible now;
        raises nothing."""


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
