"""What a stored query has made of its topics, and what a pull query over the same ones answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from streamsql.executor.lowering.batch import Batch, batch_rows
from streamsql.executor.queries.offset_ranges import offset_ranges
from streamsql.nodes import CreateAsSelect, Query, SelectQuery, Statement
from streamsql.parser import parse
from streamsql.planner.operators import Scan, operators
from streamsql.planner.plans.statements import PullPlan
from streamsql.planner.statements import plan
from streamsql.schema import Schema
from streamsql.test_driver.driven_query import process_once
from streamsql.test_driver.fixture import Fixture
from streamsql.test_driver.renamed_topics import moved
from streamsql.test_driver.run import PipelineRun
from streamsql.testing.cases.case import case_from_json


@dataclass(frozen=True)
class Answered:
    """A pull query's answer."""

    schema: Schema
    rows: list[list[Any]]

    def texts(self, names: Sequence[str]) -> Counter[str]:
        """The rows as texts of the columns of these names, in this order."""
        places = [self.schema.names.index(name) for name in names]
        return Counter(repr([row[i] for i in places]) for row in self.rows)


@dataclass(frozen=True)
class Compared:
    """The rows of one sink, each as text, and those that its query gives as a pull query."""

    sink: str
    stored: Counter[str]
    answered: Counter[str]


class AnsweredRun(PipelineRun):
    """Runs the queries of a case, then asks them again."""

    def __init__(self, given: Mapping[str, Any], fixture: Fixture) -> None:
        super().__init__(case_from_json({"name": "", **given}, "queries").pipeline, fixture)

    def compare(self) -> list[Compared]:
        """The sink of each CREATE .. AS SELECT and its query."""
        self.fill()
        for spec in self.specs():
            process_once(spec)
        found = []
        for source in self.script.catalog.sources.values():
            if source.created_by_query not in self.script.queries:
                continue
            (statement,) = parse(source.statement)
            assert isinstance(statement, CreateAsSelect)
            names = source.schema.names
            answered = self.answer(replace(statement.query, emit=None)).texts(names)
            stored = self.answer(f"SELECT * FROM `{source.name}`;").texts(names)
            found.append(Compared(source.name, stored, answered))
        return found

    def fill(self) -> None:
        """Plan the statements and write all inputs."""
        self.plan()
        inputs = [self.input(record) for record in self.pipeline.inputs]
        self.create_topics({given.topic for given in inputs})
        self.write(inputs)

    def answer(self, asked: Query | str) -> Answered:
        """A pull query's answer, by Spark's batch engine."""
        statement: Statement
        (statement,) = parse(asked) if isinstance(asked, str) else (SelectQuery(asked),)
        planned = plan(statement, self.script.catalog, {})
        assert isinstance(planned, PullPlan)
        here = replace(planned, query=moved(planned.query, self.renamed))
        topics = {o.source.topic.name for o in operators(here.query.root) if isinstance(o, Scan)}
        starts = {self.renamed(topic): start for topic, start in planned.query.starts.items()}
        offsets = offset_ranges(topics, starts, self.fixture.kafka)
        rows = batch_rows(here, Batch(self.context, offsets, self.renamed("pull")))
        return Answered(planned.schema, [list(row.values) for row in rows])
