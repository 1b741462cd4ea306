"""One Spark for the tests of this folder, stopped when they are done: Python can have one only."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from streamsql.test_driver.fixture import runtime_for_tests


@pytest.fixture(scope="package")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    runtime = runtime_for_tests(tmp_path_factory.mktemp("spark"))
    try:
        yield runtime.start()
    finally:
        runtime.stop()
