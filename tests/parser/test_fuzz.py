"""Random input: whatever the text, only StreamSQLErrors; whatever the node, its SQL is itself."""

from __future__ import annotations

import contextlib

from hypothesis import given
from hypothesis import strategies as st
from sql_strategies import expressions, fragments, pieces, sql_types, statements

from streamsql.errors import StreamSQLError, render
from streamsql.nodes import Expression, Statement
from streamsql.parser import (
    expected_keywords,
    is_complete,
    parse,
    parse_each,
    parse_expression,
    parse_one,
    parse_type,
    split,
    to_sql,
    tokens,
)
from streamsql.types import SQLType

GOOD = [
    "CREATE STREAM s (id INT KEY, v ARRAY<STRUCT<a INT>>) WITH (kafka_topic='t', partitions=1);",
    "CREATE TABLE t AS SELECT a, COUNT(*) AS n FROM s x LEFT JOIN y WITHIN 1 DAY ON x.a = y.b "
    "WINDOW TUMBLING (SIZE 5 SECONDS, GRACE PERIOD 1 DAY) WHERE a IN (1, 2) AND NOT b LIKE 'x' "
    "GROUP BY a, b HAVING n > 1 EMIT FINAL;",
    "SELECT TRANSFORM(a, (k, v) => k + 1), CASE WHEN a THEN 'x' ELSE b->c[1] END FROM s LIMIT 3;",
    "INSERT INTO s (a, b) VALUES (-1, MAP('a' := ARRAY[1.5])); SHOW STREAMS; PRINT t LIMIT 1;",
]


@given(fragments | st.text(max_size=40))
def test_any_text_gives_statements_or_an_error(text: str) -> None:
    try:
        for statement in parse(text, {"v": "x"}):
            assert parse_one(to_sql(statement)) == statement
    except StreamSQLError as error:
        assert render(error)
    for parsed in parse_each(text):
        assert isinstance(parsed, Statement | StreamSQLError)


@given(st.sampled_from(GOOD), st.data())
def test_damaged_statements_give_statements_or_an_error(sql: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(sql)))
    length = data.draw(st.integers(0, 12))
    text = sql[:start] + data.draw(pieces | st.just("")) + sql[start + length :]
    try:
        for statement in parse(text):
            assert parse_one(to_sql(statement)) == statement
    except StreamSQLError as error:
        assert error.message and error.span is not None
        assert 0 <= error.span.start <= error.span.end <= len(text)
        assert render(error)


@given(fragments)
def test_the_tools_of_the_shell_take_any_text(text: str) -> None:
    for kind, piece, start in tokens(text):
        assert kind and text[start : start + len(piece)] == piece
    for statement, span in split(text):
        assert text[span.start : span.end] == statement
    assert isinstance(expected_keywords(text), set)
    assert isinstance(is_complete(text), bool)
    for parse_text in (parse_expression, parse_type):
        with contextlib.suppress(StreamSQLError):
            parse_text(text)


@given(expressions)
def test_expressions_round_trip(node: Expression) -> None:
    again = parse_expression(to_sql(node))
    assert again == node
    assert repr(again) == repr(node)


@given(sql_types)
def test_types_round_trip(node: SQLType) -> None:
    assert parse_type(to_sql(node)) == node


@given(statements)
def test_statements_round_trip(statement: Statement) -> None:
    text = to_sql(statement)
    again = parse_one(text)
    assert again == statement
    assert to_sql(again) == text
