"""Runs one test of the HTTP interface against a server, and leaves nothing behind."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from streamsql.catalog import Source
from streamsql.engine import QueryState
from streamsql.runtime.catch_up import in_order
from streamsql.statements.inserting.records import insert_records
from streamsql.test_driver.json_values import JSONObject
from streamsql.test_driver.records import decode, encode
from streamsql.test_driver.registries import CaseRegistry
from streamsql.testing.comparison import Sink, differences

from .case import RestCase
from .compare import entity_differs, rows_differ
from .proto import proto_rows_differ
from .server import Server

PATIENCE = 60.0
SETTLE_SECONDS = 10.0
"""How long a table may lag behind its query before a lookup counts as wrong."""
LOOK_SECONDS = 0.05
V1 = "application/vnd.ksql.v1+json"
PROTOBUF = "application/vnd.ksql.v1+protobuf"


class Wrong(Exception):
    """The server did other than the test expects; says what."""


class RestRun:
    """One run of one test."""

    def __init__(self, case: RestCase, server: Server) -> None:
        self.case = case
        self.server = server
        self.registry = CaseRegistry(case.topics, server.registry)
        self.responses = list(case.responses)
        self._before = set(server.engine.catalog().sources)
        self._topics: set[str] = set()

    def run(self) -> None:
        """Raises Wrong where the test fails."""
        try:
            self._create_topics()
            if self.case.error is not None:
                self._expect_error()
            else:
                self._commands(self.case.commands)
                self._write_and_ask()
                self._check_outputs()
        finally:
            self._tidy()

    # -- statements ------------------------------------------------------------------------------

    def _create_topics(self) -> None:
        for name, partitions in self.case.topics_before().items():
            self.server.kafka.create_topic(name, partitions, 1, {}, exists_ok=True)
            self._topics.add(name)
        self.registry.before(" ".join(str(t["name"]) for t in self.case.topics))

    def _commands(self, statements: Sequence[str]) -> None:
        if not statements:
            return
        answer = self._post("/ksql", self._request("\n".join(statements)))
        body = answer.json()
        if answer.status_code != 200:
            raise Wrong(f"/ksql answered {answer.status_code}: {body.get('message')}")
        expected = [r["admin"] for r in self.responses if "admin" in r]
        self.responses = [r for r in self.responses if "admin" not in r]
        if len(body) < len(expected):
            raise Wrong(f"expected {len(expected)} entities, found {len(body)}")
        for wanted, found, statement in zip(expected, body, statements, strict=False):
            problem = entity_differs(wanted, found, statement)
            if problem is not None:
                raise Wrong(problem)

    def _expect_error(self) -> None:
        error, last = self.case.error, self.case.statements[-1]
        assert error is not None
        self._commands(self.case.statements[:-1])
        query = last.startswith("SELECT ")
        answer = self._post("/query" if query else "/ksql", self._request(last))
        if answer.status_code == 200:
            raise Wrong(f"expected to be rejected: {error.message}")
        body = answer.json()
        message = str(body.get("message"))
        if error.message not in message:
            raise Wrong(f"expected the message {error.message!r}, found {message!r}")
        if error.status not in (None, answer.status_code):
            raise Wrong(f"expected the status {error.status}, found {answer.status_code}")
        if error.about_statement and body.get("@type") != "statement_error":
            raise Wrong(f"expected a statement_error, found {body.get('@type')}")

    def _request(self, sql: str, name: str = "ksql") -> JSONObject:
        properties = {"auto.offset.reset": "earliest", **self.case.properties}
        field = "streamsProperties" if name == "ksql" else "properties"
        return {name: sql, field: properties}

    def _post(self, path: str, body: JSONObject) -> Any:
        return self.server.http.post(path, json=body, headers={"Accept": V1})

    # -- records and rows ------------------------------------------------------------------------

    def _write_and_ask(self) -> None:
        if self._is_watched:
            # Who follows a table sees each change only where its query does not catch up.
            self._await_queries(self._running)
        if not self.case.waits_for_push:
            self._write()
        for number, statement in enumerate(self.case.queries):
            expected = next((r["query"] for r in self._of("query", number)), None)
            proto = next((r["queryProto"] for r in self._of("queryProto", number)), None)
            if expected is not None:
                self._ask(statement, expected)
            if proto is not None:
                self._ask_proto(statement, proto)

    def _of(self, kind: str, number: int) -> list[JSONObject]:
        return [r for r in self.responses if kind in r][number : number + 1]

    def _write(self) -> None:
        """One record after the other for who watches; else all at once, so that a query finds them
        together and takes them by their times."""
        groups = itertools.groupby(self.case.inputs, key=lambda record: str(record["topic"]))
        for topic, records in groups:
            source = self._source_of(topic)
            encoded = [encode(record, source, self.registry) for record in records]
            for batch in [[e] for e in encoded] if self._is_watched else [encoded]:
                insert_records(self.server.engine._state.services, topic, batch)
        self._await_queries(self._done)

    @property
    def _is_watched(self) -> bool:
        return any(_is_push(statement) for statement in self.case.queries)

    def _source_of(self, topic: str) -> Source | None:
        sources = self.server.engine.catalog().sources.values()
        return next((s for s in sources if s.topic.name == topic), None)

    def _ask(self, statement: str, expected: Sequence[JSONObject]) -> None:
        def answer() -> str | None:
            found = list(self._rows(statement))
            return rows_differ(expected, found, statement, in_order=self.case.in_order)

        self._try(statement, answer)

    def _ask_proto(self, statement: str, expected: Sequence[JSONObject]) -> None:
        def answer() -> str | None:
            headers = {"Accept": PROTOBUF}
            request = self._request(statement, "sql")
            found = self.server.http.post("/query-stream", json=request, headers=headers)
            if found.status_code != 200:
                raise Wrong(f"/query-stream answered {found.status_code}: {found.text[:300]}")
            return proto_rows_differ(expected, found.json(), in_order=self.case.in_order)

        self._try(statement, answer)

    def _try(self, statement: str, answer: Callable[[], str | None]) -> None:
        """A push query has one try; a table may have to catch up with its query first."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while (problem := answer()) is not None:
            if _is_push(statement) or time.monotonic() > deadline:
                raise Wrong(problem)
            time.sleep(LOOK_SECONDS)

    def _rows(self, statement: str) -> Iterator[JSONObject]:
        """The elements of the answer as they come."""
        written = not self.case.waits_for_push
        request = self._request(statement)
        deadline = time.monotonic() + PATIENCE
        headers = {"Accept": V1}
        with self.server.http.stream("POST", "/query", json=request, headers=headers) as answer:
            if answer.status_code != 200:
                answer.read()
                raise Wrong(f"/query answered {answer.status_code}: {answer.text[:300]}")
            for line in answer.iter_lines():
                if time.monotonic() > deadline:
                    raise Wrong(f"{statement} has not ended within {PATIENCE} s")
                text = line.strip().removeprefix("[").removesuffix("]").strip().strip(",")
                if not text:
                    continue
                element = json.loads(text, parse_float=Decimal)
                if "errorMessage" in element:
                    raise Wrong(f"/query failed: {element['errorMessage'].get('message')}")
                yield element
                if not written:
                    self._write()
                    written = True

    # -- queries ---------------------------------------------------------------------------------

    def _await_queries(self, condition: Callable[[str], bool]) -> None:
        """Each persistent query after those whose output it reads."""
        deadline = time.monotonic() + PATIENCE
        for level in in_order(self.server.engine.catalog()):
            for query_id in level:
                while not condition(query_id):
                    if time.monotonic() > deadline:
                        raise Wrong(f"{query_id} is not done within {PATIENCE} s")
                    time.sleep(LOOK_SECONDS)

    def _running(self, query_id: str) -> bool:
        info = self.server.engine.inspection.info(query_id)
        return info is not None and info.state is QueryState.RUNNING

    def _done(self, query_id: str) -> bool:
        """Whether all that is in the topics has been read."""
        progress = self.server.engine.inspection.progress(query_id)
        return all((p.offset or 0) >= (p.end or 0) for p in progress)

    # -- afterwards ------------------------------------------------------------------------------

    def _check_outputs(self) -> None:
        for topic in dict.fromkeys(str(r["topic"]) for r in self.case.outputs):
            source = self._source_of(topic)
            if source is None:
                raise Wrong(f"{topic}: no stream or table has this topic")
            expected = [r for r in self.case.outputs if r["topic"] == topic]
            ends = self.server.kafka.end_offsets(topic)
            count = sum(ends.values())
            records = []
            if count:
                for record in self.server.kafka.consume(topic, stop=lambda: False):
                    records.append(decode(record, source, topic, self.registry))
                    if len(records) == count:
                        break
            problems = differences(Sink(source.kind), expected, records)
            if problems:
                raise Wrong(f"{topic}: {problems[0]}")

    def _tidy(self) -> None:
        engine = self.server.engine
        for info in engine.queries():
            if info.kind == "PUSH":
                engine._state.pushes.cancel(info.id)
        list(engine.execute("TERMINATE ALL;"))
        for source in reversed(engine.catalog().sources.values()):
            if source.name not in self._before:
                self._topics.add(source.topic.name)
                list(engine.execute(f"DROP {source.kind.value} `{source.name}`;"))
        self.server.kafka.delete_topics(sorted(self._topics))
        for topic in self._topics:
            for side in ("key", "value"):
                self.server.registry.client.delete(f"{topic}-{side}")


def _is_push(statement: str) -> bool:
    return "EMIT CHANGES" in statement.upper()
