"""One engine on a real broker and a real Spark for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from engine.live import Live, Restartable

from streamsql.engine import Engine, EngineConfig
from streamsql.kafka.broker import EmbeddedBroker


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
