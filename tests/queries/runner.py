"""Runs a case of tests/cases/queries end to end, with what `streamsql test` runs tests with.

How a case runs is its mode: all at once, with a restart in the middle (half of the inputs, then all
queries again for the other half), or continuously, in real time where the plan allows it. In
addition to topics these cases look at the processing log and at the rows of a push query.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from streamsql.catalog import Catalog
from streamsql.executor.frames.context import LoweringContext, StreamingQuerySpec
from streamsql.executor.frames.push_rows import push_decoder
from streamsql.executor.lowering.streaming import lower_push
from streamsql.executor.queries.start import Trigger, start
from streamsql.results import Row
from streamsql.test_driver.driven_query import process_once
from streamsql.test_driver.fixture import Fixture
from streamsql.test_driver.json_values import JSONObject
from streamsql.test_driver.renamed_topics import moved
from streamsql.test_driver.run import PipelineRun
from streamsql.testing.cases.case import case_from_json

QUERY_SECONDS = 180
LOG, PUSH = "log", "push"


class Mode(Enum):
    """How the queries of a case run."""

    ONCE = "once"
    RESTARTED = "restarted"
    CONTINUOUS = "continuous"


@dataclass(frozen=True)
class Outcome:
    """What a case wrote, by topics as the case names them."""

    catalog: Catalog
    topics: dict[str, list[JSONObject]]
    log: list[dict[str, Any]]
    rows: list[Row]


class QueryRun(PipelineRun):
    """One run of one case."""

    def __init__(
        self,
        given: dict[str, Any],
        fixture: Fixture,
        shuffle_partitions: int = 1,
        *,
        sleeps: bool = False,
    ) -> None:
        super().__init__(case_from_json({"name": "", **given}, "queries").pipeline, fixture)
        self.shuffle_partitions = shuffle_partitions
        self.sleeps = sleeps
        self._empty: list[str] = given.get("empty", [])

    def run(self, mode: Mode, done: Callable[[Outcome], bool]) -> Outcome:
        """What the case wrote; a continuous run ends when that is `done`, or too late."""
        self.prepare()
        inputs = self.pipeline.inputs
        if mode is Mode.CONTINUOUS:
            return self._run_continuously(inputs, done)
        middle = (len(inputs) + 1) // 2
        parts = [inputs] if mode is Mode.ONCE else [inputs[:middle], inputs[middle:]]
        for part in parts:
            self.produce(part)
            for spec in self.specs():
                process_once(spec)
        return self.outcome()

    def prepare(self) -> None:
        """Plan the statements and make their topics."""
        self.script.run()
        self.create_topics([LOG, PUSH])

    def produce(self, inputs: Iterable[JSONObject]) -> None:
        self.write(map(self.input, inputs))

    def start(
        self, trigger: Trigger, properties: Mapping[str, str] | None = None
    ) -> StreamingQuery:
        """The case's only query."""
        (spec,) = self.specs()
        return start(spec, trigger, properties or {})

    @property
    def context(self) -> LoweringContext:
        return replace(
            super().context,
            processing_log_topic=self.renamed(LOG),
            shuffle_partitions=self.shuffle_partitions,
            sleeps=self.sleeps,
        )

    @property
    def checkpoint(self) -> Path:
        (query_id,) = self.script.queries
        return self.context.checkpoints / self.renamed(query_id)

    def specs(self) -> list[StreamingQuerySpec]:
        """The persistent queries and, after them, the push queries."""
        pushed = [
            lower_push(moved(push, self.renamed), self.context, self.renamed(PUSH))
            for push in self.script.pushes
        ]
        return [*super().specs(), *pushed]

    def outcome(self) -> Outcome:
        """What is in the topics now."""
        topics = {name: self.read(name) for name in (*self.pipeline.outputs, *self._empty)}
        log = [json.loads(record.value or b"") for record in self._records(LOG)]
        schemas = [push.schema for push in self.script.pushes]
        rows = [
            push_decoder(schema)(record.value or b"")
            for schema in schemas
            for record in self._records(PUSH)
        ]
        return Outcome(self.script.catalog, topics, log, rows)

    def _records(self, topic: str) -> Iterable[Any]:
        return self.fixture.records.read(self.renamed(topic))

    def _run_continuously(
        self, inputs: Iterable[JSONObject], done: Callable[[Outcome], bool]
    ) -> Outcome:
        running = [
            start(
                spec,
                Trigger.REAL_TIME if spec.real_time_allowed else Trigger.CONTINUOUS_MICRO_BATCH,
            )
            for spec in self.specs()
        ]
        self.produce(inputs)
        deadline = time.monotonic() + QUERY_SECONDS
        # Looking costs as much as processing: the longer it takes already, the less often.
        pause = 0.2
        while not done(outcome := self.outcome()) and time.monotonic() < deadline:
            for query in running:
                assert query.isActive, str(query.exception())
            time.sleep(pause)
            pause = min(1.0, pause * 1.3)
        for query in running:
            query.stop()
        return outcome
