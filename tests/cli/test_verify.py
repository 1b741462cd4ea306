"""`streamsql verify`: which queries it asks about, and its exit code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace

import pytest
from statements.world import data_folder

from streamsql.cli.main import main
from streamsql.cli.subcommands import verify
from streamsql.errors import ExternalError, UnsupportedError
from streamsql.results import Field, Result, Rows, Warning

QUERIES = {"GOOD": "T", "WRONG": "O", "ELSEWHERE": "T"}
FOUND = Rows((Field("Result"), Field("Rows")), [("the same", 3)], "up to here")
ANSWERS: dict[str, list[Result] | Exception] = {
    "GOOD": [FOUND],
    "ELSEWHERE": [FOUND],
    "WRONG": [FOUND, Warning("1 row of O differs from the result of the log.")],
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
        return [SimpleNamespace(id=name, sink=sink) for name, sink in QUERIES.items()]

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
        ([], ["GOOD", "WRONG", "ELSEWHERE"], 1),
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


RUNS = """
CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM t AS SELECT k, v FROM s;
CREATE STREAM o AS SELECT k, v FROM s;
"""


@pytest.mark.parametrize(
    ("file", "asked", "code"),
    [
        (RUNS.replace("CREATE STREAM o", "-- CREATE STREAM o"), ["GOOD"], 0),
        (RUNS, ["GOOD", "WRONG"], 1),
        (RUNS.replace("SELECT k, v FROM s", "SELECT k, v + 1 AS v FROM s"), [], 1),
        ("CREATE STREAM t AS SELECT nothing FROM s;", [], 1),
    ],
    ids=["some", "all", "changed", "wrong"],
)
def test_the_queries_of_files(
    file: str,
    asked: list[str],
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data_folder(tmp_path, f"{RUNS} INSERT INTO t WITH (QUERY_ID='elsewhere') SELECT k, v FROM s;")
    monkeypatch.setattr(StandIn, "asked", [])
    monkeypatch.setattr(verify, "make_engine", lambda args, until_caught_up: StandIn())
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.sql").write_text(file)
    assert main(["verify", str(tmp_path / "files"), "--data", str(tmp_path)]) == code
    assert StandIn.asked == asked
