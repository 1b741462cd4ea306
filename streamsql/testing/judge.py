"""Runs a test and judges it: passed, failed (the pipeline is wrong), or error (the runner's)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from streamsql.errors import ConfigError, ExternalError, InternalError, StreamSQLError, render, told
from streamsql.testing.cases.case import Case, JSONObject, Result, Status
from streamsql.testing.comparison.compare import Comparison, Sink, differences
from streamsql.testing.pipeline.asserting import AssertingRun, AssertionFailed
from streamsql.testing.pipeline.case_run import CaseRun
from streamsql.testing.pipeline.driven_query import QueryDied
from streamsql.testing.pipeline.fixture import Fixture
from streamsql.testing.pipeline.sources import describe, source_differences


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
    """Why a statement was rejected, or a query died. A bug of ours is no rejection."""

    text: str
    bug: bool = False
    lines: tuple[str, ...] = ()
    """What is to be shown in place of the text."""


def _judge(case: Case, fixture: Fixture, comparison: Comparison) -> Result:
    run = CaseRun(case, fixture)
    try:
        rejection = _rejection(run, each=comparison is Comparison.EXACT)
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
            result = _compared(run, comparison)
    finally:
        run.close()
    if case.expected_sources:
        return replace(result, sources=describe(run.script.catalog))
    return result


def _compared(run: CaseRun, comparison: Comparison) -> Result:
    """The result of a test whose statements were run."""
    actual = [record for topic in run.case.output_topics for record in run.read(topic)]
    found = [
        *source_differences(run.case.expected_sources, run.script.catalog),
        *_record_differences(run, actual, comparison),
    ]
    if not found:
        return Result(run.case, Status.PASSED, actual=actual)
    reason = _one_line(found[0])
    found += [f"processing log: {line}" for line in run.complaints()]
    return Result(run.case, Status.FAILED, reason, actual=actual, differences=found)


def _rejection(run: CaseRun, *, each: bool) -> _Rejection | Result | None:
    """What the engine has against the test; a Result where the runner could not run it."""
    if run.case.asserts:
        return _ended(run, AssertingRun(run).run)
    try:
        run.plan()
    except ExternalError as error:
        return Result(run.case, Status.ERROR, _one_line(told(error)))
    except StreamSQLError as error:
        return _Rejection(told(error), isinstance(error, InternalError))
    except Exception as error:
        return _Rejection(f"internal error: {type(error).__name__}: {error}", bug=True)
    return _ended(run, lambda: run.process(each=each))


def _ended(run: CaseRun, process: Callable[[], None]) -> _Rejection | Result | None:
    """As `_rejection`, of what runs queries."""
    try:
        process()
    except QueryDied as error:
        return _Rejection(told(error))
    except ExternalError as error:
        return Result(run.case, Status.ERROR, _one_line(told(error)))
    except ConfigError as error:
        # In a test of statements it is a statement that is wrong, else the test's own data.
        if not run.case.asserts:
            return Result(run.case, Status.ERROR, _one_line(told(error)))
        return _Rejection(told(error), lines=(render(error),))
    except AssertionFailed as error:
        complaints = [f"processing log: {line}" for line in run.complaints()]
        return _Rejection(told(error), lines=(*error.lines, *complaints))
    except StreamSQLError as error:
        return _Rejection(told(error), isinstance(error, InternalError), (render(error),))
    return None


def _rejected(case: Case, messages: Sequence[str], rejection: _Rejection | None) -> Result:
    """The result of a test that expects to be rejected."""
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
    run: CaseRun, actual: Sequence[JSONObject], comparison: Comparison
) -> list[str]:
    lines = []
    for topic in run.case.output_topics:
        source = run.script.sink_of(topic)
        if source is None:
            lines.append(f"{topic}: no stream or table has this topic")
            continue
        writers = len(run.script.catalog.writers(source.name))
        expected = [_expected(r, run.case) for r in run.case.outputs if r["topic"] == topic]
        found = [record for record in actual if record["topic"] == topic]
        sink = Sink(source.kind, writers)
        lines += [f"{topic}: {d}" for d in differences(sink, expected, found, comparison)]
    return lines


def _expected(record: JSONObject, case: Case) -> JSONObject:
    """Without inputs an expected timestamp of 0 says nothing: records are of now."""
    if not case.inputs and record.get("timestamp") == 0:
        return {name: value for name, value in record.items() if name != "timestamp"}
    return record


def _one_line(text: str) -> str:
    return " ".join(text.split())
