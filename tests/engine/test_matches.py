"""MATCH_RECOGNIZE over random patterns and rows: what Spark gives is what backtracking finds."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from engine.live import Live
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from match_reference import Condition, Matching, Partial
from pattern_strategies import repeated

from streamsql import nodes as n
from streamsql.kafka.client import KafkaClient, NewRecord
from streamsql.parser.generate.patterns import pattern as pattern_sql
from streamsql.results import Answer

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

KEYS, ROWS = 40, 10
_Rows = Mapping[int, list[dict[str, Any]]]
TIME = 1_700_000_000_000


def _less(match: Partial) -> bool:
    return bool(match.last(None, "v") < 5)


def _rises(match: Partial) -> bool:
    before = match.previous("v")
    return before is not None and bool(match.last(None, "v") > before)


def _above_first(match: Partial) -> bool:
    return bool(match.last(None, "v") > match.first(None, "v"))


def _few(match: Partial) -> bool:
    return len(match.labels) < 4


def _sum_of_b(match: Partial) -> bool:
    return sum(row["v"] for row in match.of("B")) < 12


def _not_that_of_a(match: Partial) -> bool:
    first, last = match.first("A", "v"), match.last("A", "v", 1)
    return last is None or bool(match.last(None, "v") != first)


CONDITIONS: Mapping[str, Condition] = {
    "v < 5": _less,
    "v > PREV(v)": _rises,
    "v > FIRST(v)": _above_first,
    "COUNT(*) < 4": _few,
    "SUM(B.v) < 12": _sum_of_b,
    "LAST(A.v, 1) IS NULL OR v <> FIRST(A.v)": _not_that_of_a,
}


def _whole(part: n.Pattern) -> n.Pattern:
    """With A and B in it, and rows of variables that are there once."""
    named = n.PatternRepeat(
        n.PatternSequence((n.PatternVariable("A"), n.PatternVariable("B"))), 0, 1
    )
    return n.PatternSequence((n.PatternVariable("S"), part, n.PatternVariable("E"), named))


patterns = st.recursive(st.sampled_from("ABC").map(n.PatternVariable), repeated, max_leaves=4).map(
    _whole
)
afters = st.sampled_from(
    [
        n.AfterMatch(),
        n.AfterMatch(n.SkipTo.NEXT_ROW),
        n.AfterMatch(n.SkipTo.FIRST, "E"),
        n.AfterMatch(n.SkipTo.LAST, "E"),
    ]
)
defined = st.dictionaries(st.sampled_from("ABE"), st.sampled_from(list(CONDITIONS)), min_size=1)


def _rows() -> dict[int, list[dict[str, Any]]]:
    chosen = random.Random(7)
    return {
        key: [
            {"k": key, "n": i, "v": chosen.randrange(9), "time": TIME + 1000 * i}
            for i in range(ROWS)
        ]
        for key in range(KEYS)
    }


@pytest.fixture
def rows(live: Live, kafka: KafkaClient) -> dict[int, list[dict[str, Any]]]:
    """What is in a stream called `$s`, by keys."""
    topic = live.name("S")
    kafka.create_topic(topic, 2)
    made = _rows()
    records = [
        NewRecord(
            None,
            json.dumps({"K": row["k"], "N": row["n"], "V": row["v"]}).encode(),
            timestamp=row["time"],
            partition=key % 2,
        )
        for key, own in made.items()
        for row in own
    ]
    kafka.produce(topic, records)
    live.run(
        f"CREATE STREAM $s (k INT, n INT, v INT) WITH (KAFKA_TOPIC='{topic}', VALUE_FORMAT='JSON');"
    )
    return made


def _expected(
    rows: Mapping[int, list[dict[str, Any]]], matching: Mapping[str, Any]
) -> Iterator[Any]:
    for key, own in rows.items():
        for match in Matching(own, **matching).matches():
            labels = ([row["n"] for row in match.of(variable)] for variable in "ABE")
            yield repr((key, match.first(None, "n"), match.last(None, "n"), *labels))


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(patterns, defined, afters, st.sampled_from([None, 2_000, 4_000]))
def test_matches_are_those_of_backtracking(
    live: Live,
    rows: _Rows,
    pattern: n.Pattern,
    conditions: dict[str, str],
    after: n.AfterMatch,
    within: int | None,
) -> None:
    lists = ", ".join(f"COLLECT_LIST({name}.n) AS {name}" for name in "ABE")
    define = ", ".join(f"{name} AS {text}" for name, text in conditions.items())
    skip = f"{after.to.value} {after.variable or ''}"
    bound = "" if within is None else f"WITHIN {within} MILLISECONDS"
    sql = (
        "SELECT k, f, l, a, b, e FROM $s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ROWTIME "
        f"MEASURES FIRST(n) AS f, LAST(n) AS l, {lists} AFTER MATCH SKIP {skip} "
        f"PATTERN ({pattern_sql(pattern)}) {bound} DEFINE {define});"
    )
    (answer,) = live.run(sql)
    assert isinstance(answer, Answer)
    met = {name: CONDITIONS[text] for name, text in conditions.items()}
    matching = {"pattern": pattern, "conditions": met, "after": after, "within": within}
    found = Counter(repr(tuple(row.values)) for row in answer.rows)
    assert found == Counter(_expected(rows, matching)), sql
