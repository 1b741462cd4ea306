"""Runs a test and judges it: passed, failed (the pipeline is wrong), or error (the runner's)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from streamsql.errors import ConfigError, ExternalError, InternalError, StreamSQLError, render, told
from streamsql.test_driver.asserting import AssertingRun, AssertionFailed
from streamsql.test_driver.driven_query import QueryDied
from streamsql.test_driver.fixture import Fixture
from streamsql.test_driver.json_values import JSONObject
from streamsql.test_driver.run import PipelineRun
from streamsql.testing.cases.case import Case, Result, Status
from streamsql.testing.comparison import Comparison, Sink, differences


def judge(case: Case, fixture: Fixture, comparison: Comparison = Comparison.FINAL) -> Result:
    """The result of a test; raises nothing but KeyboardInterrupt."""
    if case.needs:
        return Result(case, Status.SKIPPED, f"needs {', '.join(case.needs)}")
    start = time.monotonic()
    try:
        result = _judge(case, fixture, comparison)
    except Exception as error:
        result = Result(case, Status.ERROR, _one_line(f"{type(error).__name__}: {error}"))
    return replace(result, seconds=time.monotonic() - start)


@dataclass(frozen=True)
class _Rejection:
    """A rejected statement or a failed query, except for internal errors."""

    text: str
    bug: bool = False
    lines: tuple[str, ...] = ()
    """Lines to be shown instead of the text."""


def _judge(case: Case, fixture: Fixture, comparison: Comparison) -> Result:
    run = PipelineRun(case.pipeline, fixture)
    try:
        rejection = _rejection(case, run, each=comparison is Comparison.EXACT)
        if isinstance(rejection, Result):
            return rejection
        if case.expected_messages is not None:
            result = _rejected(case, case.expected_messages, rejection)
        elif rejection is not None:
            reason = _one_line(rejection.text)
            result = Result(
                case, Status.FAILED, reason, error=rejection.text, differences=rejection.lines
            )
        else:
            result = _compared(case, run, comparison)
    finally:
        run.close()
    if case.expected_sources:
        return replace(result, sources=run.sources())
    return result


def _compared(case: Case, run: PipelineRun, comparison: Comparison) -> Result:
    """Compares a test whose statements were run."""
    actual = [record for topic in case.output_topics for record in run.read(topic)]
    found = [
        *run.source_differences(case.expected_sources),
        *_record_differences(case, run, actual, comparison),
    ]
    if not found:
        return Result(case, Status.PASSED, actual=actual)
    reason = _one_line(found[0])
    found += [f"processing log: {line}" for line in run.complaints()]
    return Result(case, Status.FAILED, reason, actual=actual, differences=found)


def _rejection(case: Case, run: PipelineRun, *, each: bool) -> _Rejection | Result | None:
    """The engine's rejection of the test; a Result if the runner failed."""
    if case.asserts:
        return _ended(case, run, AssertingRun(run).run)
    try:
        run.plan()
    except ExternalError as error:
        return Result(case, Status.ERROR, _one_line(told(error)))
    except StreamSQLError as error:
        return _Rejection(told(error), isinstance(error, InternalError))
    except Exception as error:
        return _Rejection(f"internal error: {type(error).__name__}: {error}", bug=True)
    return _ended(case, run, lambda: run.process(each=each))


def _ended(case: Case, run: PipelineRun, process: Callable[[], None]) -> _Rejection | Result | None:
    """As `_rejection`, of what runs queries."""
    try:
        process()
    except QueryDied as error:
        return _Rejection(told(error))
    except ExternalError as error:
        return Result(case, Status.ERROR, _one_line(told(error)))
    except ConfigError as error:
        # In a test of statements it is a statement that is wrong, else the test's own data.
        if not case.asserts:
            return Result(case, Status.ERROR, _one_line(told(error)))
        return _Rejection(told(error), lines=(render(error),))
    except AssertionFailed as error:
        complaints = [f"processing log: {line}" for line in run.complaints()]
        return _Rejection(told(error), lines=(*error.lines, *complaints))
    except StreamSQLError as error:
        return _Rejection(told(error), isinstance(error, InternalError), (render(error),))
    return None


def _rejected(case: Case, messages: Sequence[str], rejection: _Rejection | None) -> Result:
    if rejection is None:
        reason = "expected to be rejected"
        if messages:
            reason += f": {_one_line(messages[0])}"
        return Result(case, Status.FAILED, reason, message_matches=False)
    matches = all(message in rejection.text for message in messages)
    if rejection.bug:
        reason = _one_line(rejection.text)
        return Result(case, Status.FAILED, reason, error=rejection.text, message_matches=matches)
    if case.asserts and not matches:
        reason = f"rejected for another reason than {_one_line(' and '.join(messages))}"
        lines = (reason, *(rejection.lines or (rejection.text,)))
        return Result(
            case,
            Status.FAILED,
            reason,
            error=rejection.text,
            message_matches=False,
            differences=lines,
        )
    return Result(case, Status.PASSED, error=rejection.text, message_matches=matches)


def _record_differences(
    case: Case, run: PipelineRun, actual: Sequence[JSONObject], comparison: Comparison
) -> list[str]:
    lines = []
    for topic in case.output_topics:
        target = run.target(topic)
        if target is None:
            lines.append(f"{topic}: no stream or table has this topic")
            continue
        expected = [_expected(r, case) for r in case.outputs if r["topic"] == topic]
        found = [record for record in actual if record["topic"] == topic]
        sink = Sink(target.kind, target.writers)
        lines += [f"{topic}: {d}" for d in differences(sink, expected, found, comparison)]
    return lines


def _expected(record: JSONObject, case: Case) -> JSONObject:
    """Without inputs an expected timestamp of 0 says nothing: records are of now."""
    if not case.inputs and record.get("timestamp") == 0:
        return {name: value for name, value in record.items() if name != "timestamp"}
    return record


def _one_line(text: str) -> str:
    return " ".join(text.split())
