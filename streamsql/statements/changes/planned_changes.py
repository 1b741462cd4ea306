"""A planned statement of an apply, and its topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streamsql.catalog import Source
from streamsql.pipelines.steps import Step
from streamsql.planner.plans.statements import Planned, QueryStatementPlan, SourcePlan
from streamsql.registry.lookup import RegistrySchemas
from streamsql.registry.serdes import register_declared, register_written
from streamsql.results import Warning
from streamsql.runtime.state import Context
from streamsql.runtime.topics import KafkaTopics, create_topic, grow_topic, grown_facts
from streamsql.schema import Topic


@dataclass(frozen=True)
class PlannedChange:
    """A planned step with its lookups."""

    step: Step
    planned: Planned
    topics: KafkaTopics
    schemas: RegistrySchemas

    @property
    def query_id(self) -> str | None:
        """Of the query that it creates or replaces."""
        found = self.planned
        return found.query.query_id if isinstance(found, QueryStatementPlan) else None

    @property
    def topic_facts(self) -> dict[str, tuple[int, int] | None]:
        """Topic lookups for planning it again."""
        match self.planned:
            case QueryStatementPlan(sink=Source() as sink):
                return grown_facts(sink, self.topics.facts)
        return dict(self.topics.facts)

    @property
    def warnings(self) -> list[Warning]:
        found = self.planned
        if not isinstance(found, QueryStatementPlan) or found.warning is None:
            return []
        return [Warning(f"{found.writes}: {found.warning}")]


def declared_topics(steps: Sequence[Step]) -> dict[str, tuple[int, int]]:
    """Topics that CREATE STREAM | TABLE would create."""
    definitions = (d.planned for step in steps for d in step.item.definitions)
    found = (d.source for d in definitions if isinstance(d, SourcePlan) and not d.source.is_source)
    return {s.topic.name: facts_of(s.topic) for s in found if s.topic.partitions}


def made_topic(planned: Planned) -> Topic | None:
    match planned:
        case SourcePlan(source=source, create_topic=True):
            return source.topic
        case QueryStatementPlan(sink=Source() as source, create_topic=True):
            return source.topic
    return None


def facts_of(topic: Topic) -> tuple[int, int]:
    """Partitions and replicas of a lookup."""
    return topic.partitions or 1, topic.replicas or -1


def make(change: PlannedChange, context: Context) -> None:
    """Creates its topic and schemas. If the set is not logged they remain, as for a single
    statement."""
    kafka = context.state.services.kafka
    match change.planned:
        case SourcePlan(source=source):
            register_declared(change.schemas.registry, source)
        case QueryStatementPlan(sink=Source() as source):
            register_written(change.schemas.registry, source)
        case _:
            return
    if made_topic(change.planned) is not None:
        create_topic(kafka.get(), source)


def grow(change: PlannedChange, context: Context) -> Source | None:
    """Adds the partitions that it declares."""
    match change.planned:
        case QueryStatementPlan(sink=Source() as sink):
            client = context.state.services.kafka.get()
            return sink if grow_topic(client, sink, change.topics.facts) else None
    return None
