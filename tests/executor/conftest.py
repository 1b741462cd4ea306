"""One Spark for the tests of this folder, stopped when they are done: Python can have one only."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from streamsql.executor.spark.session import SparkRuntime


@pytest.fixture(scope="package")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    runtime = SparkRuntime(tmp_path_factory.mktemp("spark"), master="local[4]")
    try:
        yield runtime.start()
    finally:
        runtime.stop()
