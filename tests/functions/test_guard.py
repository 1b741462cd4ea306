"""Failures of expressions: where they are noted, and what is left of the expression then."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from functions.evaluation import COLUMNS, typed
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from streamsql.executor.expressions.expression import (
    ColumnContext,
    column,
    predicate,
    table_function,
)

pytestmark = pytest.mark.spark


@dataclass
class RecordingGuard:
    """Notes what the lowering asks of it; failures are plain nulls."""

    finished: list[tuple[str, str]] = field(default_factory=list)
    contained: list[str] = field(default_factory=list)
    messages: int = 0

    def fail(self, message: Column, data_type: DataType) -> Column:
        self.messages += 1
        return F.lit(None).cast(data_type)

    def finish(self, value: Column, data_type: DataType, text: str) -> Column:
        self.finished.append((text, data_type.simpleString()))
        return value

    def contain(self, value: Column, data_type: DataType, text: str) -> Column:
        self.contained.append(text)
        return value


def context(guard: RecordingGuard) -> ColumnContext:
    return ColumnContext({name: F.col(name) for name in COLUMNS}, guard)


@pytest.mark.parametrize(
    ("sql", "finished"),
    [
        ("I / 2", []),
        ("I + L * 3", []),
        ("UCASE(S) || 'x'", []),
        ("CAST(I AS STRING)", []),
        ("CAST(I AS DECIMAL(12, 2))", []),
        ("I > 3 AND S = 'a' OR N IS NULL", []),
        ("CASE WHEN I > 3 THEN 'many' ELSE 'few' END", []),
        ("I / N", [("(I / N)", "int")]),
        ("COALESCE(1 / I, 5)", [("COALESCE((1 / I), 5)", "int")]),
        ("CAST(S AS INT)", [("CAST(S AS INTEGER)", "int")]),
        ("B AND I > 3", [("(B AND (I > 3))", "boolean")]),
        ("TRANSFORM(A, x => x > 1)", []),
        ("TRANSFORM(A, x => 1 / x)", [("TRANSFORM(A, X => (1 / X))", "array<int>")]),
        ("FILTER(A, x => x > 1)", []),
        ("CASE WHEN B THEN 1 END", [("(CASE WHEN B THEN 1 END)", "int")]),
        ("FORMAT_TIMESTAMP(TS, 'yyyy', 'UTC')", []),
        ("FORMAT_TIMESTAMP(TS, S)", [("FORMAT_TIMESTAMP(TS, S)", "string")]),
        ("REGEXP_REPLACE(S, 'a+', 'b')", []),
        ("ROUND(D, 2)", []),
        ("PARSE_DATE(S, 'yyyy')", [("PARSE_DATE(S, 'yyyy')", "date")]),
    ],
)
def test_only_what_can_fail_is_guarded(
    sql: str, finished: list[tuple[str, str]], spark: SparkSession
) -> None:
    guard = RecordingGuard()
    column(typed(sql), context(guard))
    assert guard.finished == finished
    assert bool(guard.messages) == bool(finished)


@pytest.mark.parametrize(
    ("sql", "contained"),
    [
        ("COALESCE(PARSE_DATE(S, 'yyyy'), DA)", ["PARSE_DATE(S, 'yyyy')"]),
        ("COALESCE(UCASE(S), S)", []),
        ("COALESCE(1 / I, 5)", []),
        ("COALESCE(CAST(S AS INT), 5)", ["CAST(S AS INTEGER)"]),
        ("CAST(S AS INT)", []),
        ("CAST(CAST(S AS INT) AS STRING)", ["CAST(S AS INTEGER)"]),
        ("CAST(S AS INT) + 1 / I", ["CAST(S AS INTEGER)"]),
        ("ARRAY[1 / I, I]", ["(1 / I)"]),
        ("MAP('a' := 1 / I)", ["(1 / I)"]),
        ("STRUCT(A := 1 / I, B := ABS(1 / I))", ["(1 / I)", "ABS((1 / I))"]),
        ("COALESCE(LEN(FROM_BYTES(BIN, S)), 5)", ["FROM_BYTES(BIN, S)"]),
        ("ABS(ROUND(I / N) + 1)", []),
    ],
)
def test_a_call_inside_a_call_a_cast_or_a_part_of_a_container_fails_by_itself(
    sql: str, contained: list[str], spark: SparkSession
) -> None:
    guard = RecordingGuard()
    column(typed(sql), context(guard))
    assert guard.contained == contained


def test_a_table_function_is_guarded_as_the_array_that_it_gives(spark: SparkSession) -> None:
    guard = RecordingGuard()
    table_function(typed("EXPLODE(GENERATE_SERIES(1, I, N))"), context(guard))
    assert [kind for _, kind in guard.finished] == ["array<int>"]


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("I > 3 AND S = 'a'", "and(>(I, 3), =(S, 'a'))"),
        ("N = 3 OR L > 5", "or(=(N, 3), >(L, CAST(5 AS BIGINT)))"),
        ("NOT (N = 3)", "!(coalesce(=(N, 3), false))"),
    ],
)
def test_a_condition_is_lean(sql: str, text: str, spark: SparkSession) -> None:
    """Null is as good as FALSE at the top of a WHERE: no guards against it."""
    shown = str(predicate(typed(sql), context(RecordingGuard())))
    assert shown == f"Column<'{text}'>"
