"""Runs tests of the HTTP interface one after the other: names are the server's, not a test's."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2

from streamsql.errors import StreamSQLError
from tests.conformance.verdict import Ended

from .case import RestCase
from .run import RestRun, Wrong
from .server import Server

KNOWN_FAILURES = Path(__file__).parent.parent / "known_rest_failures.txt"
COMMAND = "python -m tests.conformance.rest --rewrite"


@dataclass(frozen=True)
class Timed:
    """How a test ended, and how long it took."""

    ended: Ended
    seconds: float


def run_cases(cases: Iterable[RestCase], server: Server) -> Iterator[Timed]:
    """The results as they come."""
    for case in cases:
        start = time.monotonic()
        ended = _run(case, server)
        yield Timed(ended, time.monotonic() - start)


def _run(case: RestCase, server: Server) -> Ended:
    try:
        RestRun(case, server).run()
    except Wrong as wrong:
        return Ended(case.id, "failed", " ".join(str(wrong).split()))
    except httpx2.TransportError as error:
        return Ended(case.id, "failed", f"the server: {type(error).__name__} {error}".strip())
    except StreamSQLError as error:
        return Ended(case.id, "error", " ".join(error.message.split()))
    return Ended(case.id, "passed", None)
