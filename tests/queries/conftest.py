"""One Spark and one broker for all cases, which run a few at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from queries.runs import Runs

from streamsql.kafka.client import KafkaClient
from streamsql.test_driver.fixture import Fixture, runtime_for_tests

AT_A_TIME = int(os.environ.get("STREAMSQL_TEST_JOBS", "6"))


@pytest.fixture(scope="package")
def fixture(tmp_path_factory: pytest.TempPathFactory, kafka: KafkaClient) -> Iterator[Fixture]:
    runtime = runtime_for_tests(tmp_path_factory.mktemp("spark"))
    try:
        session = runtime.start()
        if os.environ.get("STREAMSQL_TEST_NEW_JVM"):  # `make soak`: compiled, as in an engine.
            session.conf.set("spark.sql.codegen.factoryMode", "FALLBACK")
        yield Fixture(session, kafka, tmp_path_factory.mktemp("cases"), "queries-")
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
