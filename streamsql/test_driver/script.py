"""A pipeline's statements, planned one after the other as by the engine. Uses Kafka or Spark only
for an INSERT whose values require Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from streamsql import nodes
from streamsql.catalog import Catalog, ExternalSink, Source
from streamsql.errors import ConfigError, StreamSQLError, UnsupportedError
from streamsql.kafka.records import NewRecord
from streamsql.ksqldb import says
from streamsql.parser import parse_each
from streamsql.planner.ddl.control import ControlPlan
from streamsql.planner.ddl.drops import DropPlan
from streamsql.planner.ddl.session import PropertyPlan
from streamsql.planner.plans.query_plan import QueryPlan
from streamsql.planner.plans.statements import (
    InsertValuesPlan,
    Planned,
    PullPlan,
    QueryStatementPlan,
    SourcePlan,
    TopicInfo,
)
from streamsql.planner.statements import apply, plan
from streamsql.properties import AUTO_OFFSET_RESET, MAX_AHEAD, get_int, validate
from streamsql.statements.inserting.values import record_of
from streamsql.test_driver.json_values import JSONObject
from streamsql.test_driver.pipeline import Pipeline
from streamsql.test_driver.registries import CaseRegistry

DECLARED_PARTITIONS = 4
"""How many partitions a declared topic is said to have. It really has one, as all have."""


class Topics:
    """The topics a pipeline declares, as the planner asks for them. One that is declared without a
    number of partitions has as many as the statement says."""

    def __init__(self, declared: Sequence[JSONObject], statement: nodes.Statement) -> None:
        self._declared = {str(t["name"]): t for t in declared}
        self._partitions = _partitions_of(statement)
        self.asked_in_vain = False

    def topic(self, name: str) -> TopicInfo | None:
        """The declared topic, or None."""
        declared = self._declared.get(name)
        if declared is None:
            self.asked_in_vain = True
            return None
        return TopicInfo(
            int(declared.get("partitions", self._partitions)), int(declared.get("replicas", 1))
        )


class Script:
    """Runs statements as far as the catalog goes, and keeps what they leave to do."""

    def __init__(self, pipeline: Pipeline, spark: Callable[[], Any]) -> None:
        self.catalog = Catalog()
        self.queries: dict[str, QueryPlan] = {}
        """The persistent queries by id, in the order of their creation."""
        self.rebuilds: set[str] = set()
        """Queries that replaced another one whose state they cannot use."""
        self.pushes: list[QueryPlan] = []
        self.inserts: list[tuple[Source, NewRecord]] = []
        self.sources: dict[str, list[Source]] = {}
        """By topic: the sources that were ever declared over it, the latest last."""
        self.registry = CaseRegistry(pipeline.topics)
        self._pipeline = pipeline
        self._spark = spark
        self._text = ""
        self._variables: dict[str, str] = {}
        self._properties = {AUTO_OFFSET_RESET: "earliest", **_known(pipeline.properties)}

    @property
    def max_ahead_ms(self) -> int | None:
        """As the test sets it: by itself it has no clock but that of its records."""
        return get_int(self._properties, MAX_AHEAD) if MAX_AHEAD in self._properties else None

    def run(self) -> None:
        """Plan all statements. Raises the StreamSQLError of the first that is rejected."""
        for statement in self.statements():
            self.execute(statement)

    def statements(self) -> Iterator[nodes.Statement]:
        """All statements in order: a DEFINE takes effect on later ones after its execution. Errors
        include the text."""
        for text in self._pipeline.statements:
            for statement in parse_each(text, self._variables):
                self.registry.before(text)
                if isinstance(statement, StreamSQLError):
                    raise statement
                self._text = text
                yield statement

    def execute(self, statement: nodes.Statement) -> None:
        """Plans a statement and records its effect. Raises the StreamSQLError of a rejection."""
        with self.located():
            self._execute(statement)

    @contextmanager
    def located(self) -> Iterator[None]:
        """Errors in the block are about the statement that was handed out last."""
        try:
            yield
        except StreamSQLError as error:
            raise error.located(self._text) from error

    def source_of(self, topic: str) -> Source | None:
        """The source that defines the format of an input topic; None without a declared source."""
        declared = self.sources.get(topic)
        return declared[0] if declared else None

    def sink_of(self, topic: str) -> Source | None:
        """The source that defines the format of an output topic: a query's, if one writes to it."""
        declared = self.sources.get(topic, [])
        written = [s for s in declared if self.catalog.writers(s.name)]
        candidates = written or declared
        return candidates[-1] if candidates else None

    def _execute(self, statement: nodes.Statement) -> None:
        match statement:
            case nodes.DefineVariable():
                self._variables[statement.name.upper()] = statement.value
            case nodes.UndefineVariable():
                self._variables.pop(statement.name.upper(), None)
            case nodes.RunScript():
                raise UnsupportedError(
                    "RUN SCRIPT is not supported in a test",
                    ksqldb=says("unknown-statement", token="RUN"),
                )
            case _:
                planned = self._plan(statement)
                apply(planned, self.catalog)
                self._keep(planned)

    def _plan(self, statement: nodes.Statement) -> Planned:
        """An undeclared topic exists as soon as a statement names it; the planner has no facts
        about it."""
        topics = Topics(self._pipeline.topics, statement)
        try:
            planned = plan(
                statement, self.catalog, self._properties, topics, schemas=self.registry.lookup
            )
        except StreamSQLError:
            if not topics.asked_in_vain:
                raise
        else:
            if not topics.asked_in_vain:
                return planned
        return plan(statement, self.catalog, self._properties, schemas=self.registry.lookup)

    def _keep(self, planned: Planned) -> None:
        match planned:
            case SourcePlan(source=source) if source.lookup is not None:
                pass  # no topic
            case SourcePlan(source=source):
                self.registry.declared(source)
                self._declare(source)
            case QueryStatementPlan(external=ExternalSink()):
                pass  # what a test compares is in topics
            case QueryStatementPlan(query=query, sink=None):
                self.pushes.append(query)
            case QueryStatementPlan(query=query, sink=sink):
                assert sink is not None and query.query_id is not None
                self.registry.written(sink)
                if planned.creates_sink:
                    self._declare(sink)
                self.queries[query.query_id] = query
                if planned.rebuilds:
                    self.rebuilds.add(query.query_id)
            case PullPlan():
                raise UnsupportedError(
                    "a test cannot read the rows of SELECT",
                    hint="Write CREATE STREAM .. AS SELECT, and expect the records of its topic.",
                )
            case InsertValuesPlan(source=source):
                for row in planned.rows:
                    record = record_of(row, self._spark, self.registry.schemas)
                    self.inserts.append((source, record))
            case DropPlan(terminate=ended):
                self._end(ended)
            case ControlPlan(action=nodes.QueryAction.TERMINATE, query_ids=ended):
                self._end(ended)
            case PropertyPlan(name=name, value=None):
                self._properties.pop(name, None)
            case PropertyPlan(name=name, value=str(value)):
                self._properties[name] = value
            case _:
                pass

    def _declare(self, source: Source) -> None:
        self.sources.setdefault(source.topic.name, []).append(source)

    def _end(self, query_ids: Sequence[str]) -> None:
        for query_id in query_ids:
            self.queries.pop(query_id, None)


def _partitions_of(statement: nodes.Statement) -> int:
    given = [p.value for p in getattr(statement, "properties", ()) if p.name == "PARTITIONS"]
    return int(given[0]) if given else DECLARED_PARTITIONS


def _known(properties: Mapping[str, str]) -> dict[str, str]:
    """Canonical names and values; properties of other engines are ignored."""
    known = {}
    for name, value in properties.items():
        try:
            canonical, text = validate(name, value)
        except ConfigError:
            continue
        known[canonical] = text
    return known
