"""What the end of a run is taken for, as data: tests/cases/situations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from streamsql.errors import ExternalError
from streamsql.executor.queries.spark_run import Failure, classify

FILE = Path(__file__).parents[1] / "cases/situations/failures.json"
CASES = json.loads(FILE.read_text("utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["says"][:40])
def test_what_an_error_means(case: dict[str, Any]) -> None:
    error: Exception
    if "external" in case:
        error = ExternalError(case["external"], detail=case.get("detail"))
    else:
        error = RuntimeError(case["error"])
    if "cause" in case:
        error._cause = RuntimeError()  # type: ignore[attr-defined]
        error._cause._stackTrace = case["cause"]  # type: ignore[attr-defined]
    assert classify(error) == Failure(
        case["says"], case["waits"], exhausting=case.get("exhausting", False)
    )
