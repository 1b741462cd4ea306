"""Recorded lookups of topics: to plan a statement again needs no Kafka."""

from __future__ import annotations

from collections.abc import Mapping

from streamsql.planner.plans.statements import TopicInfo

TopicFacts = Mapping[str, "tuple[int, int] | None"]
"""Topic lookups of a planned statement: partitions and replicas, None for a missing topic."""


class RememberedTopics:
    """Returns recorded lookups: a replay needs no Kafka."""

    def __init__(self, facts: TopicFacts) -> None:
        self._facts = facts

    def topic(self, name: str) -> TopicInfo | None:
        facts = self._facts.get(name)
        return None if facts is None else TopicInfo(*facts)
