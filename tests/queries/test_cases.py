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
    """Each case in each of its modes; without `modes` it runs once.

    `make test` runs the last mode of each, which asks most of an engine; `make soak` all others.
    """
    for path in sorted(CASES.glob("*.json")):
        for case in json.loads(path.read_text("utf-8"), parse_float=Decimal)["tests"]:
            modes = [mode for mode in Mode if mode.value in case.get("modes", ["once"])]
            for mode in modes:
                suffix = "" if mode is Mode.ONCE else f" ({mode.value})"
                marks = () if mode is modes[-1] else pytest.mark.slow
                name = f"{path.stem}/{case['name']}{suffix}"
                yield pytest.param(case, mode, id=name, marks=marks)


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
