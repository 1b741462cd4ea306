"""The topic of a source: whether it exists, and its partitions."""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.catalog import Catalog, Source
from streamsql.errors import PlanError, Span
from streamsql.ksqldb import says
from streamsql.planner.changes.partitions import growth_obstacle
from streamsql.planner.plans.statements import TopicInfo, TopicLookup
from streamsql.planner.with_clause.properties import WithProperties


def existing_topic(topics: TopicLookup | None, name: str) -> TopicInfo | None:
    """The existing topic; None if it is missing or unknown (check)."""
    return None if topics is None else topics.topic(name)


@dataclass(frozen=True)
class Growth:
    """Facts about a topic whose query is replaced."""

    topic: str
    in_the_way: str | None
    """Why it cannot get more partitions."""

    @staticmethod
    def of(existing: Source, catalog: Catalog) -> Growth:
        return Growth(existing.topic.name, growth_obstacle(existing, catalog))


def check_conforms(
    found: TopicInfo, name: str, properties: WithProperties, growth: Growth | None = None
) -> None:
    """Raises PlanError if WITH declares other counts than an existing topic has, except for
    additional partitions where supported."""
    partitions, replicas = properties.partitions, properties.replicas
    same = replicas in (None, found.replicas) or -1 in (replicas, found.replicas)  # any number
    grows = growth is not None and growth.topic == name and (partitions or 0) > found.partitions
    reason = growth.in_the_way if growth is not None and grows else None
    if grows and reason is None:
        partitions = found.partitions
    if not same or partitions not in (None, found.partitions):
        partitions, replicas = partitions or found.partitions, replicas or found.replicas
        raise PlanError(
            f"A Kafka topic with the name '{name}' already exists, with different "
            "partition/replica configuration than required. "
            f"streamsql expects {partitions} partitions (topic has {found.partitions}), and "
            f"{replicas} replication factor (topic has {found.replicas}).",
            detail=reason and f"Partitions cannot be added: {reason}.",
            hint="Leave PARTITIONS and REPLICAS out, or name another topic.",
            span=properties.span("PARTITIONS") or properties.span("REPLICAS"),
            ksqldb=says(
                "topic-differs",
                name=name,
                partitions=partitions,
                found_partitions=found.partitions,
                replicas=replicas,
                found_replicas=found.replicas,
            ),
        )


def missing_topic(name: str, kind: str, span: Span | None) -> PlanError:
    """The error for CREATE over a missing topic without PARTITIONS."""
    return PlanError(
        f"Topic '{name}' does not exist. If you want to create a new topic for the "
        f"{kind.lower()} please re-run the statement providing the required 'PARTITIONS' "
        "configuration in the WITH clause (and optionally 'REPLICAS').",
        hint=f"Write WITH (KAFKA_TOPIC='{name}', PARTITIONS=1, ..), "
        "or SHOW TOPICS to see which topics exist.",
        span=span,
    )
