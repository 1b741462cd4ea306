"""Results as JSON lines and as JUnit XML."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from xml.etree import ElementTree

from streamsql.testing.cases.case import Case, Result, Status
from streamsql.testing.cases.report import Report, report_line, write_junit

CASE = Case("f/x", "f", "x", ("A;",))
FAILED = Result(
    CASE,
    Status.FAILED,
    "wrong",
    1.5,
    actual=[{"topic": "T", "value": {"D": Decimal("1.50"), "N": float("nan")}}],
    differences=["T: wrong <1>", "T: more\x01"],
)


def test_a_line_is_strict_json_with_all_digits() -> None:
    line = report_line(FAILED)
    assert '"D": 1.50' in line and "\n" not in line
    found = json.loads(line, parse_constant=lambda name: 1 / 0)
    assert found["actual"][0]["value"]["N"] == "NaN"
    assert (found["status"], found["reason"], found["error"]) == ("failed", "wrong", None)
    assert "sources" not in found


def test_a_line_is_there_as_soon_as_it_is_added(tmp_path: Path) -> None:
    path = tmp_path / "new" / "report.jsonl"
    with Report(path) as report:
        report.add(FAILED)
        assert len(path.read_text().splitlines()) == 1


def test_junit(tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    others = [
        Result(CASE, Status.PASSED),
        Result(CASE, Status.SKIPPED, "needs x"),
        Result(Case("g/y", "g", "y", ()), Status.ERROR, "no Kafka"),
    ]
    write_junit(path, [FAILED, *others])
    root = ElementTree.parse(path).getroot()
    assert {suite.get("name"): suite.get("tests") for suite in root} == {"f": "3", "g": "1"}
    totals = [root.get(name) for name in ("tests", "failures", "errors", "skipped")]
    assert totals == ["4", "1", "1", "1"]
    failure = root.find(".//failure")
    assert failure is not None and failure.text == "T: wrong <1>\nT: more\ufffd"
