"""Random expressions: whatever stands there, typing gives a type or says what does not fit."""

from __future__ import annotations

from hypothesis import given
from planner.test_infer_cases import COLUMNS
from sql_strategies import expressions
from sqlglot import exp

from streamsql.errors import InternalError, StreamSQLError, render
from streamsql.nodes import Expression
from streamsql.parser import to_sql
from streamsql.planner.types.constants import evaluate_constant
from streamsql.planner.types.inference import infer, is_constant
from streamsql.types import SQLType, type_of
from streamsql.types import to_sql as type_sql

KINDS = list(COLUMNS.values())


def column_type(column: exp.Column) -> SQLType:
    """Any type, but always the same for a name."""
    return KINDS[sum(map(ord, column.name)) % len(KINDS)]


@given(expressions)
def test_typing_explains_itself(expression: Expression) -> None:
    before = to_sql(expression)
    try:
        typed = infer(expression, column_type)
    except StreamSQLError as error:
        assert not isinstance(error, InternalError), error
        assert render(error)
    else:
        type_sql(type_of(typed))
        assert to_sql(infer(typed, column_type)) == to_sql(typed)
        if is_constant(typed):
            _evaluate(typed)
    assert to_sql(expression) == before


def _evaluate(typed: Expression) -> None:
    try:
        evaluate_constant(typed)
    except StreamSQLError as error:
        assert not isinstance(error, InternalError), error
