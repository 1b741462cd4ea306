"""One engine on a real broker and a real Spark for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from engine.live import Live

from streamsql.engine import Engine, EngineConfig
from streamsql.executor.broker import EmbeddedBroker


@pytest.fixture(scope="package")
def engine(tmp_path_factory: pytest.TempPathFactory, broker: EmbeddedBroker) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("engine")
    config = EngineConfig(data_dir=folder, bootstrap_servers=broker.bootstrap)
    with Engine(config) as engine:
        engine.wait_until_ready(240)
        yield engine


@pytest.fixture
def live(engine: Engine, request: pytest.FixtureRequest) -> Iterator[Live]:
    """The engine with the streams of one test, all dropped at its end."""
    live = Live(engine)
    yield live
    live.drop_all()
