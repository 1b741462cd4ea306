"""Pull queries answered by Spark's batch engine: what they give, and that it is what a stored query
over the same records comes to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from queries.answers import AnsweredRun

from streamsql.testing.bed import Bed

CASES = Path(__file__).parent.parent / "cases"
pytestmark = [pytest.mark.spark, pytest.mark.kafka]

COMPARED = (("tables", "a copied table"),)


def _cases(path: Path) -> dict[str, Any]:
    return {case["name"]: case for case in json.loads(path.read_text("utf-8"))["tests"]}


@pytest.mark.parametrize("name", list(_cases(CASES / "pull" / "answers.json")))
def test_answers(name: str, bed: Bed) -> None:
    case = _cases(CASES / "pull" / "answers.json")[name]
    answers = case.pop("answers")
    run = AnsweredRun(case, bed)
    try:
        run.plan()
        run.process()
        for expected in answers:
            answer = run.answer(expected["query"])
            assert str(answer.schema) == expected["schema"], expected["query"]
            assert answer.rows == expected["rows"], expected["query"]
    finally:
        run.close()


@pytest.mark.parametrize(("file", "name"), COMPARED)
def test_the_same_as_stored(file: str, name: str, bed: Bed) -> None:
    run = AnsweredRun(_cases(CASES / "queries" / f"{file}.json")[name], bed)
    try:
        compared = run.compare()
    finally:
        run.close()
    assert compared and all(found.stored for found in compared)
    for found in compared:
        assert found.answered == found.stored, found.sink
