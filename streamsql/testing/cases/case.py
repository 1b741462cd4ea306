"""A test as data: inputs, expectations and result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from streamsql.errors import ConfigError
from streamsql.test_driver.json_values import JSON, JSONObject
from streamsql.test_driver.pipeline import Pipeline


@dataclass(frozen=True)
class Case:
    """One test. Records, topics and sources are JSON objects in the form of the test files."""

    id: str
    file: str
    name: str
    statements: tuple[str, ...]
    format: str | None = None
    inputs: Sequence[JSONObject] = ()
    outputs: Sequence[JSONObject] = ()
    topics: Sequence[JSONObject] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    expected_messages: tuple[str, ...] | None = None
    """The statements must be rejected, with messages that contain these; None: must not."""
    expected_sources: Sequence[JSONObject] = ()
    asserts: bool = False
    """The statements say themselves what must come out: ASSERT VALUES and others among them."""
    needs: tuple[str, ...] = ()
    """Unavailable requirements of the test: it is skipped."""

    @property
    def output_topics(self) -> tuple[str, ...]:
        """The topics that are compared, in order of appearance."""
        return tuple(dict.fromkeys(str(r["topic"]) for r in self.outputs))

    @property
    def pipeline(self) -> Pipeline:
        """The inputs for the driver, without expectations."""
        return Pipeline(
            self.statements,
            inputs=self.inputs,
            outputs=self.output_topics,
            topics=self.topics,
            properties=self.properties,
        )


class Status(Enum):
    """How a test ended: FAILED is the pipeline's fault, ERROR the runner's or Kafka's."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Result:
    """Outcome of a test with the records found."""

    case: Case
    status: Status
    reason: str | None = None
    """One line, for all but those that passed."""
    seconds: float = 0.0
    actual: Sequence[JSONObject] = ()
    """Every record of the output topics, in the form of the test files."""
    error: str | None = None
    """Why a statement was rejected, or what a query died of."""
    message_matches: bool | None = None
    sources: Sequence[JSONObject] | None = None
    """The streams and tables, if the test has expectations about them."""
    differences: Sequence[str] = ()
    """A line for each thing that is not as expected."""


def case_from_json(given: JSONObject, file: str, script: str | None = None) -> Case:
    """A test of a file; `script` replaces its statements. ConfigError if malformed."""
    try:
        name = str(given["name"])
        expected = given.get("expectedException")
        return Case(
            id=str(given.get("id", f"{file}/{name}")),
            file=str(given.get("file", file)),
            name=name,
            statements=(script,) if script is not None else tuple(map(str, given["statements"])),
            format=given.get("format"),
            inputs=_records(given, "inputs"),
            outputs=_records(given, "outputs"),
            topics=tuple(given.get("topics", ())),
            properties={str(k): _text(v) for k, v in given.get("properties", {}).items()},
            expected_messages=None if expected is None else _messages(expected),
            expected_sources=tuple(given.get("post", {}).get("sources", ())),
            needs=_needs(given),
        )
    except KeyError as error:
        raise ConfigError(f"a test of {file} lacks {error.args[0]!r}") from error
    except (AttributeError, TypeError) as error:
        raise ConfigError(f"a test of {file} is malformed", detail=str(error)) from error


def _records(given: JSONObject, name: str) -> tuple[JSONObject, ...]:
    records = tuple(given.get(name, ()))
    for record in records:
        record["topic"]
    return records


def _messages(expected: JSONObject) -> tuple[str, ...]:
    message = expected.get("message", ())
    return (message,) if isinstance(message, str) else tuple(message)


def _needs(given: JSONObject) -> tuple[str, ...]:
    needs = tuple(str(need) for need in given.get("needs", ()))
    if given.get("enabled", True) is False and not needs:
        return ("to be enabled",)
    return needs


def _text(value: JSON) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
