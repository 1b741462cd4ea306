"""Fixtures that all tests share: one real broker for the whole run, and a client to it."""

from __future__ import annotations

import gc
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from datadriven import pytest_addoption, rewrite
from hypothesis import HealthCheck, settings

from streamsql.data_folder import DataDir
from streamsql.kafka.broker import EmbeddedBroker
from streamsql.kafka.client import KafkaClient

__all__ = ["pytest_addoption", "rewrite"]

# Thousands of collected tests stay to the end, and each pass over all objects would look at them:
# a tenth of the time of a run. None happens while they are collected, and none looks at them later.
gc.disable()
gc.set_threshold(10_000, 20, 20)


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


# How long an example takes depends on what else the machine does. `make soak` takes the second.
_PATIENT = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "everyday", deadline=None, max_examples=40, suppress_health_check=_PATIENT
)
settings.register_profile("thorough", settings.get_profile("everyday"), max_examples=2000)
settings.load_profile("everyday")


class Folder(pytest.Package):
    """A folder of tests: what its fixtures of scope "package" have opened ends with its tests.

    To pytest that is so of folders with an __init__.py only; of others it would be the session.
    """

    def setup(self) -> None:
        """Nothing: there is no module to import."""


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector:
    return Folder.from_parent(parent, path=path)


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    """The embedded broker, shared: use topics of your own (see `topic_name`)."""
    broker = EmbeddedBroker(DataDir.at(tmp_path_factory.mktemp("broker")))
    try:
        broker.start(120)
        yield broker
    finally:
        # Nobody needs its data any more, and thousands of topics take long to be closed.
        broker.stop(timeout=0)


@pytest.fixture(scope="session")
def kafka(broker: EmbeddedBroker) -> Iterator[KafkaClient]:
    client = KafkaClient(broker.bootstrap)
    yield client
    client.close()


@pytest.fixture
def topic_name() -> str:
    """A name that no other test uses."""
    return f"test-{uuid.uuid4().hex[:12]}"
