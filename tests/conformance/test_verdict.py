"""The list of known failures is kept true."""

from __future__ import annotations

import json
from pathlib import Path

from conformance.verdict import (
    KNOWN_FAILURES,
    Ended,
    problems,
    read_known,
    read_report,
    updated,
    write_known,
)

PASSED, FAILED = Ended("a", "passed", None), Ended("b", "failed", "wrong")
BROKEN, SKIPPED = Ended("c", "error", "no Kafka"), Ended("d", "skipped", "needs x")


def test_all_as_known() -> None:
    assert problems([PASSED, FAILED, SKIPPED], {"b": "reason", "d": "reason"}) == []


def test_an_unexpected_failure_and_an_unexpected_pass() -> None:
    assert problems([PASSED, FAILED, BROKEN], {"a": "reason"}) == [
        "a: passed, but is listed as failing: reason",
        "b: failed: wrong",
        "c: could not be run: no Kafka",
    ]


def test_an_unsettled_test_may_end_either_way() -> None:
    known = {"a": "unsettled: reason", "b": "unsettled: reason"}
    assert problems([PASSED, FAILED], known) == []


def test_reasons_written_by_hand_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "known.txt"
    write_known(updated([PASSED, FAILED], {"a": "old", "b": "by hand"}), path)
    assert read_known(path) == {"b": "by hand"}


def test_a_report_is_read(tmp_path: Path) -> None:
    path = tmp_path / "report.jsonl"
    path.write_text(json.dumps({"id": "a", "status": "failed", "reason": "r", "actual": []}) + "\n")
    assert read_report(path) == [Ended("a", "failed", "r")]


def test_every_known_failure_has_a_reason() -> None:
    known = read_known()
    assert list(known) == sorted(known) and all(reason.strip() for reason in known.values())
    assert KNOWN_FAILURES.is_file()
