"""One Spark and one broker for the views of this folder."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamsql.kafka.client import KafkaClient
from streamsql.test_driver.fixture import Fixture, memory_folder, runtime_for_tests


@pytest.fixture(scope="package")
def fixture(kafka: KafkaClient) -> Iterator[Fixture]:
    # On disk, the stores of a small batch take as long as the rest of it.
    with tempfile.TemporaryDirectory(
        prefix="views-", dir=memory_folder(), ignore_cleanup_errors=True
    ) as folder:
        runtime = runtime_for_tests(Path(folder, "spark"))
        try:
            yield Fixture(
                runtime.start(),
                kafka,
                Path(folder, "views"),
                "views-",
                "views-log",
                shuffle_partitions=2,
            )
        finally:
            runtime.stop()
