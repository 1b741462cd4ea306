"""One engine on a real broker and a real Spark, and a server over it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from client.servers import WatchedEngine
    from server.live import LiveServer

    from streamsql.kafka.broker import EmbeddedBroker

READY_SECONDS = 300.0


@pytest.fixture(scope="package")
def server(
    broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveServer]:
    """The server, ready, with a stream and a table that tests only read."""
    from client.servers import running
    from server.live import MAX_PUSH_QUERIES, LiveServer

    from streamsql.engine import Engine, EngineConfig
    from streamsql.server.security.sessions import Sessions
    from streamsql.server.settings.config import ServerConfig

    data = tmp_path_factory.mktemp("server")
    with Engine(EngineConfig(data_dir=data, bootstrap_servers=broker.bootstrap)) as engine:
        engine.wait_until_ready(READY_SECONDS)
        scripts = tmp_path_factory.mktemp("scripts")
        config = ServerConfig(max_push_queries=MAX_PUSH_QUERIES, scripts=scripts)
        sessions = Sessions()
        with running(engine, config, sessions=sessions) as url:
            server = LiveServer(engine, url, sessions.token, scripts)
            try:
                server.prepare()
                yield server
            finally:
                server.client.close()


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[WatchedEngine]:
    """One without Kafka and Spark, for a server of its own."""
    from client.servers import WatchedEngine

    found = WatchedEngine(tmp_path / "data")
    yield found
    found.offline.close()
