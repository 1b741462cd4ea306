"""Statements that wait for something outside hold up no others."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from engine.offline import Offline

from streamsql.errors import ExternalError, StreamSQLError
from streamsql.executor.queries.manager import QueryManager
from streamsql.executor.services.background import Service
from streamsql.planner.plans.statements import TopicInfo
from streamsql.run_script import NamedText
from streamsql.runtime.topics import KafkaTopics
from streamsql.session import Session
from streamsql.statements.changes.apply import Files, apply_files
from streamsql.statements.changes.rebuilding import Rebuilds
from tests.statements.world import data_folder

BEFORE = """
CREATE STREAM a (k INT KEY, x INT) WITH (KAFKA_TOPIC = 'a', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM b AS SELECT k, x FROM a EMIT CHANGES;
"""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Offline]:
    """An engine in whose Kafka every topic exists."""

    def topic(topics: KafkaTopics, name: str) -> TopicInfo:
        topics.facts[name] = (1, 1)
        return TopicInfo(1, 1)

    monkeypatch.setattr(KafkaTopics, "topic", topic)
    with Offline(data_folder(tmp_path, BEFORE)) as engine:
        kafka: Any = Service("kafka", lambda report: object())
        kafka.start()
        engine.state.services.kafka = kafka
        yield engine


@contextmanager
def running(work: Callable[[], object]) -> Iterator[list[StreamSQLError]]:
    """A statement of another user, which is still running while the block is; its error."""
    errors: list[StreamSQLError] = []

    def run() -> None:
        try:
            work()
        except StreamSQLError as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield errors
        assert thread.is_alive()
    finally:
        thread.join(60)


def is_free(engine: Offline) -> bool:
    """Whether another user's statement runs at once."""
    done = threading.Event()

    def run() -> None:
        engine.run("CREATE TYPE other AS INT; DROP TYPE other;")
        done.set()

    threading.Thread(target=run, daemon=True).start()
    return done.wait(5)


def apply_text(engine: Offline, read: Callable[[], str], session: Session | None = None) -> None:
    files = Files(lambda: [NamedText("s.sql", read())], partial=True)
    with Rebuilds(engine.state, from_what_is_left=False) as rebuilds:
        apply_files(files, engine.context(session), rebuilds)


@pytest.mark.parametrize("run", [Offline.run, lambda engine, sql: apply_text(engine, lambda: sql)])
@pytest.mark.parametrize(
    "sql",
    [
        "CREATE STREAM s WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'AVRO');",
        "CREATE STREAM s (x INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'AVRO');",
    ],
)
def test_a_registry_that_never_answers(
    engine: Offline, sql: str, run: Callable[[Offline, str], object]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as registry:
        url = f"http://127.0.0.1:{registry.getsockname()[1]}"
        engine.run(f"SET 'ksql.schema.registry.url' = '{url}';")
        entries = len(engine.state.log.entries)
        registry.settimeout(20)
        with running(lambda: run(engine, sql)) as errors:
            connection, _ = registry.accept()
            assert is_free(engine)
            assert len(engine.state.log.entries) == entries + 2
            registry.close()
            connection.close()
    assert isinstance(errors[0], ExternalError) and "S" not in engine.state.catalog.sources


@pytest.mark.parametrize("sql", ["TERMINATE CSAS_B_0;", "PAUSE ALL;", "DROP STREAM b;"])
def test_a_query_that_does_not_stop(
    engine: Offline, monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    waits, stops = threading.Event(), threading.Event()
    unsettled = QueryManager.unsettled

    def wait(manager: QueryManager, *query_ids: str) -> list[str]:
        waits.set()
        assert stops.wait(20)
        return unsettled(manager, *query_ids)

    monkeypatch.setattr(QueryManager, "unsettled", wait)
    with running(lambda: engine.run(sql)) as errors:
        assert waits.wait(10) and is_free(engine)
        threading.Timer(0.1, stops.set).start()
    assert not errors


def test_what_others_change_meanwhile_is_seen(engine: Offline) -> None:
    others = ("CREATE TYPE t AS INT;", "SET 'auto.offset.reset' = 'latest';")
    context, prepared = engine.context(), []

    def prepare() -> int:
        if len(prepared) < len(others):
            engine.run(others[len(prepared)])
        prepared.append(len(engine.state.log.entries))
        return prepared[-1]

    assert context.carry_out(prepare, lambda found: found) == len(engine.state.log.entries)
    assert len(prepared) == 3


ADDED = "INSERT INTO b WITH (QUERY_ID = 'two') SELECT k, x FROM a EMIT CHANGES;"


@pytest.mark.parametrize(
    ("other", "reads"), [("SET 'auto.offset.reset' = 'latest';", 1), ("CREATE TYPE t AS INT;", 2)]
)
def test_an_apply_sees_what_others_change_meanwhile(
    engine: Offline, other: str, reads: int
) -> None:
    read: list[str] = []

    def text() -> str:
        if not read:
            engine.run(other)
        read.append(ADDED)
        return ADDED

    apply_text(engine, text, Session())
    last = engine.state.log.entries[-1]
    assert len(read) == reads and last.parts
    assert [e.sequence for e in engine.state.log.entries] == list(range(1, last.sequence + 1))
    assert {part.sequence for part in last.parts} == {last.sequence}
    assert engine.state.queries.known()["TWO"].definition.generation == last.sequence
