"""The answers of pull queries as the shell and `run` show them."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator

import pytest

from streamsql.cli.execution.execution import FITTED, Executes, run
from streamsql.cli.terminal.render import Renderer
from streamsql.cli.terminal.style import Style
from streamsql.errors import ExternalError
from streamsql.results import Answer, Field, Progress, Result, Row, RowStream
from streamsql.schema import Column, Namespace, Schema
from streamsql.types import BIGINT, STRING

SCHEMA = Schema((Column("ID", STRING, Namespace.KEY), Column("N", BIGINT)))


class Answering:
    """Answers every statement with the same rows."""

    def __init__(self, rows: Iterator[Row], message: str | None = None) -> None:
        self._answer = Answer("query_1", SCHEMA, rows, message)

    def execute(self, sql: str) -> Iterator[Result]:
        yield self._answer


def shown(engine: Executes, output: str = "table") -> tuple[list[str], list[str]]:
    """The lines of data and of remarks."""
    out, err = io.StringIO(), io.StringIO()
    run(engine, "SELECT;", Renderer(output, out, err, style=Style(), width=60))
    return out.getvalue().splitlines(), err.getvalue().splitlines()


def rows(count: int) -> Iterator[Row]:
    return (Row((f"key {number}", number)) for number in range(count))


class Nothing:
    def cancel(self) -> None:
        pass


class Following:
    """A push query over views, with the progress of two epochs."""

    def execute(self, sql: str) -> Iterator[Result]:
        items = [Row(("a", 1)), Progress(7, 1_700_000_000_123), Row(("a", 2)), Progress(8, 0)]
        yield RowStream("q", (Field("ID", STRING), Field("N", BIGINT)), iter(items), Nothing())


def test_progress_stands_among_the_rows() -> None:
    lines, _ = shown(Following())
    told = [line for line in lines if "epoch" in line or "a" in line.split()]
    assert [line.split("│")[-1].strip() for line in told] == [
        "1",
        "epoch 7 of 2023-11-14 22:13:20.123",
        "2",
        "epoch 8 of 1970-01-01 00:00:00.000",
    ]
    lines, remarks = shown(Following(), "json")
    assert [json.loads(line)["N"] for line in lines] == [1, 2]
    assert len(remarks) == 2


def test_a_short_answer_is_one_table() -> None:
    lines, _ = shown(Answering(rows(2), "Query Completed"))
    assert [line.split() for line in lines if "key" in line] == [
        ["key", "0", "│", "0"],
        ["key", "1", "│", "1"],
    ]
    assert "Query Completed" in lines


def test_an_answer_without_rows() -> None:
    lines, _ = shown(Answering(rows(0)))
    assert any("ID" in line for line in lines) and " (none)" in lines


@pytest.mark.parametrize("count", [3, FITTED - 1, FITTED, FITTED + 500])
def test_all_rows_as_json(count: int) -> None:
    lines, remarks = shown(Answering(rows(count), "Limit Reached"), "json")
    found = [json.loads(line) for line in lines]
    assert found == [{"ID": f"key {n}", "N": n} for n in range(count)]
    assert remarks == ["Limit Reached"]


def test_an_error_behind_the_first_rows() -> None:
    def failing() -> Iterator[Row]:
        yield from rows(FITTED + 1)
        raise ExternalError("the query failed: no more")

    with pytest.raises(ExternalError, match="no more"):
        shown(Answering(failing()))
