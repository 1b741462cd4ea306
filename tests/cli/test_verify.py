"""`streamsql verify`: which queries it asks about, and its exit code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from types import SimpleNamespace

import pytest

from streamsql.cli.main import main
from streamsql.cli.subcommands import verify
from streamsql.errors import ExternalError, UnsupportedError
from streamsql.results import Field, Result, Rows, Warning

FOUND = Rows((Field("Result"), Field("Rows")), [("the same", 3)], "up to here")
ANSWERS: dict[str, list[Result] | Exception] = {
    "GOOD": [FOUND],
    "WRONG": [FOUND, Warning("1 of the rows of O are not what the log makes.")],
    "REFUSED": UnsupportedError("REFUSED cannot be verified"),
    "LOST": ExternalError("no answer from Kafka"),
}


class StandIn(AbstractContextManager["StandIn"]):
    """An engine with two queries."""

    asked: list[str] = []

    def __exit__(self, *error: object) -> None:
        pass

    def wait_until_ready(self, seconds: float) -> None:
        pass

    def queries(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(id="GOOD"), SimpleNamespace(id="WRONG")]

    def execute(self, sql: str) -> Iterator[Result]:
        query_id = sql.removeprefix("VERIFY QUERY `").removesuffix("`;")
        self.asked.append(query_id)
        answer = ANSWERS[query_id]
        if isinstance(answer, Exception):
            raise answer
        yield from answer


@pytest.mark.parametrize(
    ("given", "asked", "code"),
    [
        (["good"], ["GOOD"], 0),
        ([], ["GOOD", "WRONG"], 1),
        (["REFUSED", "GOOD"], ["REFUSED", "GOOD"], 1),
        (["LOST", "WRONG"], ["LOST", "WRONG"], 2),
    ],
)
def test_exit_codes(
    given: list[str], asked: list[str], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StandIn, "asked", [])
    monkeypatch.setattr(verify, "make_engine", lambda args, until_caught_up: StandIn())
    assert main(["verify", *given]) == code
    assert StandIn.asked == asked
