"""What the query manager needs to start and stop queries: the interfaces of the launcher and of the
watch over Kafka, and the threads that wait for Spark."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol

from streamsql.executor.queries.persistent_query import Definition, PersistentQuery
from streamsql.executor.queries.pulse import Moment, Pulse
from streamsql.executor.queries.spark_run import Run, classify
from streamsql.kafka.positions import Positions
from streamsql.planner.plans.query_plan import Mode

_log = logging.getLogger("streamsql.queries")
WORKERS = 4
STUCK_SECONDS = 20.0
"""An action that takes longer no longer counts among those of the workers."""
STUCK_MOST = 32
"""So many threads may be stuck; no more are started beside them."""
Action = Callable[[PersistentQuery], None]


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


class Workers:
    """A pool that runs one action at a time for each query. Py4j has no deadline: a thread whose
    action does not end is replaced, so that the other queries can be started and stopped."""

    def __init__(self, done: Callable[[], None]) -> None:
        """`done` is called after each action."""
        self._done = done
        self._changed = threading.Condition()
        self._due: deque[tuple[Future[None], Callable[[], None]]] = deque()
        self._began: dict[threading.Thread, float] = {}
        """When each thread began its action; infinite for an idle one."""
        self._closing = False

    def submit(self, query: PersistentQuery, action: Action) -> None:
        """Run an action for a query, which is busy until the action has ended."""
        query.work = self.run(lambda: self.guarded(query, action))
        query.work.add_done_callback(lambda _: self._done())

    def run(self, action: Callable[[], None]) -> Future[None]:
        """Run an action that belongs to no query and raises nothing."""
        work: Future[None] = Future()
        with self._changed:
            if self._closing:
                work.cancel()
                return work
            self._due.append((work, action))
            self._changed.notify()
        self.replace_stuck()
        return work

    def replace_stuck(self) -> None:
        """Start the threads that the actions that are due need."""
        with self._changed:
            idle = sum(began == math.inf for began in self._began.values())
            usable = len(self._began) - self._stuck()
            if len(self._due) <= idle or usable >= WORKERS or self._stuck() >= STUCK_MOST:
                return
            if usable < len(self._began):
                _log.warning("%d starts or stops of queries hang in Spark", self._stuck())
            thread = threading.Thread(target=self._work, name="query", daemon=True)
            self._began[thread] = math.inf
            thread.start()

    def guarded(self, query: PersistentQuery, action: Action) -> None:
        """Run an action here; its error becomes the query's, and ends nothing else."""
        try:
            action(query)
        except Exception as error:
            failure = classify(error)
            query.failed(failure.text, failure.retryable, time.monotonic())
            query.give_up_drain()

    def close(self) -> None:
        """Wait for the actions that run, unless they are stuck, and start no others."""
        with self._changed:
            self._closing = True
            for work, _ in self._due:
                work.cancel()
            self._due.clear()
            self._changed.notify_all()
            while len(self._began) > self._stuck():
                self._changed.wait(0.1)

    def _stuck(self) -> int:
        limit = time.monotonic() - STUCK_SECONDS
        return sum(began < limit for began in self._began.values())

    def _work(self) -> None:
        this = threading.current_thread()
        while (due := self._next(this)) is not None:
            work, action = due
            try:
                action()
                work.set_result(None)
            except BaseException as error:
                work.set_exception(error)

    def _next(self, thread: threading.Thread) -> tuple[Future[None], Callable[[], None]] | None:
        """The next action for a thread; None: it is to end, as do those that were replaced."""
        with self._changed:
            self._began[thread] = math.inf
            surplus = len(self._began) - self._stuck() > WORKERS
            while not (self._due or self._closing or surplus):
                self._changed.wait()
            if surplus or not self._due:
                del self._began[thread]
                self._changed.notify_all()
                return None
            self._began[thread] = time.monotonic()
            return self._due.popleft()
