"""Restores an engine: folds the statement log without Spark, and applies the result. State outside
of the log, such as checkpoints, is only touched afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

from streamsql.errors import ExternalError
from streamsql.executor.queries.definition import KnownQuery, stuck
from streamsql.executor.queries.manager import QueryManager
from streamsql.executor.spark.write_lease import extend
from streamsql.log.entries import Entry, FileLog, StatementLog
from streamsql.log.failover import Effect, Failover, Followed
from streamsql.log.membership import claim, entries_before
from streamsql.log.topic_log import CommandLog
from streamsql.planner.processing_log import declare
from streamsql.runtime.history import History
from streamsql.runtime.reconcile import reconcile
from streamsql.runtime.replay import Replay
from streamsql.runtime.state import EngineState


def restore(state: EngineState) -> StatementLog:
    """Replays the log into the state's catalog, session and queries; returns the log."""
    declare(state.catalog)
    if state.config.service_id is not None:
        return _restore_service(state, state.config.service_id)
    log = FileLog(state.data.statements)
    try:
        replay, history = replay_of(state), History()
        for entry in log.entries:
            history.add(entry, replay)
        become(state, replay)
        state.history = history
        # A leftover of a crash during TERMINATE.
        state.queries.remove_leftovers()
    except BaseException:
        log.close()
        raise
    return log


def _restore_service(state: EngineState, service_id: str) -> StatementLog:
    """Reads the current content of the topic; Failover handles later entries and leadership."""
    state.queries.lead(False)
    log = CommandLog(state.services.kafka.get(), service_id)
    try:
        claim(state.config, state.data)
        engine, kafka = _followed(state, service_id), state.services.kafka.get()
        state.failover = Failover(engine, log, kafka, state.config.advertised_url)
        state.failover.read_to_end()
    except BaseException:
        log.close()
        raise
    state.failover.start()
    return log


def _followed(state: EngineState, service_id: str) -> Followed:
    def fold(entry: Entry) -> Effect:
        replay = replay_of(state)
        for statement in entry.statements:
            replay.add(statement)
        return lambda: become(state, replay)

    def lead(leads: bool) -> None:
        if leads:
            with suppress(ExternalError):  # A query that meets another's checkpoint tries again.
                state.queries.remove_leftovers(state.pushes.topics())
            if state.services.current_spark() is not None:
                # Otherwise the start, which waits for it, reports it.
                reconcile(state)
        state.queries.lead(leads)

    def write_for(seconds: Callable[[], float]) -> None:
        if (spark := state.services.current_spark()) is not None:
            extend(spark, service_id, seconds)

    def succeed() -> None:
        if state.config.checkpoints is None:
            state.queries.discard_views()

    return Followed(
        lock=state.lock,
        fold=fold,
        lead=lead,
        is_ready=lambda: state.services.current_spark() is not None,
        write_for=write_for,
        succeed=succeed,
        entries_before=lambda: entries_before(state.config, state.data),
    )


def replay_of(state: EngineState) -> Replay:
    """A replay that continues from an engine's state. Terminated queries that have not stopped are
    excluded."""
    session, catalog = state.session, state.catalog
    queries = {name: q for name, q in state.queries.known().items() if name in catalog.queries}
    return Replay(catalog, session.properties, session.variables, queries, state.deletions).copy()


def become(state: EngineState, replay: Replay) -> None:
    """Applies a replay to an engine, without touching checkpoints: their use is only known after
    all statements. Raises ExternalError if a query does not stop in time; the same replay can be
    retried."""
    _become(state.queries, replay.queries)
    state.session.properties = replay.properties
    state.session.variables = replay.variables
    state.deletions = replay.deletions
    state.catalog = replay.catalog


def _become(manager: QueryManager, queries: Mapping[str, KnownQuery]) -> None:
    """Runs exactly these queries; a previous attempt may have completed a part."""
    known = manager.known()
    ended = [
        query_id
        for query_id, was in known.items()
        if query_id not in queries
        or queries[query_id].definition.generation != was.definition.generation
    ]
    _raise_stuck(manager.terminate(*ended, keep_checkpoint=True) if ended else ())
    for query_id, now in queries.items():
        before = None if query_id in ended else known.get(query_id)
        if before is None:
            manager.add(now.definition)
        elif before.definition is not now.definition:
            manager.replace(now.definition)
        if before is not None and before.paused and not now.paused:
            manager.resume(query_id)
    paused = [query_id for query_id, now in queries.items() if now.paused]
    _raise_stuck(manager.pause(*paused) if paused else ())


def _raise_stuck(query_ids: Iterable[str]) -> None:
    for query_id in query_ids:
        raise stuck(query_id)
