"""VERIFY over every query of the cases: no row is another than a batch over the log makes.

Exceptions are data, tests/cases/verify/exceptions.json: queries that VERIFY refuses, with its
reason, and those whose rows are not those of a batch, with how they compare and why.
"""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from queries.test_cases import CASES
from queries.verified import VerifiedRun

from streamsql.test_driver.fixture import Fixture

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

EXCEPTIONS: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "cases" / "verify" / "exceptions.json").read_text("utf-8")
)


def all_cases() -> dict[str, dict[str, Any]]:
    """By file and name."""
    return {
        f"{path.stem}/{case['name']}": case
        for path in sorted(CASES.glob("*.json"))
        for case in json.loads(path.read_text("utf-8"), parse_float=Decimal)["tests"]
    }


def test_exceptions_are_of_cases() -> None:
    assert {name for kind in EXCEPTIONS.values() for name in kind} <= all_cases().keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", list(all_cases()))
def test_a_batch_makes_the_same(name: str, fixture: Fixture) -> None:
    run = VerifiedRun(all_cases()[name], fixture)
    try:
        found = run.verified()
    finally:
        run.close()
    refused = {each.query_id: each.obstacle for each in found if each.obstacle is not None}
    assert refused == EXCEPTIONS["refused"].get(name, {})
    different = [each for each in found if each.obstacle is None and not each.is_same]
    explained = EXCEPTIONS["differences"].get(name, {})
    assert {each.query_id: each.counts for each in different} == {
        query_id: of["counts"] for query_id, of in explained.items()
    }, different
