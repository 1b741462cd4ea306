"""Whether a report of `streamsql test` is as known: which tests fail, and why, stands in a file.

A test that fails and is not listed is a problem; so is one that is listed and passes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

SUITE = Path(__file__).parents[3] / "shared" / "conformance" / "qtt"
"""Tests that are no part of this project: they are run from where they are, if they are."""
KNOWN_FAILURES = Path(__file__).with_name("known_failures.txt")

HEAD = """\
# Tests of the conformance suite that fail, and why: an id, a tab, the reason. Written by
# `{command}`; reasons may be edited and are then kept.
"""
UNSETTLED = "unsettled: "
"""A reason begins so where a test may pass, too: what it expects depends on who is faster."""
COMMAND = "python -m tests.conformance REPORT --rewrite"


@dataclass(frozen=True)
class Ended:
    """How a test ended, as far as it matters here."""

    id: str
    status: str
    reason: str | None


def read_report(path: Path) -> list[Ended]:
    """The results of a report in JSON lines."""
    found = map(json.loads, path.read_text("utf-8").splitlines())
    return [Ended(r["id"], r["status"], r["reason"]) for r in found]


def read_known(path: Path = KNOWN_FAILURES) -> dict[str, str]:
    """The reasons of known failures by id."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    pairs = (line.split("\t", 1) for line in lines if line and not line.startswith("#"))
    return dict(pairs)


def write_known(
    known: Mapping[str, str], path: Path = KNOWN_FAILURES, command: str = COMMAND
) -> None:
    lines = "".join(f"{id}\t{reason}\n" for id, reason in sorted(known.items()))
    path.write_text(HEAD.format(command=command) + lines, "utf-8")


def problems(results: Iterable[Ended], known: Mapping[str, str]) -> list[str]:
    """A line for each test that did not end as known."""
    lines = []
    for result in results:
        unsettled = known.get(result.id, "").startswith(UNSETTLED)
        if result.status == "error":
            lines.append(f"{result.id}: could not be run: {result.reason}")
        elif result.status == "failed" and result.id not in known:
            lines.append(f"{result.id}: failed: {result.reason}")
        elif result.status == "passed" and result.id in known and not unsettled:
            lines.append(f"{result.id}: passed, but is listed as failing: {known[result.id]}")
    return lines


def updated(results: Iterable[Ended], known: Mapping[str, str]) -> dict[str, str]:
    """What is known after a whole run. Reasons that were there are kept, others are the run's."""
    failed = {r.id: r.reason or "" for r in results if r.status in ("failed", "error")}
    return {id: known.get(id, reason) for id, reason in failed.items()}
