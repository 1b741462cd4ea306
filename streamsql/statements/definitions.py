"""CREATE and DROP of streams and tables, with their topics."""

from __future__ import annotations

from collections.abc import Iterable

from streamsql.errors import StreamSQLError
from streamsql.nodes import CreateSource, DropSource
from streamsql.planner.ddl.drops import DropPlan
from streamsql.planner.plans.statements import NothingToDo, SourcePlan
from streamsql.registry.serdes import delete_subjects, register_declared
from streamsql.results import Message, Result, Warning
from streamsql.runtime.state import Context
from streamsql.runtime.topics import create_topic
from streamsql.statements.dispatch import handle


@handle.register
def create(statement: CreateSource, context: Context) -> Iterable[Result]:
    """CREATE STREAM | TABLE: makes the topic if need be, then the catalog's entry."""
    state = context.state
    topics = state.topics()
    with state.lock:
        schemas = state.schemas()
        planned = context.plan(statement, topics, schemas)
        if isinstance(planned, NothingToDo):
            return [Warning(planned.warning)]
        assert isinstance(planned, SourcePlan)
        if planned.create_topic:
            create_topic(state.services.kafka.get(), planned.source)
        register_declared(schemas.registry, planned.source)
        context.commit(statement, planned, topics=topics, schemas=schemas)
    done = "replaced" if planned.replaces else "created"
    return [Message(f"{statement.kind.value.capitalize()} {done}")]


@handle.register
def drop(statement: DropSource, context: Context) -> Iterable[Result]:
    """DROP: ends the query that fills the source, then forgets it, and deletes its topic last."""
    state = context.state
    with state.lock:
        planned = context.plan(statement)
        if isinstance(planned, NothingToDo):
            return [Warning(planned.warning)]
        assert isinstance(planned, DropPlan)
        context.commit(statement, planned)
        for query_id in planned.terminate:
            state.queries.terminate(query_id)
    topic = planned.source.topic.name
    results: list[Result] = [
        Message(f"Source `{planned.source.name}` (topic: {topic}) was dropped."),
        *_also_gone(planned, statement.cascade),
    ]
    if planned.delete_topic:
        try:
            state.services.kafka.get().delete_topic(topic, missing_ok=True)
            delete_subjects(state.schemas().registry, planned.source)
        except StreamSQLError as error:
            results.append(Warning(f"The topic {topic} was not deleted: {error.message}"))
    return results


def _also_gone(planned: DropPlan, cascade: bool) -> list[Message]:
    """What CASCADE has taken with the source."""
    if not cascade:
        return []
    return [
        *(Message(f"Query {query_id} was terminated.") for query_id in planned.terminate),
        *(
            Message(f"Source `{source.name}` (topic: {source.topic.name}) was dropped.")
            for source in planned.others
        ),
        *(Message(f"View `{view}` was dropped.") for view in planned.views),
    ]
