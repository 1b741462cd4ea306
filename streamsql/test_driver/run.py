"""Runs one pipeline on the real thing: its statements are planned, its queries lowered and driven
over the inputs, piece by piece, and its topics read.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from streamsql.catalog import Source
from streamsql.errors import UnsupportedError
from streamsql.executor.frames.context import LoweringContext, Muted, StreamingQuerySpec
from streamsql.executor.lowering.streaming import lower
from streamsql.executor.queries import checkpoint, checkpoint_metadata
from streamsql.executor.queries.checkpoint_metadata import CheckpointMetadata
from streamsql.executor.rebuilds.corrections import Corrections
from streamsql.kafka.records import NewRecord, Record
from streamsql.planner.operators import Sink
from streamsql.planner.plans.query_plan import QueryPlan
from streamsql.runtime.catch_up import in_order
from streamsql.schema import Kind
from streamsql.test_driver.driven_query import DrivenQuery, process_once
from streamsql.test_driver.fixture import Fixture
from streamsql.test_driver.json_values import JSONObject, from_text
from streamsql.test_driver.pipeline import Pipeline
from streamsql.test_driver.records import decode, encode
from streamsql.test_driver.renamed_topics import moved
from streamsql.test_driver.script import Script
from streamsql.test_driver.segments import Arrival, order_matters, segments
from streamsql.test_driver.sources import describe, source_differences


@dataclass(frozen=True)
class Input:
    """A record on its way into a topic."""

    topic: str
    record: NewRecord
    arrival: Arrival


@dataclass(frozen=True)
class Target:
    """A written topic. `writers` is its number of queries."""

    kind: Kind
    writers: int


class PipelineRun:
    """One run of one pipeline, under topics and query names of its own."""

    def __init__(self, pipeline: Pipeline, fixture: Fixture) -> None:
        self.pipeline = pipeline
        self.script = Script(pipeline, lambda: fixture.spark)
        self.fixture = fixture
        self._prefix = fixture.next_prefix()
        self._topics: list[str] = []

    @property
    def context(self) -> LoweringContext:
        return replace(
            self.fixture.context(self._prefix),
            schemas=self.script.registry.schemas,
            max_ahead_ms=self.script.max_ahead_ms,
        )

    def plan(self) -> None:
        """Plan the statements; the StreamSQLError of the first that is rejected."""
        self.script.run()
        self.reject_pushes()

    def reject_pushes(self) -> None:
        """UnsupportedError where a statement gives rows and not records."""
        if self.script.pushes:
            raise UnsupportedError(
                "a test cannot read the rows of SELECT .. EMIT CHANGES",
                hint="Write CREATE STREAM .. AS SELECT, and expect the records of its topic.",
            )

    def process(self, *, each: bool = False) -> None:
        """Make the topics, write the inputs and let the queries process them; `each` record on its
        own, or as many at a time as do not change the result of a table."""
        inputs = [*self.inserted(), *map(self.input, self.pipeline.inputs)]
        self.create_topics({i.topic for i in inputs})
        ordered = order_matters(list(self.script.queries.values()))
        pieces = segments([i.arrival for i in inputs], ordered=ordered, each=each)
        if len(pieces) <= 1:
            self.write(inputs)
            for spec in self.specs():
                process_once(spec)
            return
        self._drive([[inputs[i] for i in piece] for piece in pieces])

    def close(self) -> None:
        """Leave no topics and files behind."""
        self.fixture.kafka.delete_topics(self._topics)
        shutil.rmtree(self.fixture.checkpoints(self._prefix), ignore_errors=True)

    # -- topics ----------------------------------------------------------------------------------

    def create_topics(self, others: Iterable[str] = ()) -> None:
        """Make the topics of all sources, those to be read, and `others`, where they are not there
        yet."""
        names = {*self.script.sources, *self.pipeline.outputs, *others}
        missing = sorted({*map(self.renamed, names)} - set(self._topics))
        if missing:
            self._topics += missing
            self.fixture.kafka.create_topics(missing)

    def renamed(self, name: str) -> str:
        """A topic's name in this run, unique across runs."""
        return self._prefix + name

    def input(self, record: JSONObject) -> Input:
        """An input as bytes; ConfigError where it does not fit its source."""
        topic = str(record["topic"])
        source = self.script.source_of(topic)
        written = encode(record, source, self.script.registry)
        return Input(topic, written, Arrival(topic, _event_time(source, written)))

    def inserted(self, first: int = 0) -> list[Input]:
        """Records of INSERT .. VALUES statements, from a number on."""
        inputs = []
        for source, record in self.script.inserts[first:]:
            topic = source.topic.name
            inputs.append(Input(topic, record, Arrival(topic, _event_time(source, record))))
        return inputs

    def write(self, inputs: Iterable[Input]) -> None:
        """Write records; they are there when this returns."""
        self.fixture.records.write((self.renamed(i.topic), i.record) for i in inputs)

    def read(self, topic: str) -> list[JSONObject]:
        """All records of a topic, in the form of the test files; none where no stream or table is
        declared over it: nothing says how to read them."""
        source = self.script.sink_of(topic)
        return [] if source is None else self.read_as(source)

    def read_as(self, source: Source) -> list[JSONObject]:
        """All records of the source's topic, in the form of the test files."""
        topic = source.topic.name
        return [self.decoded(r, source) for r in self.fixture.records.read(self.renamed(topic))]

    def decoded(self, record: Record, source: Source) -> JSONObject:
        return decode(record, source, source.topic.name, self.script.registry)

    def target(self, topic: str) -> Target | None:
        """The output topic's description; None without a stream or table over it."""
        source = self.script.sink_of(topic)
        if source is None:
            return None
        return Target(source.kind, len(self.script.catalog.writers(source.name)))

    def sources(self) -> list[JSONObject]:
        """All streams and tables, in the form that tests write."""
        return describe(self.script.catalog)

    def source_differences(self, expected: Sequence[JSONObject]) -> list[str]:
        """A line for each thing that is said of a stream or table and that is not so."""
        return source_differences(expected, self.script.catalog)

    def complaints(self) -> list[str]:
        """The queries' reports about failed records, one line each."""
        entries = [
            from_text(r.value or b"{}") for r in self.fixture.records.read(self.fixture.log_topic)
        ]
        own = [e for e in entries if str(e.get("queryId")).startswith(self._prefix)]
        return [_complaint(entry).replace(self._prefix, "") for entry in own]

    # -- queries ---------------------------------------------------------------------------------

    def specs(self) -> list[StreamingQuerySpec]:
        """The lowered queries, upstream queries first."""
        return [self.spec(query) for query in self.queries()]

    def queries(self) -> list[QueryPlan]:
        """The running queries, upstream queries first."""
        levels = in_order(self.script.catalog)
        ids = [query_id for level in levels for query_id in level]
        return [self.script.queries[i] for i in ids if i in self.script.queries]

    def spec(self, query: QueryPlan) -> StreamingQuerySpec:
        """A lowered query over the topics of this run and on its checkpoint: a replacement resumes
        from its predecessor's state."""
        plan, context = moved(query, self.renamed), self.context
        folder = context.checkpoints / str(plan.query_id)
        was = checkpoint_metadata.read(folder)
        kept = was.stores if was else None
        spec = lower(plan, replace(context, kept=kept, begun=checkpoint.has_commits(folder)))
        now = CheckpointMetadata.of(plan, spec.source_topics, spec.stores)
        checkpoint_metadata.settle(spec.checkpoint, now, was)
        return spec

    def rebuild(self, query: QueryPlan) -> None:
        """Rebuild the query's checkpoint from its topics, and give a table's topic the rows that
        differ, as an engine does."""
        plan, context = moved(query, self.renamed), self.context
        checkpoint.remove(context.checkpoints / str(plan.query_id))
        root = plan.root
        made = None
        if isinstance(root, Sink) and root.kind is Kind.TABLE:
            made = f"{root.target.topic.name}-rebuilt"
            self._topics.append(made)
            self.fixture.kafka.create_topics([made])
        process_once(lower(plan, replace(context, muted=Muted(made))))
        if isinstance(root, Sink) and made is not None:
            target, kafka = root.target.topic.name, self.fixture.kafka
            Corrections(target, made, False, context, kafka).write(None, None)

    def _drive(self, pieces: Sequence[Sequence[Input]]) -> None:
        running: list[DrivenQuery] = []
        specs = self.specs()
        try:
            for piece in pieces:
                self.write(piece)
                for number, spec in enumerate(specs):
                    if number == len(running):
                        running.append(DrivenQuery(spec))
                    running[number].process_available()
        finally:
            for query in running:
                query.stop()


def _event_time(source: Source | None, record: NewRecord) -> int | None:
    """None where a column gives it: that is the engine's to compute."""
    if source is not None and source.timestamp is not None:
        return None
    return record.timestamp


def _complaint(entry: JSONObject) -> str:
    details = next((v for v in entry["message"].values() if isinstance(v, dict)), {})
    place = f"{entry['queryId']} at {entry['topic']}, offset {entry['offset']}"
    return f"{place}: {details.get('errorMessage')}"
