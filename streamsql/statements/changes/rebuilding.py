"""Queries that get a new checkpoint, by a rebuild from the log or by state migration, and their
switch.

The new queries catch up first, which can take long and blocks nothing. Then the old queries stop at
their last commit, the new ones proceed to that position, one entry is logged for all of them, and
they continue. Before the entry, nothing has changed; after it, each start completes the switch.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from types import TracebackType

from streamsql.errors import ExternalError, StreamSQLError, UnsupportedError
from streamsql.executor.queries.checkpoint import is_settled, rebuilt
from streamsql.executor.queries.definition import Definition, KnownQuery, stuck
from streamsql.executor.rebuilds.building import Rebuild, committed_all
from streamsql.executor.rebuilds.repartitioning import Repartition
from streamsql.executor.rebuilds.rewriting import Rewrite, StateNotKeptError
from streamsql.log.entries import Offsets
from streamsql.pipelines.steps import Step
from streamsql.planner.changes.keeping import is_one_grouping
from streamsql.planner.plans.query_plan import QueryPlan
from streamsql.results import Warning
from streamsql.runtime.state import EngineState
from streamsql.statements.changes.retention import lost_of, wanted_offsets
from streamsql.storage.location import Location

SETTLE_SECONDS = 60.0
"""How long `apply` waits for tables to be brought up to date."""
BUILD_SECONDS = 600.0
"""How long a change waits for another rebuild."""
_STAGED_SECONDS = 0.2
_LOOK_SECONDS = 0.02
_UNSETTLED = "Query {} has switched. Updating its table continues in the background."


AnyRebuild = Rebuild | Rewrite | Repartition
"""Creates a new checkpoint of a query."""


class Rebuilds:
    """The rebuilds of one `apply`. Those that have not switched are discarded at its end."""

    def __init__(self, state: EngineState, *, from_what_is_left: bool) -> None:
        """`from_what_is_left`: accepts a log without records that the old queries have read."""
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
        """Discards rebuilds that have not switched."""
        try:
            for rebuild in self._built.values():
                with suppress(StreamSQLError):  # The next start discards it.
                    rebuild.discard()
        finally:
            if self._held:
                self._held = False
                self._state.rebuilding.release()

    def keeps(self, step: Step, query_id: str | None) -> bool:
        """Whether a step's query keeps its state by a migration. False if its checkpoint turned out
        not to support it. Raises UnsupportedError if a rebuild is impossible, too."""
        reason = self._not_kept.get(query_id or "") if step.keeps else None
        if reason is not None and step.item.obstacle is not None:
            raise UnsupportedError(
                f"the state of {query_id} cannot be migrated: {reason}",
                detail=f"It cannot be rebuilt from the log: {step.item.obstacle}.",
            )
        return step.keeps and reason is None

    def has_kept(self, query_id: str | None) -> bool:
        """False if the migration of the query's state turned out to be impossible."""
        return query_id not in self._not_kept

    def not_kept(self) -> list[Warning]:
        """Warning about state that was rebuilt instead of migrated."""
        return [
            Warning(f"The state of {query_id} was rebuilt from the log: {reason}")
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
        """Start offsets of a query's rebuild: those of the old query. Raises UnsupportedError if
        the old query is not running, or if the log begins later and the query does not `keep` its
        state."""
        old = known.definition
        if (built := self._built.get(old.id)) is not None:
            return built.definition.starting_offsets
        if known.paused:
            raise UnsupportedError(
                f"{old.id} is paused and cannot switch to another checkpoint",
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
                f"{old.id} cannot be rebuilt: records of topic {topic}, partition "
                f"{lost[0].partition}, before offset {lost[0].begin} have been deleted",
                detail="Only the current state contains their results"
                + (f", which cannot be rewritten: {reason}." if reason else "."),
                hint="Nothing has been changed. --from-what-is-left (HTTP: "
                '"fromWhatIsLeft") rebuilds it from the remaining records.',
            )
        if topic not in (old.starting_offsets or {}):
            return {}
        wanted = wanted_offsets(old, topic, begins)
        return {topic: {str(p): max(first, begins[p]) for p, first in wanted.items()}}

    def topic(self, query_id: str) -> str | None:
        """Topic with a staged table's rows; None for a stream."""
        return self._built[query_id].topic

    def are_ready(self, wanted: Sequence[Definition], kept: Collection[str]) -> bool:
        """Whether all queries have been rebuilt with their current definitions; `kept` are
        migrated."""
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
        """Lets each rebuild catch up with the log, and prepares the migration of those that are
        `kept`; without the state's lock. A StreamSQLError leaves everything unchanged."""
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
        """Waits for a rebuild in progress, but not for a staged one."""
        deadline = time.monotonic() + BUILD_SECONDS
        while not self._state.rebuilding.acquire(timeout=_STAGED_SECONDS):
            if self._state.staged is not None:
                raise UnsupportedError(
                    "a change is staged; only one rebuild is possible at a time",
                    hint="Use `streamsql apply --promote` or `--discard` first.",
                )
            if time.monotonic() > deadline:
                raise ExternalError(
                    "another rebuild is in progress; only one is possible at a time",
                    retryable=True,
                    hint="Nothing has been changed. Retry when it has completed.",
                )
        self._held = True

    def give_up(self, error: StateNotKeptError) -> None:
        """Falls back from a migration to a rebuild, which requires planning again."""
        self._not_kept[error.query_id] = str(error)
        self._built.pop(error.query_id).discard()

    def _made(self, definition: Definition, kept: Collection[str]) -> AnyRebuild:
        state = self._state
        launcher, services, folder = state.launcher, state.services, state.data.checkpoints
        if definition.id not in kept:
            return Rebuild(definition, launcher, services, folder, state.launcher.comparisons)
        old = state.queries.definition(definition.id)
        kind = Rewrite if is_one_grouping(old.plan.root) else Repartition
        return kind(definition, old, launcher, services, folder)

    @contextmanager
    def switching(self, wanted: Sequence[Definition], generation: int) -> Iterator[None]:
        """Inside the block, the old queries have stopped and the new ones have reached their
        position; a log entry then switches. Raises a StreamSQLError before that, or the error of a
        state that cannot be migrated: see `give_up`."""
        ids = [definition.id for definition in wanted]
        for definition in wanted:
            folder = rebuilt(self._state.data.checkpoints / definition.id)
            self._state.launcher.make_ready(definition, folder)
        try:
            # All at once: a stopped query waits for all others.
            with ThreadPoolExecutor(len(ids) or 1) as pool:
                list(pool.map(self._stop, ids))
            for query_id in ids:
                self._built[query_id].hand_over(generation)
            yield
        finally:
            if self._built.keys() >= set(ids):  # Nothing was logged: the old queries resume.
                self._resume(ids)
        self._resume(ids)

    def logged(self, wanted: Sequence[Definition]) -> None:
        """The entry is logged: the new checkpoints are valid from now on."""
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
    """Waits until the tables of switched queries are up to date; returns warnings about those that
    take longer, or wait for Kafka."""
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


def _is_settled(checkpoint: Location, generation: int) -> bool:
    """As far as known: a store may be unavailable temporarily."""
    with suppress(ExternalError):
        return is_settled(checkpoint, generation)
    return False


def _same(built: Definition, wanted: Definition) -> bool:
    same = built.sql == wanted.sql and built.properties == wanted.properties
    return same and built.topics == wanted.topics
