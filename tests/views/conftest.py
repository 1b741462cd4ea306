"""One Spark and one broker for the views of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from streamsql.kafka.client import KafkaClient
from streamsql.test_driver.fixture import Fixture, runtime_for_tests


@pytest.fixture(scope="package")
def fixture(tmp_path_factory: pytest.TempPathFactory, kafka: KafkaClient) -> Iterator[Fixture]:
    runtime = runtime_for_tests(tmp_path_factory.mktemp("spark"))
    try:
        yield Fixture(
            runtime.start(),
            kafka,
            tmp_path_factory.mktemp("views"),
            "views-",
            "views-log",
            shuffle_partitions=2,
        )
    finally:
        runtime.stop()
