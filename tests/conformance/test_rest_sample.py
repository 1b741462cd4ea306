"""A fixed sample of the conformance tests of the HTTP interface: each test ends as
known_rest_failures.txt says."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamsql.kafka.broker import EmbeddedBroker
from tests.conformance.rest.case import SUITE, RestCase, load
from tests.conformance.rest.server import Server, open_server
from tests.conformance.rest.suite import KNOWN_FAILURES, run_cases
from tests.conformance.verdict import problems, read_known

SAMPLE = 12

pytestmark = [
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.slow,
    pytest.mark.skipif(not SUITE.is_dir(), reason=f"there is no conformance suite in {SUITE}"),
]


@pytest.fixture
def server(tmp_path: Path, broker: EmbeddedBroker) -> Iterator[Server]:
    with open_server(tmp_path, broker.bootstrap) as server:
        yield server


def sample() -> list[RestCase]:
    """The same tests every time, from all over the suite: those with the lowest hashes."""
    return sorted(load(), key=lambda case: hashlib.sha256(case.id.encode()).digest())[:SAMPLE]


def test_a_sample_ends_as_known(server: Server) -> None:
    results = [timed.ended for timed in run_cases(sample(), server)]
    assert len(results) == SAMPLE
    found = problems(results, read_known(KNOWN_FAILURES))
    assert not found, "\n" + "\n".join(found)
