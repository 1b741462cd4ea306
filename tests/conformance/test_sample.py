"""A fixed sample of the conformance suite: each test ends as known_failures.txt says."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pytest
from conformance.verdict import SUITE, Ended, problems, read_known

from streamsql.kafka.client import KafkaClient
from streamsql.test_driver.fixture import Fixture, runtime_for_tests
from streamsql.testing.cases.case import Case
from streamsql.testing.cases.load import load
from streamsql.testing.suite import run_cases

SAMPLE = 150

pytestmark = [
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.slow,
    pytest.mark.skipif(not SUITE.is_dir(), reason=f"there is no conformance suite in {SUITE}"),
]


@pytest.fixture
def fixture(tmp_path_factory: pytest.TempPathFactory, kafka: KafkaClient) -> Iterator[Fixture]:
    runtime = runtime_for_tests(tmp_path_factory.mktemp("spark"))
    kafka.create_topic("conformance-log")
    try:
        folder = tmp_path_factory.mktemp("cases")
        yield Fixture(runtime.start(), kafka, folder, "conformance-", "conformance-log")
    finally:
        runtime.stop()


def sample() -> list[Case]:
    """The same tests every time, from all over the suite: those with the lowest hashes."""
    cases = [case for case in load([SUITE]) if not case.needs]
    return sorted(cases, key=lambda case: hashlib.sha256(case.id.encode()).digest())[:SAMPLE]


def test_a_sample_ends_as_known(fixture: Fixture) -> None:
    results = [Ended(r.case.id, r.status.value, r.reason) for r in run_cases(sample(), fixture)]
    assert len(results) == SAMPLE
    found = problems(results, read_known())
    assert not found, "\n" + "\n".join(found)
