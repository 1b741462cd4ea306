"""The query manager: runs the persistent queries, each in the mode that fits how far it is.

One thread supervises them all; starting and stopping, which takes Spark a second, is done by a few
workers. How a query is run in Spark is left to the launcher, what it computes to its plan.

A query that is far behind catches up in micro-batches; one near the end runs live. One that merges
topics begins with a catch-up, after the queries that feed it. A query that fails is started again
from its checkpoint with growing delays; one that waits for Kafka as soon as that is back.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Container
from contextlib import suppress

from streamsql.errors import BindError, ExternalError
from streamsql.executor.queries import checkpoint, deaths, observing, slots
from streamsql.executor.queries.launching import Launcher, Watch, Workers
from streamsql.executor.queries.observing import Observer
from streamsql.executor.queries.persistent_query import (
    Activity,
    Definition,
    KnownQuery,
    PersistentQuery,
    on_standby,
    stuck,
)
from streamsql.executor.queries.pulse import Progress
from streamsql.executor.queries.spark_run import Unstarted
from streamsql.kafka.positions import Positions
from streamsql.places.place import Place
from streamsql.planner.plans.guarantee import Guarantee
from streamsql.planner.plans.query_plan import Mode
from streamsql.status import QueryInfo

_log = logging.getLogger("streamsql.queries")
NEAR = 5_000
"""Records: a query with less lag than this goes live without catching up first."""
STOP_SECONDS = 90.0


class QueryManager:
    """All persistent queries of an engine; every method may be called from any thread."""

    def __init__(
        self, launcher: Launcher, watch: Watch, checkpoints: Place, *, by_itself: bool = True
    ) -> None:
        """`by_itself` False: queries run only when `drain` tells them to."""
        self._launcher = launcher
        self._watch = watch
        self._observer = Observer(launcher, watch)
        self._shared_at = 0.0
        self._checkpoints = checkpoints
        self._by_itself = by_itself
        self._standby = False
        self._queries: dict[str, PersistentQuery] = {}
        self._changed = threading.Condition()
        self._closing = False
        self._close_by = math.inf
        self._workers = Workers(self._look_again)
        self._thread = threading.Thread(target=self._supervise, name="queries", daemon=True)

    # -- from outside ----------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to run queries; before that, they can be added already."""
        self._thread.start()

    def lead(self, leads: bool) -> None:
        """Run the queries, or know them only: another engine runs them, on their checkpoints."""
        with self._changed:
            self._standby = not leads
            for query in self._queries.values():
                query.recovered()
            self._changed.notify_all()

    def known(self) -> dict[str, KnownQuery]:
        """What the queries are, as the statement log would have it."""
        return {q.id: KnownQuery(q.meant, q.paused, q.read_rate) for q in self._all()}

    def remove_leftovers(self, spare: Container[str] = ()) -> None:
        """Discard checkpoints of no known query, but not those of these names (push queries)."""
        generations = {q: known.definition.generation for q, known in self.known().items()}
        checkpoint.discard_others(self._checkpoints, generations, spare)

    def add(self, definition: Definition) -> None:
        """Take over a new query, started in the background; ExternalError while another runs."""
        with self._changed:
            if definition.id in self._queries:
                raise stuck(definition.id)
            restored = self._standby or self._thread.ident is None
            self._queries[definition.id] = PersistentQuery(definition, restored=restored)
            self._changed.notify_all()

    def replace(self, definition: Definition, *, waits: bool = True) -> bool:
        """Go on with another plan on the same checkpoint; whether the query does so now. One that
        does not stop takes the plan when it has. Not `waits`: see `unsettled`."""
        query = self._find(definition.id)
        with self._changed:
            query.settled.clear()
            query.successor = definition
            self._changed.notify_all()
        return not (waits and self._unsettled([query]))

    def unsettled(self, *query_ids: str) -> list[str]:
        """Wait for queries that were told something; those that are not there in time."""
        with self._changed:
            queries = [self._queries[name] for name in query_ids if name in self._queries]
        return self._unsettled(queries)

    def terminate(
        self, *query_ids: str, keep_checkpoint: bool = False, waits: bool = True
    ) -> list[str]:
        """End queries and discard their checkpoints; returns when both is done. Those that do not
        stop are returned: they end when they do. Not `waits`: see `unsettled`."""
        queries = [self._find(query_id) for query_id in query_ids]
        with self._changed:
            for query in queries:
                query.settled.clear()
                query.removed, query.keep_checkpoint = True, keep_checkpoint
            self._changed.notify_all()
        return self._unsettled(queries) if waits else []

    def pause(self, *query_ids: str, waits: bool = True) -> list[str]:
        """Stop queries and keep their checkpoints; returns when they have stopped. Those that do
        not stop are returned: they are paused once they have. Not `waits`: see `unsettled`."""
        queries = [self._find(query_id) for query_id in query_ids]
        with self._changed:
            queries = [query for query in queries if not query.has_paused]
            for query in queries:
                query.settled.clear()
                query.paused, query.finished = True, False
            self._changed.notify_all()
        return self._unsettled(queries) if waits else []

    def finished(self, query_id: str) -> bool:
        """Whether a paused query certainly has committed all that it has written."""
        return self._find(query_id).finished

    def resume(self, query_id: str, *, accepts: Collection[str] = ()) -> None:
        """Let a paused or failed query go on at once, over what these properties are about."""
        query = self._find(query_id)
        with self._changed:
            query.paused = False
            if accepts:
                query.accept(accepts)
            query.recovered()
            self._changed.notify_all()

    def infos(self) -> list[QueryInfo]:
        """The queries as they stand, in order of creation."""
        infos = [q.info(self._watch.outage, NEAR) for q in self._all()]
        return [on_standby(info) for info in infos] if self._standby else infos

    def definition(self, query_id: str) -> Definition:
        """What a query is; BindError for an unknown id."""
        return self._find(query_id).meant

    def topics(self) -> list[str]:
        """The topics that the queries read."""
        return [topic for query in self._all() for topic in query.definition.topics]

    def drain(self, query_ids: list[str], tick: Callable[[], None] | None = None) -> None:
        """Have queries process all that their topics hold now; returns when they have.
        ExternalError with the error of a query that failed for good."""
        queries = [self._find(query_id) for query_id in query_ids]
        with self._changed:
            for query in queries:
                if not query.paused:
                    query.settled.clear()
                    query.recovered()
                    query.drain_since, query.drain = time.monotonic(), True
            self._changed.notify_all()
        for query in queries:
            while query.drain and not query.settled.wait(0.1):
                if tick:
                    tick()
            if query.drain:
                query.drain = False
                raise ExternalError(f"query {query.id} failed: {query.error}")

    def position(self, query_id: str) -> Positions | None:
        """How far a query has come, as far as that is known."""
        return self._find(query_id).positions

    def progress(self, query_id: str) -> Progress | None:
        """How far a query was at one moment; None while that is not known."""
        return self._find(query_id).progress

    def live_since(self, query_id: str) -> float:
        """When a query's live run began, in `time.monotonic()`; now if it has had none."""
        return self._find(query_id).live_since or time.monotonic()

    def close(self) -> None:
        """Stop all queries, as far as they stop in time; their checkpoints stay."""
        with self._changed:
            if self._closing:
                return
            self._closing, self._close_by = True, time.monotonic() + STOP_SECONDS
            self._changed.notify_all()
        if self._thread.ident is not None:
            self._thread.join(STOP_SECONDS)
        self._workers.close()

    # -- supervising -----------------------------------------------------------------------------

    def _find(self, query_id: str) -> PersistentQuery:
        with self._changed:
            if (query := self._queries.get(query_id)) is not None:
                return query
        raise BindError(f"Unknown queryId: {query_id}", hint="SHOW QUERIES lists the queries.")

    def _unsettled(self, queries: list[PersistentQuery]) -> list[str]:
        """Wait for queries to be what they are to be; those that are not in time."""
        if self._thread.ident is None:
            # Nothing runs yet: there is nothing to stop.
            with self._changed:
                for query in queries:
                    self._settle_stopped(query)
            return []
        deadline = time.monotonic() + STOP_SECONDS
        return [q.id for q in queries if not q.settled.wait(max(0, deadline - time.monotonic()))]

    def _supervise(self) -> None:
        while True:
            with self._changed:
                self._changed.wait(observing.LOOK_SECONDS)
                queries = list(self._queries.values())
            # Without the lock: a Spark that hangs must not keep SHOW QUERIES from answering.
            for query in queries:
                if not query.busy:
                    self._workers.guarded(query, self._step)
            try:
                self._start_unstarted(queries)
                self._share_slots(queries)
            except Exception:
                # The thread must outlive everything: without it no query is started or stopped.
                _log.exception("the supervision of the queries failed, and goes on")
            self._workers.replace_stuck()
            done = not any(q.run or q.busy for q in queries)
            if self._closing and (done or time.monotonic() > self._close_by):
                return

    def _step(self, query: PersistentQuery) -> None:
        """Bring one query closer to what it is to do. Of what it reads, others change only what is
        asked for (paused, removed, drain), which the next step sees if this one does not."""
        now = time.monotonic()
        if query.run is not None and (query.stops or self._is_to_stop(query)):
            if not query.stops or now >= query.look_at:
                self._workers.submit(query, self._stop)
            return
        if self._is_to_stop(query):
            self._settle_stopped(query)
        if query.run is None:
            self._observer.look_at_rest(query)
            # One that was replaced goes on at once, as what it has become.
            if not self._is_to_stop(query):
                self._consider_start(query, now)
            return
        if query.drain and query.activity is Activity.LIVE:
            self._workers.submit(query, self._stop)
            return
        if now < query.look_at or self._observer.sleeps_on(query, now):
            return
        if self._observer.has_ended(query):
            self._ended(query, now)
            self._consider_start(query, now)
            return
        self._observer.look(query, now)
        if self._observer.is_to_switch(query, now):
            self._workers.submit(query, self._stop)

    def _start_unstarted(self, queries: list[PersistentQuery]) -> None:
        """Those that have something to read, else one at a time while nothing else starts."""
        unstarted = [q for q in queries if isinstance(q.run, Unstarted) and not q.busy]
        free = not any(q.busy for q in queries)
        due = [q for q in unstarted if not q.asleep] or unstarted[: int(free)]
        for query in due if self._watch.outage is None else ():
            query.restored = False
            self._workers.submit(query, self._start_in_spark)

    def _share_slots(self, queries: list[PersistentQuery]) -> None:
        """Move a query to its other mode, where another use of the task slots is better."""
        now = time.monotonic()
        if now - self._shared_at < slots.SHARE_SECONDS or any(q.busy for q in queries):
            return
        self._shared_at = now
        if moved := slots.to_move(queries, lambda q: self._launcher.has_room(q.definition), now):
            moved.yields = slots.YIELDED if moved.real_time else None
            self._workers.submit(moved, self._stop)

    def _look_again(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _is_to_stop(self, query: PersistentQuery) -> bool:
        return self._closing or self._standby or query.to_stop

    def _settle_stopped(self, query: PersistentQuery) -> None:
        if query.removed or query.successor is not None:
            self._launcher.forget(query.id)
        query.succeeded()
        if query.removed and query.id in self._queries and not self._closing:
            if not (self._standby or query.keep_checkpoint):
                self._discard(query)
            with self._changed:
                self._queries.pop(query.id, None)
        query.settled.set()

    def _discard(self, query: PersistentQuery) -> None:
        folder = self._checkpoints / query.id
        with suppress(ExternalError):  # The next start tries again.
            if query.definition.plan.guarantee is not Guarantee.EXACTLY_ONCE:
                checkpoint.remove(folder)
            elif checkpoint.discard(folder) is not None and self._thread.ident is not None:
                self._workers.run(self._launcher.sweep)

    def _consider_start(self, query: PersistentQuery, now: float) -> None:
        if not (self._by_itself or query.drain) or not deaths.may_start(query, self._all()):
            return
        if self._watch.outage is None and query.retryable and query.failures <= 1:
            # The first failure after an outage: no reason to wait any longer.
            query.retry_at = min(query.retry_at, now)
        if now >= query.retry_at and self._watch.outage is None and not self._is_fed(query):
            self._workers.submit(query, self._start)

    def _all(self) -> list[PersistentQuery]:
        with self._changed:
            return list(self._queries.values())

    def _is_fed(self, query: PersistentQuery) -> bool:
        """Whether a query that merges topics is to wait, as others are still filling them."""
        waits = query.definition.merges and not query.drain
        return waits and observing.is_fed(query, self._all(), self._watch.outage, NEAR)

    def _start(self, query: PersistentQuery) -> None:
        definition = query.to_run
        positions = self._launcher.prepare(definition)
        lags = self._launcher.lags(definition, positions)
        lag = sum(lags.values())
        with self._changed:
            query.positions, query.lag, query.progress = positions, lag, None
            interrupted = not query.finished and self._launcher.replays(definition)
            catching_up = query.is_to_catch_up(lags, NEAR, interrupted)
        if catching_up:
            started_at = time.monotonic()
            run = self._launcher.catch_up(definition, lag)
            with self._changed:
                query.begun(run, Activity.CATCHING_UP)
                query.started_at = started_at
            return
        if query.restored and lag == 0 and definition.only_reacts and not query.drain:
            with self._changed:
                query.begun(Unstarted(positions), Activity.LIVE)
                query.asleep = True
            return
        plan, why = definition.plan.mode, query.not_real_time
        run, mode, reason = self._launcher.live(definition, Mode.MICRO_BATCH if why else plan.mode)
        with self._changed:
            query.mode = mode if mode is not plan.mode else None
            query.begun(run, Activity.LIVE)
            query.mode_reason = why or reason
            query.live_since, query.behind_since, query.rounds = time.monotonic(), None, 0

    def _start_in_spark(self, query: PersistentQuery) -> None:
        try:
            self._start(query)
        except BaseException:
            query.run = None
            raise

    def _stop(self, query: PersistentQuery) -> None:
        # A follower finishes no batch: the new leader may be in it by now.
        finishes = not (query.removed or self._standby) and self._watch.outage is None
        if query.stop_run(finishes=finishes):
            self._launcher.stopped(query.id)
            with self._changed:
                query.run = None

    def _ended(self, query: PersistentQuery, now: float) -> None:
        """A run is over: it failed, or it has caught up."""
        run = query.run
        assert run is not None
        if (failure := run.failure()) is not None:
            failure = deaths.judge(query, failure, self._all(), self._launcher.was_killed)
        query.run = None
        self._launcher.stopped(query.id)
        if failure is not None:
            self._launcher.failed(query.definition, exhausted=failure.exhausting)
            query.failed(failure.text, failure.retryable or self._watch.outage is not None, now)
            query.give_up_drain()
            return
        query.caught_up(run.positions(), now)
        if query.drain and query.started_at >= query.drain_since:
            query.drain = False
            query.settled.set()
