"""Runs a pipeline with assertions. Statements take effect in order: inserted records are processed,
one by one if necessary, before the next ASSERT or change of queries. An ASSERT VALUES applies to
the next record of its topic; other records are ignored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from streamsql import nodes
from streamsql.errors import StreamSQLError, UnsupportedError
from streamsql.kafka.records import Record
from streamsql.planner.ddl.asserted import AssertedRecord, assert_source, plan_assert_values
from streamsql.planner.plans.query_plan import QueryPlan
from streamsql.planner.types.constants import evaluate_constant
from streamsql.schema import WINDOWEND, WINDOWSTART
from streamsql.statements.inserting.values import record_of
from streamsql.test_driver.driven_query import DrivenQuery
from streamsql.test_driver.json_values import JSON, JSONObject, agree, to_text
from streamsql.test_driver.run import PipelineRun
from streamsql.test_driver.segments import order_matters, segments

_Asserts = nodes.AssertValues | nodes.AssertNullValues | nodes.AssertSource


class AssertionFailed(StreamSQLError):
    """An ASSERT of a test that does not hold; `lines` say what differs."""

    def __init__(self, message: str, statement: nodes.Statement, lines: Sequence[str]) -> None:
        super().__init__(message, detail="\n".join(lines), span=statement.span)
        line = "" if statement.span is None else f"line {statement.span.line}: "
        self.lines = [f"{line}{message}", f"  {' '.join(statement.text.split())}"]
        self.lines += [f"  {line}" for line in lines]


class AssertingRun:
    """One run of such a pipeline, over the topics of a PipelineRun."""

    def __init__(self, run: PipelineRun) -> None:
        self._run = run
        self._written = 0
        self._running: dict[str, tuple[QueryPlan, DrivenQuery]] = {}
        self._asserted: dict[str, int] = defaultdict(int)
        """By topic, how many of its records have been asked for."""

    def run(self) -> None:
        """Run all statements. The first that is rejected, or an AssertionFailed, is raised."""
        script = self._run.script
        try:
            for statement in script.statements():
                if not isinstance(statement, nodes.InsertValues):
                    self._process()
                if isinstance(statement, _Asserts):
                    with script.located():
                        self._assert(statement)
                    continue
                if isinstance(statement, nodes.AssertTopic | nodes.AssertSchema):
                    raise UnsupportedError("a test cannot assert topics and schemas")
                script.execute(statement)
                self._run.reject_pushes()
            self._process()
        finally:
            for query_id in list(self._running):
                self._stop(query_id)

    # -- processing ------------------------------------------------------------------------------

    def _process(self) -> None:
        """Writes the inserted records and lets the queries process them."""
        run = self._run
        run.create_topics()
        inputs = run.inserted(self._written)
        self._written += len(inputs)
        queries = run.queries()
        self._stop_others(queries)
        if not inputs and len(self._running) == len(queries):
            return
        each = order_matters(queries)
        arrivals = [i.arrival for i in inputs]
        for piece in segments(arrivals, ordered=each, each=each) or [range(0)]:
            run.write(inputs[i] for i in piece)
            for query in queries:
                self._driven(query).process_available()

    def _driven(self, query: QueryPlan) -> DrivenQuery:
        assert query.query_id is not None
        if query.query_id not in self._running:
            if query.query_id in self._run.script.rebuilds:
                self._run.script.rebuilds.remove(query.query_id)
                self._run.rebuild(query)
            self._running[query.query_id] = (query, DrivenQuery(self._run.spec(query)))
        return self._running[query.query_id][1]

    def _stop_others(self, queries: Sequence[QueryPlan]) -> None:
        """End the queries that were dropped, and those that were replaced."""
        plans = {query.query_id: query for query in queries}
        for query_id, (plan, _) in list(self._running.items()):
            if plans.get(query_id) is not plan:
                self._stop(query_id)

    def _stop(self, query_id: str) -> None:
        self._running.pop(query_id)[1].stop()

    # -- asserting -------------------------------------------------------------------------------

    def _assert(self, statement: _Asserts) -> None:
        catalog = self._run.script.catalog
        if isinstance(statement, nodes.AssertSource):
            lines = assert_source(statement, catalog)
            if lines:
                message = f"{statement.name} is not as expected"
                raise AssertionFailed(message, statement, lines)
            return
        asserted = plan_assert_values(statement, catalog)
        wanted = self._wanted(asserted)
        source = asserted.record.source
        records = self._run.read_as(source)
        number = self._asserted[source.topic.name]
        if number >= len(records):
            message = f"Expected another record for {source.name} but already read all records"
            raise AssertionFailed(
                message, statement, [f"expected {_show(wanted)}", *_listed(records)]
            )
        self._asserted[source.topic.name] += 1
        found = records[number]
        lines = _differences(wanted, found)
        if lines:
            lines = [f"expected {_show(wanted)}", f"found    {_show(found)}", *lines]
            raise AssertionFailed("Expected record does not match actual", statement, lines)

    def _wanted(self, asserted: AssertedRecord) -> JSONObject:
        """The record in the form of the test files: written as if inserted, and read again."""
        run, source = self._run, asserted.record.source
        plain = replace(source, topic=replace(source.topic, window=None))
        insert = replace(asserted.record, source=plain)
        record = record_of(insert, lambda: run.fixture.spark, run.script.registry.schemas)
        value = None if asserted.deleted else record.value
        read = Record(source.topic.name, 0, 0, record.timestamp, record.key, value)
        wanted = {k: v for k, v in run.decoded(read, plain).items() if k in ("key", "value")}
        if asserted.record.rowtime is not None:
            wanted["timestamp"] = record.timestamp
        start, end = (asserted.bounds.get(c.name) for c in (WINDOWSTART, WINDOWEND))
        bounds = {"start": start, "end": end}
        given = {k: evaluate_constant(v) for k, v in bounds.items() if v is not None}
        return {**wanted, "window": given or None}


def _listed(records: Sequence[JSONObject]) -> list[str]:
    return [f"found    {_show(record)}" for record in records] or ["found nothing"]


def _differences(wanted: JSONObject, found: JSONObject) -> list[str]:
    """A line per part of the record that differs; unspecified parts are ignored."""
    lines = [line for side in ("key", "value") for line in _parts(side, wanted[side], found[side])]
    if "timestamp" in wanted:
        lines += _parts("ROWTIME", wanted["timestamp"], found["timestamp"])
    window = found["window"] or {}
    for name, value in (wanted["window"] or {}).items():
        lines += _parts(f"WINDOW{name.upper()}", value, window.get(name))
    return lines


def _parts(name: str, wanted: JSON, found: JSON) -> list[str]:
    if agree(wanted, found):
        return []
    if isinstance(wanted, dict) and isinstance(found, dict):
        names = dict.fromkeys([*wanted, *found])
        return [line for n in names for line in _parts(n, wanted.get(n), found.get(n))]
    return [f"{name}: expected {to_text(wanted)}, found {to_text(found)}"]


def _show(record: JSONObject) -> str:
    """On one line: key, value, and what else is known."""
    text = f"key {to_text(record['key'])}, value {to_text(record['value'])}"
    if record.get("timestamp") is not None:
        text += f", ROWTIME {record['timestamp']}"
    bounds = record.get("window") or {}
    return text + "".join(
        f", WINDOW{name.upper()} {bounds[name]}" for name in ("start", "end") if name in bounds
    )
