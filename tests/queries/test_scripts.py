"""Test scripts of SQL, run as `streamsql test` does: those that succeed, and the errors of others.

In wrong.sql each line `-- fails: text` is what must be said of the test that it stands in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from streamsql.test_driver.fixture import Fixture
from streamsql.testing.cases.case import Result, Status
from streamsql.testing.cases.load import load
from streamsql.testing.suite import run_cases

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

CASES = {case.id: case for case in load([Path(__file__).parent.parent / "cases" / "scripts"])}


@pytest.fixture(scope="module")
def results(fixture: Fixture) -> Iterator[dict[str, Result]]:
    """Of all scripts, which run side by side."""
    own = replace(fixture, prefix="scripts-", log_topic="scripts-processing-log")
    own.kafka.create_topics([own.log_topic])
    yield {result.case.id: result for result in run_cases(list(CASES.values()), own)}
    own.kafka.delete_topics([own.log_topic])


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("right/")])
def test_holds(name: str, results: dict[str, Result]) -> None:
    result = results[name]
    assert result.status is Status.PASSED, "\n".join(result.differences) or result.reason


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("wrong/")])
def test_fails(name: str, results: dict[str, Result]) -> None:
    result = results[name]
    assert result.status is Status.FAILED, result.reason
    expected = re.findall(r"-- fails: (.*)", CASES[name].statements[0])
    assert expected
    said = "\n".join(result.differences)
    assert not [text for text in expected if text not in said], said
