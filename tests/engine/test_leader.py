"""Servers of one service without Spark: who leads, what the others know, and what is handed over.

soak/test_server_kill.py does it with whole servers and their queries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from awaiting import await_until
from engine.offline import texts

from streamsql.cli.main import main
from streamsql.config import COMMAND_TOPIC_PREFIX, EngineConfig
from streamsql.errors import ExternalError, InternalError
from streamsql.executor.services.background import Service
from streamsql.kafka.broker import EmbeddedBroker
from streamsql.kafka.client import KafkaClient, NewRecord
from streamsql.log.entries import Entry, FileLog, encode
from streamsql.log.failover import Failover
from streamsql.log.topic_log import CommandLog
from streamsql.parser import parse
from streamsql.runtime.restore import restore
from streamsql.runtime.state import Context, EngineState
from streamsql.session import Session
from streamsql.statements import execute
from streamsql.status import QueryState

pytestmark = pytest.mark.kafka

STREAM = "CREATE STREAM s (x INT) WITH (KAFKA_TOPIC='{0}', PARTITIONS=1, VALUE_FORMAT='JSON');"


class Server:
    """The state of an engine of the service, with Kafka and without Spark."""

    def __init__(self, config: EngineConfig) -> None:
        self.state = EngineState(config)
        self.state.data.create()
        self.state.services.jars.start()
        self.state.services.kafka.start()
        self.state.restored = Service("statements", lambda report: restore(self.state))
        self.state.restored.start()
        self.state.restored.get(60)

    @property
    def failover(self) -> Failover:
        assert self.state.failover is not None
        return self.state.failover

    @property
    def leads(self) -> bool:
        return self.failover.leads

    def run(self, sql: str) -> list[str]:
        found: list[str] = []
        for statement in parse(sql):
            found += texts(execute(statement, Context(self.state, Session(), lambda path: ())))
        return found

    def knows(self, name: str) -> bool:
        assert self.failover.sync(30)
        return name in self.state.catalog.sources

    def close(self) -> None:
        self.failover.close()
        self.state.queries.close()
        self.state.log.close()
        self.state.services.close()


Start = Callable[[str], Server]


@pytest.fixture
def config(tmp_path: Path, broker: EmbeddedBroker, topic_name: str) -> EngineConfig:
    return EngineConfig(
        data_dir=tmp_path, bootstrap_servers=broker.bootstrap, service_id=topic_name
    )


@pytest.fixture
def start(config: EngineConfig, tmp_path: Path) -> Iterator[Start]:
    """Starts a server by its name, which is also its URL's."""
    with ExitStack() as servers:

        def start_server(name: str) -> Server:
            server = Server(
                replace(config, data_dir=tmp_path / name, advertised_url=f"http://{name}:8088")
            )
            servers.callback(server.close)
            return server

        yield start_server


def test_one_leads_the_others_follow_and_take_over(start: Start, topic_name: str) -> None:
    first = start("first")
    first.run(STREAM.format(topic_name))
    first.run(f"CREATE STREAM t WITH (KAFKA_TOPIC='{topic_name}-t') AS SELECT x FROM s;")
    assert first.leads and first.failover.leader_url is None

    second = start("second")
    await_until(lambda: second.failover.leader_url is not None, "the second to know its leader")
    assert not second.leads and second.failover.leader_url == "http://first:8088"
    assert second.knows("T")
    assert [info.state for info in second.state.queries.infos()] == [QueryState.STANDBY]
    # Without Spark it is not one of those of whom Kafka chooses.
    assert second.failover._leadership.members() == 1
    with pytest.raises(ExternalError, match="only the leader accepts changes") as caught:
        second.run("DROP STREAM t;")
    assert caught.value.hint == "Send the statement to http://first:8088."

    first.run("PAUSE CSAS_T_0;")
    assert second.knows("T")
    assert [info.state for info in second.state.queries.infos()] == [QueryState.PAUSED]

    first.close()
    await_until(lambda: second.leads, "the second to lead")
    assert second.failover.leader_url is None
    assert second.run("TERMINATE CSAS_T_0;") == ["Query CSAS_T_0 terminated."]
    third = start("third")
    assert third.knows("T") and third.state.queries.infos() == []


def test_the_catalog_is_exported_while_servers_run(
    start: Start, config: EngineConfig, capsys: pytest.CaptureFixture[str]
) -> None:
    start("first").run("CREATE TYPE a AS STRUCT<x INT>; CREATE TYPE b AS INT; DROP TYPE b;")
    service = ["--bootstrap-servers", str(config.bootstrap_servers)]
    service += ["--service-id", str(config.service_id)]
    assert main(["catalog", "export", *service]) == 0
    assert capsys.readouterr().out.endswith("\n\nCREATE TYPE A AS STRUCT<X INTEGER>;\n")


def test_a_leader_that_was_thought_dead_sees_that_it_leads_no_more(
    start: Start, config: EngineConfig, kafka: KafkaClient
) -> None:
    server = start("first")
    server.run("CREATE TYPE a AS STRUCT<x INT>;")
    assert config.service_id is not None
    other = CommandLog(kafka, config.service_id)
    try:
        # As another server does that takes over while this one hears nothing of it.
        other.take_over()
        end = other.committed_end()
        await_until(lambda: other.poll(0.1) is None and other.position >= end, "its end")
        other.append(Entry(2, "CREATE TYPE b AS STRUCT<x INT>;"))
        with pytest.raises(ExternalError, match="is no longer the leader"):
            server.run("CREATE TYPE never AS STRUCT<x INT>;")
    finally:
        other.close()
    # The group still has it for the leader, so it leads again, but knows what was written.
    await_until(lambda: server.leads, "the server to lead again")
    assert server.run("CREATE TYPE c AS STRUCT<x INT>;")
    assert set(server.state.catalog.types) == {"A", "B", "C"}
    assert [entry.sequence for entry in server.state.log.entries] == [1, 2, 3]


def test_a_strangers_records_change_nothing(
    start: Start, kafka: KafkaClient, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = start("first"), start("second")
    await_until(lambda: first.leads, "the first to lead while the second joins")
    first.run("CREATE TYPE a AS STRUCT<x INT>;")
    await_until(lambda: second.failover.leader_url is not None, "the second to know its leader")
    code = "CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON AS 'x';"
    topic = COMMAND_TOPIC_PREFIX + str(first.state.config.service_id)
    kafka.produce(
        topic,
        [
            NewRecord(b"statement", encode(Entry(2, code, version="0.1.0"))),
            NewRecord(b"leader", b'{"url": "http://stranger:8088", "version": "0.1.0"}'),
            NewRecord(None, b"hello"),
        ],
    )
    for server in (first, second):
        assert server.failover.sync(30)
        assert not server.state.catalog.functions
        assert server.failover.failure is None
    assert first.leads and second.failover.leader_url == "http://first:8088"
    first.run("CREATE TYPE b AS STRUCT<x INT>;")
    third = start("third")
    assert third.failover.sync(30) and set(third.state.catalog.types) == {"A", "B"}
    assert sum("not written by a server" in message for message in caplog.messages) == 9


def test_a_server_that_cannot_follow_any_more_never_leads(start: Start) -> None:
    first = start("first")
    first.run("CREATE TYPE a AS STRUCT<x INT>;")
    second = start("second")
    # What only a later version understands.
    first.state.log.append(Entry(2, "CREATE SOMETHING NEW;"))
    await_until(lambda: second.failover.failure is not None, "the second to give up")
    assert isinstance(second.failover.failure, InternalError)
    with pytest.raises(InternalError, match="cannot replay entry 2"):
        second.run("DROP TYPE a;")


def test_the_first_server_of_a_data_folder_continues_with_what_the_shell_has_made(
    tmp_path: Path,
) -> None:
    log = FileLog(tmp_path / "statements.log")
    log.append(Entry(1, "CREATE TYPE a AS STRUCT<x INT>;"))
    log.append(Entry(2, "DEFINE v = 'w';"))
    log.close()
    alone = EngineConfig(data_dir=tmp_path)
    server = Server(replace(alone, service_id="first"))
    try:
        await_until(lambda: server.leads, "the server to lead")
        assert set(server.state.catalog.types) == {"A"}
        assert server.state.session.variables == {"V": "w"}
        server.run("CREATE TYPE b AS STRUCT<x INT>;")
        assert [entry.sequence for entry in server.state.log.entries] == [1, 2, 3]
    finally:
        server.close()
    # And so does the shell, which is given no service.
    assert EngineState(alone).config.service_id == "first"
