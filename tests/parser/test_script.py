"""What text cases can't show: places of nodes, variables that change while a script runs."""

from __future__ import annotations

import pytest
from sqlglot import exp

from streamsql.errors import ParseError, Span
from streamsql.nodes import DefineVariable, Explain, SelectExpression, SelectQuery, Statement
from streamsql.parser import parse, parse_each, parse_expression, parse_one
from streamsql.parser.build.items import MAX_NESTING
from streamsql.parser.variables import MAX_SUBSTITUTED

SCRIPT = "SHOW STREAMS;\n\n  EXPLAIN SELECT a,\n    f(b->c) + (1) AS x FROM s;  "


def test_statements_know_their_text_and_place() -> None:
    show, explain = parse(SCRIPT)
    assert (show.text, show.span) == ("SHOW STREAMS", Span(0, 12, 1, 1))
    assert explain.text == "EXPLAIN SELECT a,\n    f(b->c) + (1) AS x FROM s"
    assert explain.span == Span(17, 64, 3, 3)
    assert isinstance(explain, Explain) and explain.statement is not None
    assert explain.statement.text == "SELECT a,\n    f(b->c) + (1) AS x FROM s"


def test_expressions_know_their_place_in_the_script() -> None:
    explain = parse(SCRIPT)[1]
    assert isinstance(explain, Explain) and isinstance(explain.statement, SelectQuery)
    item = explain.statement.query.items[1]
    assert isinstance(item, SelectExpression)
    assert item.span is not None
    assert SCRIPT[item.span.start : item.span.end] == "f(b->c) + (1) AS x"

    def text(node: exp.Expr) -> str:
        return SCRIPT[node.meta["start"] : node.meta["end"]]

    total = item.expression
    call, one = total.this, total.expression
    assert [text(n) for n in (total, call, one)] == ["f(b->c) + (1)", "f(b->c)", "1"]
    assert text(call.expressions[0]) == "b->c"
    assert (call.meta["line"], call.meta["column"]) == (4, 5)


def test_equality_looks_at_meaning_only() -> None:
    assert parse_one("select  A from `S`") == parse_one("SELECT a FROM s;")
    assert parse_one("select `a` from s") != parse_one("SELECT a FROM s;")


def test_an_error_knows_the_script() -> None:
    with pytest.raises(ParseError) as caught:
        parse("SHOW STREAMS;\nSELECT WHERE x;")
    assert caught.value.sql == "SHOW STREAMS;\nSELECT WHERE x;"
    assert caught.value.span == Span(21, 26, 2, 8)


def test_parse_one_takes_one_statement() -> None:
    with pytest.raises(ParseError, match="the text contains no statement"):
        parse_one(" -- nothing\n;")
    with pytest.raises(ParseError, match="expected one statement"):
        parse_one("SHOW STREAMS; SHOW TABLES;")


def test_variables_are_read_when_their_statement_is_due() -> None:
    variables: dict[str, str] = {}
    seen: list[Statement | ParseError] = []
    script = "SELECT ${v} FROM s; DEFINE v = 'a'; SELECT ${V} FROM s; SELECT ${v} FROM s;"
    for statement in parse_each(script, variables):
        seen.append(statement)
        if isinstance(statement, DefineVariable):
            variables[statement.name] = statement.value
        elif len(seen) == 3:
            variables["V"] = "b"
    assert isinstance(seen[0], ParseError)
    assert seen[2:] == [parse_one("SELECT a FROM s"), parse_one("SELECT b FROM s")]


def test_nesting_has_a_limit_and_no_stack_overflow() -> None:
    deep = "(" * 50 + "a" + ")" * 50
    assert parse_expression(deep) == parse_expression("a")
    chain = " OR ".join(["a"] * (MAX_NESTING - 20))
    assert isinstance(parse_expression(chain), exp.Or)
    for text in ("(" * 5000 + "a" + ")" * 5000, " + ".join(["a"] * 5000), "f(" * 3000):
        with pytest.raises(ParseError):
            parse_expression(text)


def test_very_long_lists_are_fine() -> None:
    node = parse_expression("a IN (" + ", ".join(map(str, range(5_000))) + ")")
    assert len(node.expressions) == 5_000


def test_variables_do_not_blow_a_statement_up() -> None:
    long = {"X": "x" * (MAX_SUBSTITUTED // 10)}
    assert parse("SELECT '${x}', '${x}' FROM t;", long)
    with pytest.raises(ParseError, match="the variables make the statement longer") as found:
        parse("SELECT " + "'${x}', " * 20 + "1 FROM t;", long)
    assert found.value.span is not None and found.value.span.column == 8 + 10 * 8
