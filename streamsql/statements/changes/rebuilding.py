"""Queries that get another checkpoint, built anew from the log while they go on or rewritten of the
state that is there, and the moment at which they switch.

The new ones catch up first, which may take long and holds nobody up. Then the old ones stop at what
they have committed, the new ones go on to exactly there, one entry is logged for all of them, and
they run on. Before the entry nothing has happened; after it each start finishes what is left.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from types import TracebackType

from streamsql.errors import ExternalError, StreamSQLError, UnsupportedError
from streamsql.executor.queries.checkpoint import is_settled, rebuilt
from streamsql.executor.queries.persistent_query import Definition, KnownQuery, stuck
from streamsql.executor.rebuilds.building import Rebuild, committed_all
from streamsql.executor.rebuilds.repartitioning import Repartition
from streamsql.executor.rebuilds.rewriting import Rewrite, StateNotKeptError
from streamsql.log.entries import Offsets
from streamsql.places.place import Place
from streamsql.planner.changes.keeping import is_one_grouping
from streamsql.planner.plans.query_plan import QueryPlan
from streamsql.results import Warning
from streamsql.runtime.state import EngineState
from streamsql.statements.changes.retention import lost_of, wanted_offsets
from streamsql.statements.changes.steps import Step

SETTLE_SECONDS = 60.0
"""How long `apply` waits for tables to hold what their new queries make."""
BUILD_SECONDS = 600.0
"""How long a change waits for another one that is being built."""
_STAGED_SECONDS = 0.2
_LOOK_SECONDS = 0.02
_UNSETTLED = "Query {} has switched; its table is not brought up to date yet: that goes on."


AnyRebuild = Rebuild | Rewrite | Repartition
"""What makes another checkpoint of a query's."""


class Rebuilds:
    """Those of one `apply`. What has not switched at its end is discarded."""

    def __init__(self, state: EngineState, *, from_what_is_left: bool) -> None:
        """`from_what_is_left`: whether the log may lack what the old queries have read."""
        self._state = state
        self._from_what_is_left = from_what_is_left
        self._built: dict[str, AnyRebuild] = {}
        self._not_kept: dict[str, str] = {}
        self._held = False

    def __enter__(self) -> Rebuilds:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Discard what has not switched."""
        try:
            for rebuild in self._built.values():
                with suppress(StreamSQLError):  # The next start discards it.
                    rebuild.discard()
        finally:
            if self._held:
                self._held = False
                self._state.rebuilding.release()

    def keeps(self, step: Step, query_id: str | None) -> bool:
        """Whether the state of the query that a step replaces is rewritten, and the log not read
        again: not where the checkpoint turned out not to allow it. UnsupportedError where the log
        cannot be read again either."""
        reason = self._not_kept.get(query_id or "") if step.keeps else None
        if reason is not None and step.item.obstacle is not None:
            raise UnsupportedError(
                f"the state of {query_id} cannot be rewritten: {reason}",
                detail=f"It cannot be built anew from the log: {step.item.obstacle}.",
            )
        return step.keeps and reason is None

    def has_kept(self, query_id: str | None) -> bool:
        """Whether the state of a query was not found to be one that cannot be rewritten."""
        return query_id not in self._not_kept

    def not_kept(self) -> list[Warning]:
        """What is said of state that was built anew where it was to be rewritten."""
        return [
            Warning(f"The state of {query_id} was built anew from the log: {reason}")
            for query_id, reason in self._not_kept.items()
        ]

    def starting_offsets(
        self,
        known: KnownQuery,
        plan: QueryPlan,
        topics: Sequence[str],
        props: Mapping[str, str],
        *,
        keeps: bool = False,
    ) -> Offsets | None:
        """Where a query that is to get another checkpoint begins: where the old one did.
        UnsupportedError where the old query does not run, or where the log begins later; one that
        `keeps` its state does not care."""
        old = known.definition
        if (built := self._built.get(old.id)) is not None:
            return built.definition.starting_offsets
        if known.paused:
            raise UnsupportedError(
                f"{old.id} is paused, and is to switch to another checkpoint where it is",
                hint=f"Nothing has been changed. RESUME {old.id}; first.",
            )
        if keeps:
            return old.starting_offsets
        found = dict(old.starting_offsets or {})
        for topic in topics:
            if topic in old.topics:
                found |= self._begin(topic, old)
        new = tuple(topic for topic in topics if topic not in old.topics)
        found |= self._state.launcher.starting_offsets(new, plan.starts, props) or {}
        return {topic: found[topic] for topic in topics if topic in found} or None

    def _begin(self, topic: str, old: Definition) -> Offsets:
        begins = self._state.services.kafka.get().begin_offsets(topic)
        lost = lost_of(old, topic, begins)
        if lost and not self._from_what_is_left:
            reason = self._not_kept.get(old.id)
            raise UnsupportedError(
                f"{old.id} cannot be built anew as it was: of {topic}, partition "
                f"{lost[0].partition}, the records before offset {lost[0].begin} are there no more",
                detail="What it has made of them is known to its state alone"
                + (f", which cannot be rewritten: {reason}." if reason else "."),
                hint="Nothing has been changed. With --from-what-is-left (HTTP: "
                '"fromWhatIsLeft") it is built of the records that are there.',
            )
        if topic not in (old.starting_offsets or {}):
            return {}
        wanted = wanted_offsets(old, topic, begins)
        return {topic: {str(p): max(first, begins[p]) for p, first in wanted.items()}}

    def topic(self, query_id: str) -> str | None:
        """What has the rows so far of a table's query; None: that of a stream."""
        return self._built[query_id].topic

    def are_ready(self, wanted: Sequence[Definition], kept: Collection[str]) -> bool:
        """Whether all of these have been built, as they are to be now; `kept`: of the state that
        there is."""
        return all(
            built is not None and self._is_that(built, definition, kept)
            for definition in wanted
            for built in [self._built.get(definition.id)]
        )

    def _is_that(self, built: AnyRebuild, wanted: Definition, kept: Collection[str]) -> bool:
        if isinstance(built, Rewrite | Repartition) != (wanted.id in kept):
            return False
        if isinstance(built, Rewrite | Repartition) and built.old != self._state.queries.definition(
            wanted.id
        ):
            return False
        return _same(built.definition, wanted)

    def build(self, wanted: Sequence[Definition], kept: Collection[str] = ()) -> None:
        """Have each catch up with the log, and have all be there for those that are `kept`; the
        lock of the state is not held. Raises a StreamSQLError where that fails: nothing has been
        changed then."""
        if not self._held:
            self._hold()
        for definition in wanted:
            built = self._built.pop(definition.id, None)
            if built is not None and not self._is_that(built, definition, kept):
                built.discard()
                built = None
            if built is None:
                built = self._made(definition, kept)
                self._built[definition.id] = built
                try:
                    built.begin()
                except StateNotKeptError as error:
                    self.give_up(error)
                    continue
            self._built[definition.id] = built
            built.catch_up()

    def _hold(self) -> None:
        """Wait for the change that is being built; one that is staged is not waited for."""
        deadline = time.monotonic() + BUILD_SECONDS
        while not self._state.rebuilding.acquire(timeout=_STAGED_SECONDS):
            if self._state.staged is not None:
                raise UnsupportedError(
                    "a change is staged, and one is built at a time",
                    hint="`streamsql apply --promote` or `--discard` first.",
                )
            if time.monotonic() > deadline:
                raise ExternalError(
                    "another change is still being built, and one is built at a time",
                    retryable=True,
                    hint="Nothing has been changed. Apply this one again once that has ended.",
                )
        self._held = True

    def give_up(self, error: StateNotKeptError) -> None:
        """Have a query be built anew that was to keep its state: it is to be planned again."""
        self._not_kept[error.query_id] = str(error)
        self._built.pop(error.query_id).discard()

    def _made(self, definition: Definition, kept: Collection[str]) -> AnyRebuild:
        state = self._state
        launcher, services, folder = state.launcher, state.services, state.data.checkpoints
        if definition.id not in kept:
            return Rebuild(definition, launcher, services, folder, state.comparisons)
        old = state.queries.definition(definition.id)
        kind = Rewrite if is_one_grouping(old.plan.root) else Repartition
        return kind(definition, old, launcher, services, folder)

    @contextmanager
    def switching(self, wanted: Sequence[Definition], generation: int) -> Iterator[None]:
        """Between the two: the old queries have stopped, and the new ones are where they have; what
        is logged meanwhile has them switch. Raises a StreamSQLError before that, or what tells of a
        state that cannot be kept: see `give_up`."""
        ids = [definition.id for definition in wanted]
        for definition in wanted:
            folder = rebuilt(self._state.data.checkpoints / definition.id)
            self._state.launcher.make_ready(definition, folder)
        try:
            # At once: who has stopped waits for all others.
            with ThreadPoolExecutor(len(ids) or 1) as pool:
                list(pool.map(self._stop, ids))
            for query_id in ids:
                self._built[query_id].hand_over(generation)
            yield
        finally:
            if self._built.keys() >= set(ids):  # Nothing was logged: the old ones go on.
                self._resume(ids)
        self._resume(ids)

    def logged(self, wanted: Sequence[Definition]) -> None:
        """The entry is there: from now on the new checkpoints are those of their queries."""
        for definition in wanted:
            del self._built[definition.id]

    def _stop(self, query_id: str) -> None:
        queries, launcher = self._state.queries, self._state.launcher
        rebuild = self._built[query_id]
        old = queries.definition(query_id)
        rebuild.hold()
        if queries.pause(query_id):
            raise stuck(query_id)
        finished = queries.finished(query_id)
        reached = launcher.prepare(old)
        if not finished or rebuild.is_beyond(reached):
            reached = committed_all(old, launcher)
        rebuild.finish(reached)

    def _resume(self, query_ids: Sequence[str]) -> None:
        for query_id in query_ids:
            self._state.queries.resume(query_id)


def await_settled(state: EngineState, switched: Sequence[Definition]) -> list[Warning]:
    """Wait until the tables of queries that have switched are up to date; what is said of those
    that take longer, or wait for Kafka."""
    deadline = time.monotonic() + SETTLE_SECONDS
    late = []
    for query in switched:
        folder = state.data.checkpoints / query.id
        while not _is_settled(folder, query.generation):
            if time.monotonic() > deadline:
                late.append(Warning(_UNSETTLED.format(query.id)))
                break
            time.sleep(_LOOK_SECONDS)
    state.launcher.sweep()  # of the old checkpoints
    return late


def _is_settled(checkpoint: Place, generation: int) -> bool:
    """As far as is known: a store may be away for a moment."""
    with suppress(ExternalError):
        return is_settled(checkpoint, generation)
    return False


def _same(built: Definition, wanted: Definition) -> bool:
    same = built.sql == wanted.sql and built.properties == wanted.properties
    return same and built.topics == wanted.topics
