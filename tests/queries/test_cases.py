"""The end-to-end cases of tests/cases/queries, on real Kafka and Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from queries.compare import differences
from queries.runner import Environment, Outcome
from queries.runs import Runs

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

CASES = Path(__file__).parent.parent / "cases" / "queries"


def _cases() -> Iterator[Any]:
    for path in sorted(CASES.glob("*.json")):
        for case in json.loads(path.read_text("utf-8"), parse_float=Decimal)["tests"]:
            name = f"{path.stem}/{case['name']}"
            yield pytest.param(case, False, id=name)
            if case.get("restart", True) and len(case.get("inputs", [])) > 1:
                yield pytest.param(case, True, id=f"{name} (restarted)")


@pytest.mark.parametrize(("case", "restart"), list(_cases()))
def test_case(
    case: dict[str, Any],
    restart: bool,
    environment: Environment,
    runs: Runs,
    request: pytest.FixtureRequest,
) -> None:
    outcome = runs.outcome(request.node.nodeid, environment)
    problems = [*_topic_problems(case, outcome), *_log_problems(case, outcome)]
    if "rows" in case:
        found = [
            [list(row.values), "tombstone"] if row.tombstone else list(row.values)
            for row in outcome.rows
        ]
        if found != case["rows"]:
            problems.append(f"rows: expected {case['rows']}, found {found}")
    assert not problems, "\n" + "\n".join(problems)


def _topic_problems(case: dict[str, Any], outcome: Outcome) -> list[str]:
    problems = []
    for topic, found in outcome.topics.items():
        kind = next(s.kind for s in outcome.catalog.sources.values() if s.topic.name == topic)
        expected = [r for r in case.get("outputs", []) if r["topic"] == topic]
        problems += [f"{topic}: {p}" for p in differences(expected, found, kind)]
    return problems


def _log_problems(case: dict[str, Any], outcome: Outcome) -> list[str]:
    """Entries in order of offset; without a `log` in the case there must be none."""
    expected = case.get("log", [])
    found = sorted(outcome.log, key=lambda e: (e["offset"] is None, e["offset"]))
    texts = [json.dumps(entry) for entry in found]
    if len(expected) != len(found):
        return [f"processing log: expected {len(expected)} entries, found {texts}"]
    problems = []
    for want, entry, text in zip(expected, found, texts, strict=True):
        if want["message"] not in text or want.get("offset", entry["offset"]) != entry["offset"]:
            problems.append(f"processing log: expected {want}, found {text}")
    return problems
