"""What of a client's text is the protocol's: names, placeholders, commands of the session."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamsql.postgres.sql.commands import command_of, seconds_of
from streamsql.postgres.sql.texts import TooManyParameters, shown, statements, template


@pytest.mark.parametrize(
    ("name", "seen"), [("ORDERS", "orders"), ("orders", "ORDERS"), ("Mixed", "Mixed"), ("_1", "_1")]
)
def test_names_are_shown_and_folded_back(name: str, seen: str) -> None:
    assert shown(name) == seen
    assert shown(seen) == name


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        ('SELECT "a", "B", "Cc" FROM t', 'SELECT "A", "b", "Cc" FROM t'),
        ("SELECT public.t.a FROM public.t", "SELECT        t.a FROM        t"),
        ('SELECT 1 FROM "public"."t"', 'SELECT 1 FROM          "T"'),
        ("SELECT '\"a\" public.x $1' -- $2 public.y", "SELECT '\"a\" public.x $1'"),
        ("SELECT `a`", "SELECT `a`"),
        ("SELECT a::text, CAST(b AS float8) FROM t", "SELECT a::text, CAST(b AS float8) FROM t"),
    ],
)
def test_statements_for_our_parser(text: str, ours: str) -> None:
    (statement,) = statements(text)
    assert template(statement).filled(()).text == ours


def test_parameters_keep_places() -> None:
    _, second = statements("SELECT 1; SELECT $2, $1 FROM t LIMIT $3::INTEGER")
    found = template(second)
    assert (found.parameters, found.counts) == (3, {3})
    written = found.filled(["'long text'", "2", "3"])
    assert written.text == "SELECT 2, 'long text' FROM t LIMIT 3"
    assert written.origin(written.text.index("FROM")) == 24
    marked, marks = found.marked()
    assert marked == "SELECT '$streamsql$2', '$streamsql$1' FROM t LIMIT 1"
    assert marks[2] == "$streamsql$2"


def test_what_stands_behind_a_cast_keeps_its_place() -> None:
    text = "SELECT a::text, $1::int4, nope FROM t"
    written = template(statements(text)[0]).filled(["200"])
    assert written.text == "SELECT a::text, 200::int4, nope FROM t"
    assert written.origin(written.text.index("nope")) == text.index("nope")


@pytest.mark.parametrize("text", ["SELECT $0", "SELECT $65536", "SELECT $99999999999"])
def test_parameters_that_cannot_be(text: str) -> None:
    with pytest.raises(TooManyParameters):
        template(statements(text)[0])


COMMANDS = (Path(__file__).parent / "commands.txt").read_text("utf-8")


@pytest.mark.parametrize("line", COMMANDS.strip().splitlines())
def test_commands(line: str) -> None:
    text, _, found = line.partition(" => ")
    assert repr(command_of(text, {"timezone"})) == found


def test_times() -> None:
    assert [seconds_of(text) for text in ("250", "250ms", "1.5s", "2min")] == [0.25, 0.25, 1.5, 120]
    with pytest.raises(ValueError, match="invalid time"):
        seconds_of("soon")
