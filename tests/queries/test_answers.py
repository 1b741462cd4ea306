"""Pull queries answered by Spark's batch engine: what they give, and that it is what a stored query
over the same records comes to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from queries.answers import AnsweredRun

from streamsql.test_driver.fixture import Fixture

CASES = Path(__file__).parent.parent / "cases"
pytestmark = [pytest.mark.spark, pytest.mark.kafka]

COMPARED = (
    ("habits", "aggregates that PostgreSQL has, of a stream"),
    ("habits", "the same of a table, whose rows change, move and go"),
    ("habits", "QUALIFY is a Top-N, with its rank in the key"),
    ("habits", "differences of timestamps, compared with an INTERVAL and taken apart"),
    ("habits_in_all", "aggregates, stored"),
    ("habits_in_all", "casts and conditions, stored"),
    ("habits_in_all", "dates and times, stored"),
    ("habits_in_all", "words of the grammar as names, stored"),
    ("habits_in_all", "GROUP BY an hour, stored"),
    ("join_conditions", "of two streams, full: rows of both sides that meet none"),
    ("join_conditions", "of tables, inner, left and right: a row that stops to meet the condition"),
    ("join_conditions", "of tables by a foreign key, left and inner"),
    ("join_foreign_key", "LEFT keeps rows whose foreign key has no row, or that have none"),
    ("join_stream_stream", "with GRACE PERIOD it is out when its window has closed"),
    ("join_stream_table", "a stream row meets the table's row as of its time"),
    ("retraction", "HAVING over a stream deletes a group that fails again, and only that"),
    ("semi_joins", "IN over tables, by primary and by foreign key"),
    ("sessions", "a session grows and takes back what it was"),
    ("subqueries", "groups over UNION ALL"),
    ("table_groups", "lists, histograms and the only value of a table"),
    ("top", "a table whose rows change, move and go"),
    ("windows", "of a hopping window's records those in windows still open count"),
    ("windows", "of a cumulating window's records those in windows still open count"),
)


def _cases(path: Path) -> dict[str, Any]:
    return {case["name"]: case for case in json.loads(path.read_text("utf-8"))["tests"]}


@pytest.mark.parametrize("name", list(_cases(CASES / "pull" / "answers.json")))
def test_answers(name: str, fixture: Fixture) -> None:
    case = _cases(CASES / "pull" / "answers.json")[name]
    answers = case.pop("answers")
    run = AnsweredRun(case, fixture)
    try:
        run.fill()
        for expected in answers:
            answer = run.answer(expected["query"])
            assert str(answer.schema) == expected["schema"], expected["query"]
            assert answer.rows == expected["rows"], expected["query"]
    finally:
        run.close()


@pytest.mark.variants(every=3)
@pytest.mark.parametrize(("file", "name"), COMPARED)
def test_the_same_as_stored(file: str, name: str, fixture: Fixture) -> None:
    run = AnsweredRun(_cases(CASES / "queries" / f"{file}.json")[name], fixture)
    try:
        compared = run.compare()
    finally:
        run.close()
    assert compared and all(found.stored for found in compared)
    for found in compared:
        assert found.answered == found.stored, found.sink
