"""A statement of a set that is applied, as it is planned, and what it makes in Kafka."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streamsql.catalog import Source
from streamsql.planner.plans.statements import Planned, QueryStatementPlan, SourcePlan
from streamsql.registry.lookup import RegistrySchemas
from streamsql.registry.serdes import register_declared, register_written
from streamsql.results import Warning
from streamsql.runtime.state import Context
from streamsql.runtime.topics import KafkaTopics, create_topic, grow_topic, grown_facts
from streamsql.schema import Topic
from streamsql.statements.changes.steps import Step


@dataclass(frozen=True)
class Draft:
    """A step as it is planned, and what planning it was told."""

    step: Step
    planned: Planned
    topics: KafkaTopics
    schemas: RegistrySchemas

    @property
    def query_id(self) -> str | None:
        """Of the query that it makes or replaces."""
        found = self.planned
        return found.query.query_id if isinstance(found, QueryStatementPlan) else None

    @property
    def told(self) -> dict[str, tuple[int, int] | None]:
        """What planning it again is told of topics."""
        match self.planned:
            case QueryStatementPlan(sink=Source() as sink):
                return grown_facts(sink, self.topics.told)
        return dict(self.topics.told)

    @property
    def warnings(self) -> list[Warning]:
        """What the statement would be answered besides if it were run by itself."""
        found = self.planned
        if not isinstance(found, QueryStatementPlan) or found.warning is None:
            return []
        return [Warning(f"{found.writes}: {found.warning}")]


def declared_topics(steps: Sequence[Step]) -> dict[str, tuple[int, int]]:
    """What CREATE STREAM | TABLE says of topics that are to be made, if they are not there."""
    definitions = (d.planned for step in steps for d in step.item.definitions)
    found = (d.source for d in definitions if isinstance(d, SourcePlan) and not d.source.is_source)
    return {s.topic.name: facts_of(s.topic) for s in found if s.topic.partitions}


def made_topic(planned: Planned) -> Topic | None:
    """The topic that is to be made for it."""
    match planned:
        case SourcePlan(source=source, create_topic=True):
            return source.topic
        case QueryStatementPlan(sink=Source() as source, create_topic=True):
            return source.topic
    return None


def facts_of(topic: Topic) -> tuple[int, int]:
    """Partitions and replicas, as a lookup tells them."""
    return topic.partitions or 1, topic.replicas or -1


def make(draft: Draft, context: Context) -> None:
    """Its topic and its schemas. A set that is never logged leaves them behind, as a statement by
    itself does."""
    kafka = context.state.services.kafka
    match draft.planned:
        case SourcePlan(source=source):
            register_declared(draft.schemas.registry, source)
        case QueryStatementPlan(sink=Source() as source):
            register_written(draft.schemas.registry, source)
        case _:
            return
    if made_topic(draft.planned) is not None:
        create_topic(kafka.get(), source)


def grow(draft: Draft, context: Context) -> Source | None:
    """Add the partitions that it asks for: what its query fills, where there are any."""
    match draft.planned:
        case QueryStatementPlan(sink=Source() as sink):
            client = context.state.services.kafka.get()
            return sink if grow_topic(client, sink, draft.topics.told) else None
    return None
