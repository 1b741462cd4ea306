"""ksqlDB's sentences beside ours: the vocabulary is whole, and each rejection tells its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest
from datadriven import Case, cases, check
from planner.plan_script import Script

import streamsql
from streamsql.errors import ParseError, PlanError, Span, StreamSQLError, told
from streamsql.ksqldb import SENTENCES, says

FILLED_IN = {"line", "column", "statement"}
ELSEWHERE = {
    *("described-source", "explained-query", "printed-topic"),
    *("inserts-target", "inserts-value", "malformed-row", "no-argument", "malformed-json"),
    *("push-queries", "query-endpoint", "statement-type", "delete-pattern"),
}
"""What no statement is rejected with before it is run: the tests of the endpoints show it."""


def rejection(case: Case) -> StreamSQLError:
    """Why the last statement of a case is rejected, over the sources of base.sql."""
    with pytest.raises(StreamSQLError) as rejected:
        Script().run(case.input)
    return rejected.value.located(case.input)


@pytest.mark.parametrize("case", cases("server", "sentences*.txt"))
def test_case(case: Case, rewrite: bool) -> None:
    check(case, {"told": lambda case: told(rejection(case))}, rewrite)


def test_every_sentence_is_shown_by_a_case() -> None:
    found = [param.values[0] for param in cases("server", "sentences*.txt")]  # type: ignore[attr-defined]
    codes = {known.code for case in found if (known := rejection(case).ksqldb) is not None}
    inner = {"insert-column", "insert-type"}  # reasons of "cannot-insert"
    assert codes | ELSEWHERE | inner | {"compared-with-null", "predicate"} >= SENTENCES.keys()


def _uses() -> Iterator[tuple[str, set[str]]]:
    """Codes in calls of says() with the names of the parameters given there."""
    for path in Path(streamsql.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "says":
                given = {keyword.arg or "" for keyword in node.keywords}
                for part in ast.walk(node.args[0]):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield part.value, given


def test_every_code_is_used_with_the_parameters_of_its_sentence() -> None:
    wanted = {
        code: {name for _, name, _, _ in Formatter().parse(text) if name} - FILLED_IN
        for code, text in SENTENCES.items()
    }
    named = {"malformed-json", "malformed-row", "several-conditions", "join-condition"}
    used = dict(_uses())
    assert used.keys() | named == SENTENCES.keys()
    assert {code: given for code, given in used.items() if given != wanted[code]} == {}


OURS = "two sources are called `A`"
HELD = "Column `A` is unknown"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (PlanError(OURS), OURS),
        (
            PlanError(OURS, hint="Rename one.", ksqldb=says("self-join", source="A")),
            f"{OURS}\nHint: Rename one.\n"
            "Can not join 'A' to 'A': self joins are not yet supported.",
        ),
        (
            PlanError(HELD, ksqldb=says("cannot-prepare", reason=f"{HELD} here")),
            f"Failed to prepare statement: {HELD} here",
        ),
        (
            PlanError("x", detail=HELD, ksqldb=says("several-conditions", condition="x")),
            "Invalid join condition: joins on multiple conditions are not yet supported. "
            f"Got x.\n{HELD}",
        ),
        (
            PlanError("Got windowed stream/table!", ksqldb=says("insert-into-windowed")),
            "Got windowed stream/table!\nCannot insert values into windowed stream/table!",
        ),
        (PlanError("x", span=Span(0, 1, 3, 4)), "Line: 3, Col: 4: x"),
        (
            ParseError("odd", span=Span(0, 1, 3, 4), ksqldb=says("unexpected-token", token="?")),
            "line 3:4: odd\nline 3:4: Syntax Error\nSyntax error at or near '?' at line 3:4\n"
            "Statement: SELECT ?;",
        ),
    ],
    ids=lambda value: None if isinstance(value, StreamSQLError) else value[:20],
)
def test_told(error: StreamSQLError, text: str) -> None:
    assert told(error, "SELECT ?;") == text
