"""One engine for all examples: each reads topics of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from streamsql.engine import Engine, EngineConfig
from streamsql.kafka.broker import EmbeddedBroker
from streamsql.results import Message

READY_SECONDS = 300.0


@pytest.fixture(scope="package")
def engine(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    config = EngineConfig(
        data_dir=tmp_path_factory.mktemp("examples"), bootstrap_servers=broker.bootstrap
    )
    with Engine(config) as engine:
        engine.wait_until_ready(READY_SECONDS)
        yield engine


@pytest.fixture(scope="package")
def run(engine: Engine) -> object:
    def run(sql: str) -> None:
        for result in engine.execute(sql):
            assert isinstance(result, Message), result

    return run
