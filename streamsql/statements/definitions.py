"""CREATE and DROP of streams and tables, with their topics."""

from __future__ import annotations

from collections.abc import Iterable

from streamsql.catalog import Source
from streamsql.nodes import CreateSource, DropMaterializedView, DropSource
from streamsql.planner.ddl.drops import DropPlan
from streamsql.planner.plans.statements import NothingToDo, Planned, SourcePlan
from streamsql.registry.lookup import RegistrySchemas
from streamsql.registry.serdes import register_declared
from streamsql.results import Message, Result, Warning
from streamsql.runtime.reconcile import delete_topics
from streamsql.runtime.state import Context
from streamsql.runtime.topics import KafkaTopics, create_topic
from streamsql.statements.captures import check_captures, unsettled
from streamsql.statements.control import still_running
from streamsql.statements.dispatch import handle
from streamsql.statements.tables.seen import forget

_LEFT = "Its connector, replication slot and publication are not removed yet"
_KEPT = "The topic {} will be deleted at the next start."


@handle.register
def create(statement: CreateSource, context: Context) -> Iterable[Result]:
    """CREATE STREAM | TABLE: creates the topic if necessary, then the catalog entry."""
    state = context.state

    def prepare() -> tuple[Planned, KafkaTopics, RegistrySchemas]:
        topics, schemas = state.topics(), state.schemas(databases=True)
        planned = context.plan(statement, topics, schemas)
        if isinstance(planned, SourcePlan):
            if not planned.replaces:
                check_captures(planned.source, state)
            if planned.create_topic:
                create_topic(state.services.kafka.get(), planned.source)
            register_declared(schemas.registry, planned.source)
        return planned, topics, schemas

    def carry(prepared: tuple[Planned, KafkaTopics, RegistrySchemas]) -> Planned:
        planned, topics, schemas = prepared
        if not isinstance(planned, NothingToDo):
            context.commit(statement, planned, topics=topics, schemas=schemas)
        return planned

    planned = context.carry_out(prepare, carry)
    if isinstance(planned, NothingToDo):
        return [Warning(planned.warning)]
    assert isinstance(planned, SourcePlan)
    done = "replaced" if planned.replaces else "created"
    results: list[Result] = [Message(f"{statement.kind.value.capitalize()} {done}")]
    if planned.source.capture is not None:
        results += unsettled(state, "Its connector is not created yet")
    return results


@handle.register
def drop(statement: DropSource, context: Context) -> Iterable[Result]:
    return _drop(statement, context)


def _drop(statement: DropSource | DropMaterializedView, context: Context) -> Iterable[Result]:
    """DROP: ends the query of the source, removes the source, and deletes its topic last."""
    state = context.state

    def prepare() -> tuple[Planned, dict[str, str]]:
        planned = context.plan(statement)
        if isinstance(planned, DropPlan) and planned.delete_topic:
            # The log contains the topic's id, so a recreated topic is never deleted.
            return planned, state.services.kafka.get().topic_ids([planned.source.topic.name])
        return planned, {}

    def carry(prepared: tuple[Planned, dict[str, str]]) -> tuple[Planned, dict[str, str]]:
        planned, deletes = prepared
        if isinstance(planned, DropPlan):
            context.commit(statement, planned, deletes=deletes)
            state.queries.terminate(*planned.terminate, waits=False)
        return prepared

    planned, deletes = context.carry_out(prepare, carry)
    if isinstance(planned, NothingToDo):
        return [Warning(planned.warning)]
    assert isinstance(planned, DropPlan)
    # Before the topic is deleted, which a connector would still write.
    captured = any(source.capture for source in (planned.source, *planned.others))
    left = unsettled(state, _LEFT) if captured else []
    # Not under the lock: a query that does not stop blocks no other statement.
    stuck = state.queries.unsettled(*planned.terminate)
    forget(context.session, deletes)
    # A query that still writes would create the topic again.
    failures = delete_topics(state) if not stuck else [_KEPT.format(t) for t in deletes]
    return [
        Message(_dropped(planned.source)),
        *_also_gone(planned, statement.cascade),
        *(Warning(failure) for failure in failures),
        *still_running(stuck),
        *left,
    ]


@handle.register
def drop_materialized_view(statement: DropMaterializedView, context: Context) -> Iterable[Result]:
    return _drop(statement, context)


def _dropped(source: Source) -> str:
    place = f"topic: {source.topic.name}" if source.lookup is None else source.lookup.place
    return f"Source `{source.name}` ({place}) was dropped."


def _also_gone(planned: DropPlan, cascade: bool) -> list[Message]:
    """Objects that are dropped too."""
    terminated = planned.terminate if cascade else ()
    return [
        *(Message(f"Query {query_id} was terminated.") for query_id in terminated),
        *(Message(_dropped(source)) for source in planned.others),
        *(Message(f"View `{view}` was dropped.") for view in planned.views),
        *(
            Message(f"Sink `{sink}` was dropped. What it has written is kept.")
            for sink in planned.sinks
        ),
    ]
