"""Runs tests/cases/infer: `type` blocks of expressions, one a line, and what each one's type and
typed form are, implicit casts included; `error` blocks of one expression and the message a user
sees; `value` blocks of constants and the Python value that INSERT VALUES makes of them."""

from __future__ import annotations

import pytest
from datadriven import Case, cases, check

from streamsql import types
from streamsql.errors import StreamSQLError, render
from streamsql.nodes import Expression
from streamsql.parser import parse_expression, parse_type, to_sql
from streamsql.planner.types.constants import evaluate_constant
from streamsql.planner.types.inference import coerce, infer, is_constant, require_boolean
from streamsql.types import SQLType, type_of

COLUMNS: dict[str, SQLType] = {
    "B": types.BOOLEAN,
    "I": types.INT,
    "L": types.BIGINT,
    "P": types.decimal(6, 2),
    "D": types.DOUBLE,
    "S": types.STRING,
    "BIN": types.BYTES,
    "DA": types.DATE,
    "TI": types.TIME,
    "TS": types.TIMESTAMP,
    "A": types.array(types.INT),
    "AD": types.array(types.decimal(4, 1)),
    "M": types.map_(types.STRING, types.BIGINT),
    "Q": types.struct([("X", types.INT), ("Y", types.STRING)]),
    "ROWTIME": types.BIGINT,
    "WINDOWSTART": types.BIGINT,
}


def typed(sql: str, clause: str) -> Expression:
    return infer(parse_expression(sql), COLUMNS, clause=clause)


def type_lines(case: Case) -> str:
    expressions = [typed(sql, "SELECT") for sql in case.input.splitlines()]
    return "\n".join(f"{types.to_sql(type_of(e))}: {to_sql(e)}" for e in expressions)


def error(case: Case) -> str:
    clause = case.args.get("clause", "SELECT")
    with pytest.raises(StreamSQLError) as caught:
        expression = typed(case.input, clause)
        if clause != "SELECT":
            require_boolean(expression, clause)
    return render(caught.value, case.input)


def value(case: Case) -> str:
    """Lines of `expression` or, for what is inserted into a column, `expression -> type`."""
    return "\n".join(map(_value, case.input.splitlines()))


def _value(line: str) -> str:
    sql, _, target = line.partition(" -> ")
    expression = infer(parse_expression(sql), {})
    assert is_constant(expression)
    try:
        if target:
            expression = coerce(expression, parse_type(target), lax=True)
        return repr(evaluate_constant(expression))
    except StreamSQLError as failure:
        return ". ".join(filter(None, [failure.message, failure.detail]))


@pytest.mark.parametrize("case", cases("infer"))
def test_case(case: Case, rewrite: bool) -> None:
    check(case, {"type": type_lines, "error": error, "value": value}, rewrite)


def test_every_node_has_a_type() -> None:
    sql = "CASE WHEN I IN (1, L) AND S LIKE 'a%' THEN A[1] + Q->X ELSE LEN(S) END"
    for node in typed(sql, "SELECT").walk():
        if not isinstance(node, types.SQLType) and node.find_ancestor(types.SQLType) is None:
            assert node.type is not None or type(node).__name__ == "Identifier", node


def test_constants() -> None:
    for sql in ("1 + 2", "UCASE('a')", "TRANSFORM(ARRAY[1], x => x + 1)", "CAST(NULL AS INT)"):
        assert is_constant(typed(sql, "SELECT")), sql
    for sql in ("I", "RANDOM()", "UUID()", "UNIX_TIMESTAMP()", "COUNT(*)", "1 + L"):
        assert not is_constant(typed(sql, "SELECT")), sql


def test_typing_again_changes_nothing() -> None:
    for sql in ("I + 1.5", "COALESCE(I, L)", "S || 'a'", "-5 + I", "ROWTIME > '2024'"):
        once = typed(sql, "SELECT")
        twice = infer(once, COLUMNS)
        assert twice == once and twice.type == once.type


def test_columns_by_a_function() -> None:
    expression = infer(parse_expression("I + L"), lambda column: COLUMNS[column.name])
    assert expression.type == types.BIGINT
