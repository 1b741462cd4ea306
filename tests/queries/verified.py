"""What the queries of a case have written, against a batch over what they have read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from queries.runner import Mode, QueryRun

from streamsql.executor.queries.checkpoint import committed
from streamsql.executor.queries.offset_ranges import offset_ranges
from streamsql.executor.reruns.verifying import Finding, Verification
from streamsql.planner.operators import Scan, Sink, operators
from streamsql.planner.plans.query_plan import QueryPlan
from streamsql.statements.repair.verify import obstacle_to_verifying
from streamsql.test_driver.fixture import Fixture
from streamsql.test_driver.renamed_topics import moved


@dataclass(frozen=True)
class Verified:
    """Of one query: why it is refused, or how many rows compare how."""

    query_id: str
    obstacle: str | None
    counts: Mapping[str, int]
    examples: tuple[object, ...] = ()

    @property
    def is_same(self) -> bool:
        """Whether no row differs."""
        return self.obstacle is None and self.counts.keys() <= {Finding.SAME.value}


class VerifiedRun(QueryRun):
    """Runs a case once, and then looks at it."""

    def __init__(self, given: dict[str, Any], fixture: Fixture) -> None:
        super().__init__(given, fixture)

    def verified(self) -> list[Verified]:
        """All persistent queries of the case."""
        self.run(Mode.ONCE, lambda outcome: True)
        return list(self._verified())

    def _verified(self) -> Iterator[Verified]:
        for plan in self.queries():
            query_id, root = plan.query_id, plan.root
            assert query_id is not None
            sink = root.target.name if isinstance(root, Sink) else ""
            obstacle = obstacle_to_verifying(plan, sink, self.script.catalog)
            if obstacle is not None:
                yield Verified(query_id, obstacle, {})
                continue
            found = self._results(plan, query_id)
            counts = {each.finding.value: each.count for each in found}
            examples = [example for each in found for example in each.examples]
            yield Verified(query_id, None, counts, tuple(examples))

    def _results(self, plan: QueryPlan, query_id: str) -> list[Any]:
        here, client = moved(plan, self.renamed), self.fixture.kafka
        assert isinstance(here.root, Sink)
        topics = {o.source.topic.name for o in operators(here.root) if isinstance(o, Scan)}
        starts = {self.renamed(topic): start for topic, start in plan.starts.items()}
        reached = committed(self.context.checkpoints / self.renamed(query_id))
        assert reached is not None
        sink = here.root.target.topic.name
        return Verification(
            here,
            self.context,
            reached,
            offset_ranges(topics, starts, client),
            sink,
            offset_ranges([sink], {}, client),
            self.renamed(f"{query_id}-verify"),
        ).results()
