"""Results as files: JSON lines for programs, JUnit XML for continuous integration."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import IO
from xml.etree import ElementTree

from streamsql.errors import ExternalError
from streamsql.test_driver.json_values import to_text
from streamsql.testing.cases.case import Result, Status


def report_line(result: Result) -> str:
    """A result as one line of strict JSON."""
    case = result.case
    line = {
        "id": case.id,
        "file": case.file,
        "name": case.name,
        "format": case.format,
        "status": result.status.value,
        "reason": result.reason,
        "seconds": round(result.seconds, 3),
        "actual": result.actual,
        "error": result.error,
        "message_matches": result.message_matches,
    }
    if result.sources is not None:
        line["sources"] = result.sources
    return to_text(line)


class Report:
    """A file of JSON lines, each written immediately. ExternalError if not writable."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: IO[str] = path.open("w", encoding="utf-8")
        except OSError as error:
            raise ExternalError(f"cannot write {path}: {error.strerror}") from error

    def add(self, result: Result) -> None:
        """Write a case's result as a line; it is in the file at once."""
        self._file.write(report_line(result) + "\n")
        self._file.flush()

    def __enter__(self) -> Report:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def write_junit(path: Path, results: Sequence[Result]) -> None:
    """All results as JUnit XML, a suite for each file of tests. ExternalError if not writable."""
    by_file: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        by_file[result.case.file].append(result)
    root = ElementTree.Element("testsuites", _counts(results))
    for file, members in sorted(by_file.items()):
        suite = ElementTree.SubElement(root, "testsuite", {"name": file, **_counts(members)})
        for result in members:
            _add_case(suite, result)
    ElementTree.indent(root)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
    except OSError as error:
        raise ExternalError(f"cannot write {path}: {error.strerror}") from error


def _counts(results: Sequence[Result]) -> dict[str, str]:
    def count(status: Status) -> str:
        return str(sum(result.status is status for result in results))

    return {
        "tests": str(len(results)),
        "failures": count(Status.FAILED),
        "errors": count(Status.ERROR),
        "skipped": count(Status.SKIPPED),
        "time": f"{sum(result.seconds for result in results):.3f}",
    }


_ELEMENTS = {Status.FAILED: "failure", Status.ERROR: "error", Status.SKIPPED: "skipped"}


def _add_case(suite: ElementTree.Element, result: Result) -> None:
    case = ElementTree.SubElement(
        suite,
        "testcase",
        {
            "classname": result.case.file,
            "name": _printable(result.case.id),
            "time": f"{result.seconds:.3f}",
        },
    )
    element = _ELEMENTS.get(result.status)
    if element is not None:
        told = ElementTree.SubElement(case, element, {"message": _printable(result.reason or "")})
        told.text = _printable("\n".join(result.differences) or (result.error or ""))


_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _printable(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text)
