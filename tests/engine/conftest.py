"""One engine on a real broker and a real Spark for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from engine.live import Live, Restartable

from streamsql.engine import Engine, EngineConfig
from streamsql.kafka.broker import EmbeddedBroker
from streamsql.properties import SCHEMA_REGISTRY_URL
from streamsql.registry.client import RegistryClient
from streamsql.registry.embedded.app import app
from streamsql.registry.embedded.server import HttpServer
from streamsql.registry.embedded.store import Store


@pytest.fixture(scope="package")
def restartable(
    tmp_path_factory: pytest.TempPathFactory, broker: EmbeddedBroker
) -> Iterator[Restartable]:
    """The engine; of a package only, since a process has one Spark at a time."""
    folder = tmp_path_factory.mktemp("engine")
    config = EngineConfig(data_dir=folder, bootstrap_servers=broker.bootstrap)
    restartable = Restartable(config)
    try:
        restartable.start()
        yield restartable
    finally:
        restartable.engine.close()


@pytest.fixture
def engine(restartable: Restartable) -> Engine:
    return restartable.engine


@pytest.fixture
def live(restartable: Restartable) -> Iterator[Live]:
    """The engine with the streams of one test, all dropped at its end."""
    live = Live(restartable)
    yield live
    live.drop_all()


@pytest.fixture
def registry(live: Live) -> Iterator[RegistryClient]:
    """A registry that the engine's own session is configured to use."""
    server = HttpServer(app(Store()))
    url = server.start()
    list(live.engine.execute(f"SET '{SCHEMA_REGISTRY_URL}' = '{url}';"))
    live.session.properties[SCHEMA_REGISTRY_URL] = url
    yield RegistryClient.at(url)
    live.drop_all()
    list(live.engine.execute(f"UNSET '{SCHEMA_REGISTRY_URL}';"))
    server.stop()
