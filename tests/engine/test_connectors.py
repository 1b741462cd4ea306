"""Connectors, against a server of our own that speaks Connect's API: see connect_api.

Kafka Connect itself is not among the jars that streamsql fetches.
"""

from __future__ import annotations

import io
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from datadriven import CASES, Case, check, read
from engine.connect_api import ConnectCluster
from engine.offline import Offline

from streamsql.cli.terminal.render import Renderer
from streamsql.cli.terminal.style import Style
from streamsql.errors import ExternalError, StreamSQLError
from streamsql.registry.embedded.server import HttpServer

URL = "ksql.connect.url"


@pytest.fixture(scope="module")
def cluster() -> Iterator[tuple[ConnectCluster, str]]:
    cluster = ConnectCluster()
    server = HttpServer(cluster.app)
    yield cluster, server.start()
    server.stop()


@pytest.fixture(scope="module")
def engine(
    cluster: tuple[ConnectCluster, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Offline]:
    with Offline(tmp_path_factory.mktemp("connectors")) as engine:
        yield engine


def test_transcript(engine: Offline, cluster: tuple[ConnectCluster, str], rewrite: bool) -> None:
    """In one test: each case builds on the previous one."""

    def run(case: Case) -> str:
        screen = io.StringIO()
        renderer = Renderer(out=screen, err=screen, style=Style(), width=100)
        try:
            for result in engine.results(case.input):
                renderer.show(result)
        except StreamSQLError as error:
            renderer.error(error, case.input)
        return screen.getvalue().replace(cluster[1], "<url>")

    for case in read(CASES / "shell" / "connectors.txt"):
        engine.state.session.properties[URL] = cluster[1]
        check(case, {"run": run}, rewrite)


@pytest.fixture
def own(tmp_path: Path) -> Iterator[tuple[ConnectCluster, Offline]]:
    """A cluster with a password and an engine that knows both."""
    cluster = ConnectCluster("ann:secret")
    server = HttpServer(cluster.app)
    with Offline(tmp_path) as engine:
        engine.run(f"SET '{URL}' = '{server.start()}';")
        yield cluster, engine
    server.stop()


CREATE = "CREATE SOURCE CONNECTOR c WITH ('connector.class' = 'FileStreamSource', 'topic' = 't');"
LOGIN = "SET 'ksql.connect.basic.auth.user.info' = 'ann:secret';"


def test_a_password_is_asked_for(own: tuple[ConnectCluster, Offline]) -> None:
    cluster, engine = own
    with pytest.raises(ExternalError, match="Kafka Connect answered 401") as raised:
        engine.run(CREATE)
    assert raised.value.detail == "Unauthorized"
    assert raised.value.hint and "ksql.connect.basic.auth.user.info" in raised.value.hint
    engine.run(LOGIN + CREATE)
    assert cluster.configs == {
        "C": {"connector.class": "FileStreamSource", "topic": "t", "name": "C"}
    }


def test_what_a_connector_feeds_and_why_it_failed(own: tuple[ConnectCluster, Offline]) -> None:
    cluster, engine = own
    engine.run(LOGIN + CREATE)
    cluster.topics["C"] = ["streamsql_processing_log", "t"]
    cluster.failures["C"] = "java.io.IOException: disk full\n\tat Writer.write"
    lines = engine.texts("DESCRIBE CONNECTOR c;")
    at = lines.index("0 | FAILED")
    assert lines[at + 1 : at + 3] == [
        "Task 0 failed: java.io.IOException: disk full",
        "\tat Writer.write",
    ]
    assert "KSQL_PROCESSING_LOG | streamsql_processing_log | STREAM" in lines
    assert lines[-2:] == ["streamsql_processing_log", "t"]
    (row,) = engine.texts("SHOW CONNECTORS;")
    assert row.endswith("| RUNNING (0/1 tasks RUNNING)")


def test_connect_says_what_is_wrong(own: tuple[ConnectCluster, Offline]) -> None:
    cluster, engine = own
    cluster.rebalancing = True
    with pytest.raises(ExternalError) as raised:
        engine.run(LOGIN + CREATE)
    assert raised.value.message == "cannot create the connector C: Kafka Connect answered 409"
    assert raised.value.detail == "Cannot complete request because of a conflicting operation"
    assert raised.value.retryable


def test_a_cluster_that_does_not_answer(tmp_path: Path) -> None:
    with socket.socket() as free, Offline(tmp_path) as engine:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        engine.run(f"SET '{URL}' = '{url}';")
        with pytest.raises(ExternalError) as raised:
            engine.run("SHOW CONNECTORS;")
    assert raised.value.message == f"no answer from Kafka Connect at {url}"
    assert raised.value.retryable
