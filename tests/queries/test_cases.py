"""The end-to-end cases of tests/cases/queries, on real Kafka and Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from queries.compare import problems
from queries.runner import Mode
from queries.runs import Runs

from streamsql.test_driver.fixture import Fixture

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

CASES = Path(__file__).parent.parent / "cases" / "queries"


def cases() -> Iterator[Any]:
    """Each case in each of its modes; without `modes` it runs once."""
    for path in sorted(CASES.glob("*.json")):
        for case in json.loads(path.read_text("utf-8"), parse_float=Decimal)["tests"]:
            for mode in map(Mode, case.get("modes", ["once"])):
                suffix = "" if mode is Mode.ONCE else f" ({mode.value})"
                yield pytest.param(case, mode, id=f"{path.stem}/{case['name']}{suffix}")


@pytest.mark.parametrize(("case", "mode"), list(cases()))
def test_case(
    case: dict[str, Any],
    mode: Mode,
    fixture: Fixture,
    runs: Runs,
    request: pytest.FixtureRequest,
) -> None:
    found = problems(case, runs.outcome(request.node.nodeid, fixture))
    assert not found, "\n" + "\n".join(found)
