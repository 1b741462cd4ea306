"""The query manager: runs the persistent queries, each in the mode that fits its lag.

It is the mailbox of the queries. Every event, from a statement, a worker or the clock, goes through
`_post`, which under one lock takes the query to its next state (see lifecycle.py) and hands the
effects to the workers. Nothing waits for Spark or Kafka under that lock. One thread keeps the clock
and decides which queries may start; another checks the queries' health.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Container
from contextlib import suppress

from streamsql.errors import BindError, ExternalError
from streamsql.executor.queries import checkpoint, crash_isolation, events, health, slot_sharing
from streamsql.executor.queries.admission import is_full, may_start, surplus
from streamsql.executor.queries.definition import Definition, KnownQuery, stuck
from streamsql.executor.queries.events import Discard, Effect, Event, Forget, Release, Start, Stop
from streamsql.executor.queries.health import HealthCheck
from streamsql.executor.queries.interfaces import Launcher, Watch
from streamsql.executor.queries.lifecycle import added, step
from streamsql.executor.queries.phases import (
    CatchingUp,
    Deferred,
    Live,
    Removed,
    Stopping,
)
from streamsql.executor.queries.query import Query
from streamsql.executor.queries.spark_run import classify
from streamsql.executor.queries.status_poll import Progress
from streamsql.executor.queries.workers import Workers
from streamsql.kafka.positions import Positions
from streamsql.planner.plans.guarantee import Guarantee
from streamsql.planner.plans.query_plan import Mode
from streamsql.status import QueryInfo
from streamsql.storage.location import Location

_log = logging.getLogger("streamsql.queries")
# Without a log handler, as in the shell, errors show in SHOW QUERIES only.
_log.addHandler(logging.NullHandler())
STOP_SECONDS = 90.0
"""How long a statement waits for queries to stop; they stop later in the background."""
TICK_SECONDS = 0.1
CLOSE_SECONDS = 1.0
"""How long the threads of the manager may take to end."""


class QueryManager:
    """All persistent queries of an engine; every method may be called from any thread."""

    def __init__(
        self,
        launcher: Launcher,
        watch: Watch,
        checkpoints: Location,
        *,
        by_itself: bool = True,
        room: float = math.inf,
    ) -> None:
        """`by_itself` False: queries run only during `drain`; `room` is the number of queries in
        Spark beyond which those without records leave it."""
        self._launcher = launcher
        self._watch = watch
        self._checkpoints = checkpoints
        self._by_itself = by_itself
        self._room = room
        self._standby = False
        self._closing = False
        self._queries: dict[str, Query] = {}
        self._changed = threading.Condition()
        self._workers = Workers()
        self._health = HealthCheck(launcher, watch)
        self._shared_at = 0.0
        self._due = threading.Event()
        """Set where a query may have to start or stop."""
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._repeat, args=of, name=name, daemon=True)
            for name, *of in (
                ("queries", self._tick, self._due, TICK_SECONDS),
                ("query health", self._look, self._ended, health.LOOK_SECONDS),
            )
        ]

    # -- from outside ----------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to run queries; they can be added before."""
        for thread in self._threads:
            thread.start()

    def lead(self, leads: bool) -> None:
        """Run the queries, or only know them: another engine runs them, on their checkpoints."""
        with self._changed:
            self._standby = not leads
            self._post_all(self._queries, events.LeadershipChanged(leads))

    def known(self) -> dict[str, KnownQuery]:
        """The queries, as the statement log records them."""
        return {q.id: KnownQuery(q.meant, q.goal.paused, q.read_rate) for q in self._all()}

    def remove_leftovers(self, spare: Container[str] = ()) -> None:
        """Discard checkpoints of no known query, but not those of these names (push queries)."""
        generations = {q: known.definition.generation for q, known in self.known().items()}
        checkpoint.discard_others(self._checkpoints, generations, spare)

    def discard_views(self) -> None:
        """Discard the checkpoints of views, whose queries do not run: another engine has run them
        on checkpoints of its own, and its batches ended elsewhere."""
        for query_id, known in self.known().items():
            if known.definition.is_view:
                checkpoint.discard(self._checkpoints / query_id)

    def add(self, definition: Definition) -> None:
        """Add a new query, started in the background; ExternalError while another one of its id
        runs."""
        with self._changed:
            if definition.id in self._queries:
                raise stuck(definition.id)
            restored = self._standby or not self._started
            query = added(definition, restored=restored, standby=self._standby or self._closing)
            self._queries[definition.id] = query
            self._due.set()

    def replace(self, definition: Definition, *, waits: bool = True) -> bool:
        """Run another plan on the same checkpoint; whether the query does so now. A query that
        does not stop takes the plan once it has. Not `waits`: see `unsettled`."""
        return not self._ask([definition.id], events.ReplaceRequested(definition), waits=waits)

    def terminate(
        self, *query_ids: str, keep_checkpoint: bool = False, waits: bool = True
    ) -> list[str]:
        """Stop queries and discard their checkpoints; returns when both is done, with the ids that
        timed out, which stop in the background. Not `waits`: see `unsettled`."""
        return self._ask(query_ids, events.StopRequested(keep_checkpoint), waits=waits)

    def pause(self, *query_ids: str, waits: bool = True) -> list[str]:
        """Stop queries and keep their checkpoints; returns when they have stopped, with the ids
        that timed out, which stop in the background. Not `waits`: see `unsettled`."""
        return self._ask(query_ids, events.PauseRequested(), waits=waits)

    def unsettled(self, *query_ids: str) -> list[str]:
        """Wait until pauses, terminations and replacements have taken effect; the ids of the
        queries for which they have not in time."""
        pending: list[str] = []

        def settled() -> bool:
            found = (self._queries.get(query_id) for query_id in query_ids)
            pending[:] = [query.id for query in found if query is not None and query.pending]
            return not pending

        with self._changed:
            self._changed.wait_for(settled, STOP_SECONDS)
        return pending

    def finished(self, query_id: str) -> bool:
        """Whether a paused query certainly has committed all that it has written."""
        return self._find(query_id).finished

    def resume(self, query_id: str, *, accepts: Collection[str] = ()) -> None:
        """Resume a paused or failed query at once, with the data loss that these properties
        accept."""
        self._ask([query_id], events.ResumeRequested(tuple(accepts)), waits=False)

    def infos(self) -> list[QueryInfo]:
        """The queries as they stand, in order of creation."""
        return [query.info(self._watch.outage) for query in self._all()]

    def definition(self, query_id: str) -> Definition:
        """The definition of a query; BindError for an unknown id."""
        return self._find(query_id).meant

    def topics(self) -> list[str]:
        """The topics that the queries read."""
        return [topic for query in self._all() for topic in query.definition.topics]

    def drain(self, query_ids: list[str], tick: Callable[[], None] | None = None) -> None:
        """Make queries process all that their topics hold now; returns when they have.
        ExternalError with the error of a query that failed for good."""
        self._ask(query_ids, events.DrainRequested(), waits=False)
        for query_id in query_ids:
            while (query := self._find(query_id)).draining:
                if query.failures.persistent:
                    self._post(query_id, events.DrainCancelled())
                    raise ExternalError(f"query {query_id} failed: {query.failures.error}")
                with self._changed:
                    self._changed.wait(TICK_SECONDS)
                if tick:
                    tick()

    def position(self, query_id: str) -> Positions | None:
        """The position of a query, as far as it is known."""
        return self._find(query_id).health.positions

    def progress(self, query_id: str) -> Progress | None:
        """The position of a query at one moment; None while it is unknown."""
        return self._find(query_id).health.progress

    def live_since(self, query_id: str) -> float:
        """When a query's live run began, in `time.monotonic()`; now if it has none."""
        active = self._find(query_id).active
        return active.began_at if isinstance(active, Live) else time.monotonic()

    def close(self) -> None:
        """Stop all queries, as far as they stop in time; their checkpoints stay."""
        with self._changed:
            if self._closing:
                return
            self._closing = True
            self._post_all(self._queries, events.EngineClosing())
            at_rest = lambda: all(query.at_rest for query in self._queries.values())  # noqa: E731
            if self._started:
                self._changed.wait_for(at_rest, STOP_SECONDS)
        self._ended.set()
        self._due.set()
        for thread in self._threads if self._started else ():
            thread.join(CLOSE_SECONDS)
        self._workers.close()

    # -- the mailbox -----------------------------------------------------------------------------

    @property
    def _started(self) -> bool:
        return self._threads[0].ident is not None

    def _find(self, query_id: str) -> Query:
        with self._changed:
            if (query := self._queries.get(query_id)) is not None:
                return query
        raise BindError(f"Unknown queryId: {query_id}", hint="SHOW QUERIES lists the queries.")

    def _all(self) -> list[Query]:
        with self._changed:
            return list(self._queries.values())

    def _ask(self, query_ids: Collection[str], event: Event, *, waits: bool) -> list[str]:
        """Post a request to each of the queries, and wait for all of them together."""
        for query_id in query_ids:
            self._find(query_id)
        self._post_all(query_ids, event)
        return self.unsettled(*query_ids) if waits else []

    def _post_all(self, query_ids: Collection[str], event: Event) -> None:
        with self._changed:
            for query_id in list(query_ids):
                self._post(query_id, event)

    def _post(self, query_id: str, event: Event) -> None:
        with self._changed:
            if (before := self._queries.get(query_id)) is None:
                return
            after, effects = step(before, event, time.monotonic())
            if isinstance(after.phase, Removed):
                del self._queries[query_id]
            else:
                self._queries[query_id] = after
            for effect in effects:
                self._execute(after, effect)
            if after.phase is not before.phase or after.goal is not before.goal:
                self._changed.notify_all()
                self._due.set()
        if after.failures.count > before.failures.count:
            _log.warning("query failed: %s", after.failures.error, extra={"query_id": query_id})

    def _execute(self, query: Query, effect: Effect) -> None:
        """Hand an effect to the workers; effects that free resources come before those that take
        them."""
        if isinstance(effect, Forget):
            self._launcher.forget(query.id)
            return

        def execute() -> None:
            self._post(query.id, self._outcome(query, effect))

        if self._started:
            self._workers.run(execute, first=not isinstance(effect, Start))
        else:
            execute()

    # -- effects: these wait for Spark, Kafka and files ------------------------------------------

    def _outcome(self, query: Query, effect: Start | Stop | Release | Discard) -> Event:
        try:
            match effect:
                case Start():
                    return self._start(query)
                case Stop():
                    return self._stop(query, effect)
                case Release(failure=failure):
                    self._launcher.stopped(query.id)
                    if failure is not None:
                        self._launcher.failed(query.definition, exhausted=failure.exhausting)
                case Discard():
                    self._discard(query)
        except Exception as error:
            if isinstance(effect, Start):
                return events.StartFailed(classify(error), outage=self._watch.outage is not None)
            _log.exception("%s of query %s failed", type(effect).__name__, query.id)
            if isinstance(effect, Stop):
                return events.StopTimedOut(effect.run)
        return (
            events.RunStopped(effect.run)
            if isinstance(effect, Release)
            else events.CheckpointDiscarded()
        )

    def _start(self, query: Query) -> events.Started:
        definition = query.to_run
        positions = self._launcher.prepare(definition)
        lags = self._launcher.lags(definition, positions)
        lag = sum(lags.values())
        interrupted = not query.finished and self._launcher.replays(definition)
        mode = reason = None
        phase: CatchingUp | Deferred | Live
        if query.catches_up_first(lags, interrupted):
            run = self._launcher.catch_up(definition, lag)
            phase = CatchingUp(run, time.monotonic(), positions, drains=query.goal.drain)
        elif query.defers(lag, full=is_full(self._all(), self._room)):
            phase = Deferred(time.monotonic())
        else:
            why = query.not_real_time
            wanted = Mode.MICRO_BATCH if why else definition.plan.mode.mode
            run, mode, reason = self._launcher.live(definition, wanted)
            reason = why or reason
            phase = Live(run, time.monotonic(), positions)
        doing = "catching up" if isinstance(phase, CatchingUp) else "live"
        shown = (mode or definition.plan.mode.mode) if doing == "live" else Mode.MICRO_BATCH
        _log.info("query is %s", doing, extra={"query_id": query.id, "mode": shown.value})
        return events.Started(phase, positions, lag, mode, reason)

    def _stop(self, query: Query, effect: Stop) -> events.RunStopped | events.StopTimedOut:
        run, finished = effect.run, False
        if effect.finishes and not self._standby and self._watch.outage is None:
            finished = run.finish()
        if not (run.stop() if effect.asks else not run.active()):
            return events.StopTimedOut(run, finished)
        self._launcher.stopped(query.id)
        return events.RunStopped(run, finished)

    def _discard(self, query: Query) -> None:
        if self._standby:
            return  # The leader owns the checkpoint by now.
        folder = self._checkpoints / query.id
        with suppress(ExternalError):  # The next start tries again.
            if query.definition.plan.guarantee is not Guarantee.EXACTLY_ONCE:
                checkpoint.remove(folder)
            elif checkpoint.discard(folder) is not None and self._started:
                self._workers.run(self._launcher.sweep)

    # -- the clock -------------------------------------------------------------------------------

    def _repeat(self, action: Callable[[], None], due: threading.Event, seconds: float) -> None:
        while not self._ended.is_set():
            try:
                action()
            except Exception:
                # Without this thread no query starts or stops.
                _log.exception("the supervision of the queries failed, and continues")
            due.wait(seconds)

    def _tick(self) -> None:
        self._due.clear()
        with self._changed:
            for query in self._all():
                if isinstance(query.phase, Stopping):
                    self._post(query.id, events.Tick())
            if self._watch.outage is None:
                self._start_due()
        self._workers.replace_stuck()

    def _start_due(self) -> None:
        looked: set[bool] = set()
        for query_id in list(self._queries):
            query, now = self._queries[query_id], time.monotonic()
            if isinstance(query.phase, Deferred) and query.health.asleep:
                # What keeps the first of a kind from starting keeps all of them.
                if (kind := query.definition.may_rest) in looked:
                    continue
                looked.add(kind)
            others = self._queries.values()
            if may_start(query, others, now, by_itself=self._by_itself, room=self._room):
                self._post(query_id, events.StartDue())

    def _look(self) -> None:
        for query in self._all():
            for event in self._health.events(query, time.monotonic()):
                self._observed(query.id, event)
        now = time.monotonic()
        queries = self._all()
        if now - self._shared_at < slot_sharing.SHARE_SECONDS or any(q.busy for q in queries):
            return
        self._shared_at = now
        for query in surplus(queries, self._room, now):
            self._post(query.id, events.RestartDue(query.run))
        has_room = lambda query: self._launcher.has_room(query.definition)  # noqa: E731
        if moved := slot_sharing.to_move(queries, has_room, now):
            yields = slot_sharing.YIELDED if moved.real_time else None
            self._post(moved.id, events.RestartDue(moved.run, yields))

    def _observed(self, query_id: str, event: events.RunEvent) -> None:
        if isinstance(event, events.RunFailed) and event.failure.died:
            was_killed = self._launcher.was_killed()
            with self._changed:
                queries, now = self._all(), time.monotonic()
                if any(q.id == query_id and not crash_isolation.is_counted(q) for q in queries):
                    counted = crash_isolation.crashed(queries, now, was_killed=was_killed)
                    for each, crash in counted.items():
                        self._post(each, crash)
        self._post(query_id, event)
