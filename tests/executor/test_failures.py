"""What the end of a run is taken for, as data: tests/cases/situations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from streamsql.errors import ExternalError
from streamsql.executor.queries.spark_run import Failure, classify, meaning
from streamsql.executor.spark.messages import CodedError, ErrorCode

FILE = Path(__file__).parents[1] / "cases/situations/failures.json"
CASES = json.loads(FILE.read_text("utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["says"][:40])
def test_what_an_error_means(case: dict[str, Any]) -> None:
    expected = Failure(case["says"], case["waits"], exhausting=case.get("exhausting", False))
    assert _classified(case) == expected


def _classified(case: dict[str, Any]) -> Failure:
    if "code" in case:
        return meaning(CodedError(ErrorCode(case["code"]), case["error"]))
    if "external" in case:
        return classify(ExternalError(case["external"], detail=case.get("detail")))
    error = RuntimeError(case["error"])
    if "cause" in case:
        error._cause = RuntimeError()  # type: ignore[attr-defined]
        error._cause._stackTrace = case["cause"]  # type: ignore[attr-defined]
    return classify(error)


def test_an_error_of_a_jvm_that_has_ended_is_classified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkSession, "_instantiatedSession", None)
    error = RuntimeError("Connection refused")
    error.java_exception = object()  # type: ignore[attr-defined]
    assert "Connection refused" in classify(error).text
