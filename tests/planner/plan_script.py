"""Plans a script statement by statement on a catalog of its own, without Kafka and Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from streamsql.catalog import Catalog
from streamsql.parser import parse
from streamsql.planner.ddl.session import PropertyPlan
from streamsql.planner.plans.statements import NothingToDo, OtherPlan, Planned, TopicInfo
from streamsql.planner.statements import apply, plan

BASE = Path(__file__).parent.parent / "cases" / "planner" / "base.sql"


@dataclass(frozen=True)
class Topics:
    """The topics that exist, all with one replica."""

    partitions: Mapping[str, int]

    def topic(self, name: str) -> TopicInfo | None:
        count = self.partitions.get(name)
        return None if count is None else TopicInfo(count, 1)


@cache
def _base() -> Catalog:
    """The sources of base.sql."""
    catalog = Catalog()
    for statement in parse(BASE.read_text()):
        apply(plan(statement, catalog, {}), catalog)
    return catalog


def base_catalog() -> Catalog:
    """A catalog of one's own with the sources of base.sql."""
    return _base().copy()


@dataclass
class Script:
    """Statements planned one after the other."""

    catalog: Catalog = field(default_factory=base_catalog)
    topics: Topics | None = None
    properties: dict[str, str] = field(default_factory=dict)

    def run(self, sql: str) -> Planned:
        """What the last statement gives; the ones before it take effect."""
        result: Planned = NothingToDo("an empty script")
        for statement in parse(sql):
            result = plan(statement, self.catalog, self.properties, self.topics)
            if isinstance(result, PropertyPlan):
                self._set(result)
            elif not isinstance(result, OtherPlan):
                apply(result, self.catalog)
        return result

    def _set(self, planned: PropertyPlan) -> None:
        if planned.value is None:
            self.properties.pop(planned.name, None)
        else:
            self.properties[planned.name] = planned.value
