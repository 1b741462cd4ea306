"""VERIFY over every query of the cases: no row is another than a batch over the log makes.

Exceptions are data, tests/cases/verify/exceptions.json: queries that VERIFY refuses, with its
reason, and those whose rows are not those of a batch, with how they compare and why.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from queries.conftest import AT_A_TIME
from queries.test_cases import CASES
from queries.verified import Verified, VerifiedRun

from streamsql.test_driver.fixture import Fixture

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

EXCEPTIONS: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "cases" / "verify" / "exceptions.json").read_text("utf-8")
)


@cache
def all_cases() -> dict[str, dict[str, Any]]:
    """By file and name."""
    return {
        f"{path.stem}/{case['name']}": case
        for path in sorted(CASES.glob("*.json"))
        for case in json.loads(path.read_text("utf-8"), parse_float=Decimal)["tests"]
    }


def test_exceptions_are_of_cases() -> None:
    assert {name for kind in EXCEPTIONS.values() for name in kind} <= all_cases().keys()


@pytest.fixture(scope="module")
def verified(
    request: pytest.FixtureRequest, fixture: Fixture
) -> Iterator[dict[str, Future[list[Verified]]]]:
    """All cases that were selected, a few at a time."""
    names = [
        item.callspec.params["name"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and "verified" in item.fixturenames
    ]
    pool = ThreadPoolExecutor(AT_A_TIME)
    yield {name: pool.submit(_verified, all_cases()[name], fixture) for name in names}
    pool.shutdown(cancel_futures=True)


def _verified(case: dict[str, Any], fixture: Fixture) -> list[Verified]:
    run = VerifiedRun(case, fixture)
    try:
        return run.verified()
    finally:
        run.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", list(all_cases()))
def test_a_batch_makes_the_same(name: str, verified: dict[str, Future[list[Verified]]]) -> None:
    found = verified[name].result()
    refused = {each.query_id: each.obstacle for each in found if each.obstacle is not None}
    assert refused == EXCEPTIONS["refused"].get(name, {})
    different = [each for each in found if each.obstacle is None and not each.is_same]
    explained = EXCEPTIONS["differences"].get(name, {})
    assert {each.query_id: each.counts for each in different} == {
        query_id: of["counts"] for query_id, of in explained.items()
    }, different
