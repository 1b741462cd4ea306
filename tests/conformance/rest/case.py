"""A test of the HTTP interface as data: statements, records, and the answers that must come."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from streamsql.nodes import CreateSource
from streamsql.parser import parse_each
from streamsql.test_driver.json_values import JSONObject

SUITE = Path(__file__).parents[4] / "shared" / "conformance" / "rest"
"""Tests that are no part of this project: they are run from where they are, if they are."""
TOPIC = "test_topic"
"""It is called otherwise in every run."""
PARTITIONS = 4
_runs = itertools.count(1)


@dataclass(frozen=True)
class ExpectedError:
    """How the last statement fails; None and empty for unspecified parts."""

    status: int | None
    message: str
    about_statement: bool
    """Whether the error must name the statement."""


@dataclass(frozen=True)
class RestCase:
    """One test."""

    id: str
    statements: Sequence[str]
    topics: Sequence[JSONObject] = ()
    inputs: Sequence[JSONObject] = ()
    outputs: Sequence[JSONObject] = ()
    responses: Sequence[JSONObject] = ()
    properties: Mapping[str, Any] = field(default_factory=dict)
    error: ExpectedError | None = None
    waits_for_push: bool = False
    """Inputs are written once the push query has begun to answer."""
    in_order: bool = False

    @property
    def commands(self) -> list[str]:
        """The statements for /ksql."""
        return [s for s in self.statements if not s.startswith("SELECT ")]

    @property
    def queries(self) -> list[str]:
        return [s for s in self.statements if s.startswith("SELECT ")]

    def topics_before(self) -> dict[str, int]:
        """Partitions of the topics that exist before the statements are run."""
        found = {str(r["topic"]): PARTITIONS for r in self.inputs}
        for text in self.commands:
            found |= _named(text)
        declared = {str(t["name"]): int(t.get("partitions", PARTITIONS)) for t in self.topics}
        return found | declared


def _named(text: str) -> dict[str, int]:
    """The topics that a text says to be there, with partitions; of a wrong text, none."""
    found = {}
    for statement in parse_each(text):
        if isinstance(statement, CreateSource):
            given = {p.name: p.value for p in statement.properties}
            if "KAFKA_TOPIC" in given:
                found[str(given["KAFKA_TOPIC"])] = int(given.get("PARTITIONS", PARTITIONS))
    return found


def load(substring: str = "", suite: Path = SUITE) -> list[RestCase]:
    """The tests whose id contains `substring`."""
    tests = [
        test
        for path in sorted(suite.glob("*.json"))
        for test in json.loads(path.read_text("utf-8"), parse_float=Decimal)["tests"]
    ]
    return [_case(test) for test in tests if substring in test["id"]]


def _case(given: JSONObject) -> RestCase:
    text = json.dumps(given, default=_number)
    renamed = json.loads(text.replace(TOPIC, f"{TOPIC}_{next(_runs)}_"), parse_float=Decimal)
    error = renamed.get("expectedError")
    return RestCase(
        id=str(given["id"]),
        statements=renamed["statements"],
        topics=renamed.get("topics", ()),
        inputs=renamed.get("inputs", ()),
        outputs=renamed.get("outputs", ()),
        responses=renamed.get("responses", ()),
        properties=renamed.get("properties", {}),
        error=None if error is None else _error(error),
        waits_for_push=bool(renamed.get("inputConditions", {}).get("waitForActivePushQuery")),
        in_order=bool(renamed.get("outputConditions", {}).get("verifyOrder")),
    )


def _number(value: object) -> object:
    assert isinstance(value, Decimal)
    return float(value)


def _error(given: JSONObject) -> ExpectedError:
    type = str(given.get("type", ""))
    return ExpectedError(
        given.get("status"), str(given.get("message", "")), type.endswith("StatementErrorMessage")
    )
