"""One engine, and a server over it, for all tests of this folder that need the real thing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from streamsql.engine import Engine
    from streamsql.kafka.broker import EmbeddedBroker

READY_SECONDS = 300.0


@pytest.fixture(scope="package")
def live(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A real engine."""
    from streamsql.engine import Engine, EngineConfig

    data = tmp_path_factory.mktemp("client")
    with Engine(EngineConfig(data_dir=data, bootstrap_servers=broker.bootstrap)) as engine:
        engine.wait_until_ready(READY_SECONDS)
        yield engine


@pytest.fixture(scope="package")
def server(live: Engine) -> Iterator[str]:
    """Its URL."""
    from client.servers import running

    with running(live) as url:
        yield url
