"""Runs a case end to end: statements are planned and lowered, inputs produced to a real broker,
each query run over what is there, and the output topics read.

How a case runs is its mode: all at once, with a restart in the middle (half of the inputs, then all
queries anew for the other half), or continuously, in real time where the plan allows it.
"""

from __future__ import annotations

import base64
import itertools
import json
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from queries.records import Found, decode_key, decode_value, encode_key, encode_value

from streamsql.catalog import Catalog, Source
from streamsql.executor.kafka import KafkaClient
from streamsql.executor.spark.context import LoweringContext, StreamingQuerySpec
from streamsql.executor.spark.lower import lower, lower_push
from streamsql.executor.spark.push_rows import decode_push_row
from streamsql.executor.spark.start import Trigger, start
from streamsql.parser import parse
from streamsql.planner.logical import LogicalPlan, QueryPlan, Scan, Sink
from streamsql.planner.planned import QueryStatementPlan
from streamsql.planner.statements import apply, plan
from streamsql.results import Row

QUERY_SECONDS = 180

_numbers = itertools.count()


class Mode(Enum):
    """How the queries of a case run."""

    ONCE = "once"
    RESTARTED = "restarted"
    CONTINUOUS = "continuous"


@dataclass(frozen=True)
class Environment:
    """What all cases share; each has topics and checkpoints of its own."""

    spark: SparkSession
    kafka: KafkaClient
    bootstrap: str
    folder: Path


@dataclass(frozen=True)
class Outcome:
    """What a case wrote, by topics as the case names them."""

    catalog: Catalog
    topics: dict[str, list[Found]]
    log: list[dict[str, Any]]
    rows: list[Row]


class CaseRun:
    """One run of one case."""

    def __init__(
        self, case: dict[str, Any], environment: Environment, shuffle_partitions: int = 1
    ) -> None:
        self.shuffle_partitions = shuffle_partitions
        self._case = case
        self._env = environment
        self._prefix = f"t{uuid.uuid4().hex[:10]}-"
        # Numbers of their own keep the names of queries apart that run at the same time.
        self._catalog = Catalog(next_query=100 * next(_numbers))
        self._queries: list[QueryPlan] = []
        self._push: QueryPlan | None = None
        self._properties = case.get("properties", {})

    def run(self, mode: Mode, done: Callable[[Outcome], bool]) -> Outcome:
        """What the case wrote; a continuous run ends when that is `done`, or too late."""
        self.prepare()
        inputs = self._case.get("inputs", [])
        if mode is Mode.CONTINUOUS:
            return self._run_continuously(inputs, done)
        middle = (len(inputs) + 1) // 2
        parts = [inputs] if mode is Mode.ONCE else [inputs[:middle], inputs[middle:]]
        for part in parts:
            self.produce(part)
            self._run_once()
        return self._outcome()

    def prepare(self) -> None:
        """Plan the statements and make their topics."""
        self._plan()
        self._create_topics()

    def start(self, trigger: Trigger) -> StreamingQuery:
        """The case's only query."""
        (query,) = self._queries
        return start(lower(self._moved(query), self._context()), trigger)

    @property
    def checkpoint(self) -> Path:
        (query,) = self._queries
        return self._context().checkpoints / str(query.query_id)

    def found(self, topic: str) -> list[Found]:
        """All records that the topic holds."""
        return [self._found(topic, message) for message in self._read(topic)]

    # -- planning --------------------------------------------------------------------------------

    def _plan(self) -> None:
        for text in self._case["statements"]:
            for statement in parse(text):
                planned = plan(statement, self._catalog, self._properties)
                apply(planned, self._catalog)
                if isinstance(planned, QueryStatementPlan):
                    if planned.sink is None:
                        self._push = planned.query
                    else:
                        self._queries.append(planned.query)

    def _topic_names(self) -> list[str]:
        named = {source.topic.name for source in self._catalog.sources.values()}
        return sorted({*named, "log", "push"})

    def _source(self, topic: str) -> Source:
        return next(s for s in self._catalog.sources.values() if s.topic.name == topic)

    # -- Kafka -----------------------------------------------------------------------------------

    def _create_topics(self) -> None:
        for name in self._topic_names():
            self._env.kafka.create_topic(self._prefix + name, 1, config={"retention.ms": "-1"})

    def produce(self, inputs: list[dict[str, Any]]) -> None:
        producer = Producer({"bootstrap.servers": self._env.bootstrap, "linger.ms": 0})
        for record in inputs:
            source = self._source(record["topic"])
            headers: list[tuple[str, str | bytes | None]] = [
                (h["KEY"], base64.b64decode(h["VALUE"]) if h["VALUE"] is not None else None)
                for h in record.get("headers", [])
            ]
            producer.produce(
                self._prefix + record["topic"],
                key=encode_key(source, record.get("key"), record.get("window")),
                value=encode_value(source, record.get("value")),
                timestamp=record.get("timestamp", 0),
                headers=headers,
            )
        assert producer.flush(30) == 0

    def _read(self, topic: str) -> list[Any]:
        consumer = Consumer({"bootstrap.servers": self._env.bootstrap, "group.id": "cases"})
        partition = TopicPartition(self._prefix + topic, 0, 0)
        try:
            end = consumer.get_watermark_offsets(partition, timeout=20)[1]
            consumer.assign([partition])
            messages: list[Any] = []
            deadline = time.monotonic() + 20
            while len(messages) < end:
                assert time.monotonic() < deadline, f"{topic}: {len(messages)} of {end} records"
                messages.extend(consumer.consume(end - len(messages), timeout=1))
            return messages
        finally:
            consumer.close()

    # -- Spark -----------------------------------------------------------------------------------

    def _specs(self) -> Iterator[StreamingQuerySpec]:
        context = self._context()
        for query in self._queries:
            yield lower(self._moved(query), context)
        if self._push is not None:
            yield lower_push(self._moved(self._push), context, self._prefix + "push")

    def _run_once(self) -> None:
        for spec in self._specs():
            running = start(spec, Trigger.AVAILABLE_NOW)
            finished = running.awaitTermination(QUERY_SECONDS)
            assert finished, f"the query {running.name} did not end"

    def _run_continuously(
        self, inputs: list[dict[str, Any]], done: Callable[[Outcome], bool]
    ) -> Outcome:
        running = [
            start(
                spec,
                Trigger.REAL_TIME if spec.real_time_allowed else Trigger.CONTINUOUS_MICRO_BATCH,
            )
            for spec in self._specs()
        ]
        self.produce(inputs)
        deadline = time.monotonic() + QUERY_SECONDS
        while not done(outcome := self._outcome()) and time.monotonic() < deadline:
            for query in running:
                assert query.isActive, str(query.exception())
            time.sleep(0.2)
        for query in running:
            query.stop()
        return outcome

    def _context(self) -> LoweringContext:
        return LoweringContext(
            self._env.spark,
            self._env.bootstrap,
            self._env.folder / self._prefix,
            self._prefix + "log",
            shuffle_partitions=self.shuffle_partitions,
        )

    def _moved(self, query: QueryPlan) -> QueryPlan:
        return replace(query, root=self._moved_plan(query.root))

    def _moved_plan(self, node: LogicalPlan) -> LogicalPlan:
        """The plan over the topics of this run."""
        if isinstance(node, Scan):
            return replace(node, source=self._moved_source(node.source))
        moved = replace(node, input=self._moved_plan(node.inputs[0]))  # type: ignore[call-arg]
        if isinstance(moved, Sink):
            return replace(moved, target=self._moved_source(moved.target))
        return moved

    def _moved_source(self, source: Source) -> Source:
        return replace(source, topic=replace(source.topic, name=self._prefix + source.topic.name))

    # -- results ---------------------------------------------------------------------------------

    def _outcome(self) -> Outcome:
        wanted = {record["topic"] for record in self._case.get("outputs", [])}
        wanted.update(self._case.get("empty", []))
        topics = {name: self.found(name) for name in wanted}
        log = [json.loads(m.value()) for m in self._read("log")]
        rows = []
        if self._push is not None:
            schema = self._push.schema
            rows = [decode_push_row(m.value(), schema) for m in self._read("push")]
        return Outcome(self._catalog, topics, log, rows)

    def _found(self, topic: str, message: Any) -> Found:
        source = self._source(topic)
        key, window = decode_key(source, message.key())
        headers = [
            {"KEY": k, "VALUE": base64.b64encode(v).decode() if v is not None else None}
            for k, v in message.headers() or []
        ]
        value = decode_value(source, message.value())
        return Found(key, value, message.timestamp()[1], headers, window)
