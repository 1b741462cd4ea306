"""One Spark and one broker for all cases, which run a few at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from queries.runner import Environment
from queries.runs import Runs

from streamsql.executor.broker import EmbeddedBroker
from streamsql.executor.kafka import KafkaClient
from streamsql.executor.spark.session import SparkRuntime

AT_A_TIME = int(os.environ.get("STREAMSQL_TEST_JOBS", "4"))

SETTINGS = {
    # Many small queries: what pays for a long one is a loss here.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.streaming.minBatchesToRetain": "2",
}


@pytest.fixture(scope="package")
def environment(
    tmp_path_factory: pytest.TempPathFactory, broker: EmbeddedBroker, kafka: KafkaClient
) -> Iterator[Environment]:
    runtime = SparkRuntime(
        tmp_path_factory.mktemp("spark"), master="local[8]", heap="1g", settings=SETTINGS
    )
    try:
        folder = tmp_path_factory.mktemp("cases")
        yield Environment(runtime.start(), kafka, broker.bootstrap, folder)
    finally:
        runtime.stop()


@pytest.fixture(scope="package")
def runs(request: pytest.FixtureRequest) -> Iterator[Runs]:
    selected: dict[str, Any] = {
        item.nodeid: (item.callspec.params["case"], item.callspec.params["mode"])
        for item in request.session.items
        if isinstance(item, pytest.Function) and "runs" in item.fixturenames
    }
    runs = Runs(selected, AT_A_TIME)
    yield runs
    runs.close()
