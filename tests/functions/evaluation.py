"""Evaluates SQL expressions on Spark, many at once, and writes their values as text.

The expressions run over a relation of one row that Spark evaluates in the driver, without a job:
hundreds of them take about as long as one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from streamsql import types
from streamsql.errors import StreamSQLError
from streamsql.executor.expressions.expression import ColumnContext, column
from streamsql.executor.spark.types import spark_type
from streamsql.functions import REGISTRY
from streamsql.nodes import Expression
from streamsql.parser import parse_expression
from streamsql.planner.types.inference import infer
from streamsql.types import SQLType, type_of
from streamsql.values.scalars import java_double

COLUMNS: Mapping[str, tuple[SQLType, str]] = {
    "I": (types.INT, "7"),
    "N": (types.INT, "CAST(NULL AS INT)"),
    "L": (types.BIGINT, "CAST(7000000000 AS BIGINT)"),
    "D": (types.DOUBLE, "2.5e0"),
    "P": (types.decimal(6, 2), "CAST(12.50 AS DECIMAL(6, 2))"),
    "S": (types.STRING, "'Stream'"),
    "E": (types.STRING, "''"),
    "NS": (types.STRING, "CAST(NULL AS STRING)"),
    "B": (types.BOOLEAN, "TRUE"),
    "NB": (types.BOOLEAN, "CAST(NULL AS BOOLEAN)"),
    "BIN": (types.BYTES, "CAST('YWJj' AS BYTES)"),
    "DA": (types.DATE, "CAST('2024-02-29' AS DATE)"),
    "TI": (types.TIME, "CAST('10:11:12' AS TIME)"),
    "TS": (types.TIMESTAMP, "CAST('2024-02-29T10:11:12.345' AS TIMESTAMP)"),
    "A": (types.array(types.INT), "ARRAY[3, 1, NULL, 2]"),
    "NA": (types.array(types.INT), "CAST(NULL AS ARRAY<INT>)"),
    "M": (types.map_(types.STRING, types.INT), "MAP('a' := 1, 'b' := 2)"),
    "NM": (types.map_(types.STRING, types.INT), "CAST(NULL AS MAP<STRING, INT>)"),
    "Q": (
        types.struct([("X", types.INT), ("Y", types.STRING)]),
        "STRUCT(X := 1, Y := 'y')",
    ),
    "NQ": (types.struct([("X", types.INT)]), "CAST(NULL AS STRUCT<X INT>)"),
}
"""Columns that the expressions may use, and their values."""


def typed(sql: str) -> Expression:
    """The expression over COLUMNS, typed."""
    return infer(parse_expression(sql), {name: kind for name, (kind, _) in COLUMNS.items()})


def result_type(expression: Expression) -> SQLType:
    """The expression's type; of a table function's call that of all its rows."""
    kind = type_of(expression)
    is_table = REGISTRY.is_table_function(expression.meta.get("function", ""))
    return types.array(kind) if is_table else kind


_RULES = "org.apache.spark.sql.catalyst.optimizer."
_INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # The row's values must not be folded into the expressions over it.
    "spark.sql.optimizer.excludedRules": f"{_RULES}ConstantFolding,{_RULES}CollapseProject",
}


_COMPILED = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "CODEGEN_ONLY",
}


def interpreted(spark: SparkSession) -> AbstractContextManager[None]:
    """Without compiled code: compiling costs far more than evaluating once."""
    return _settings(spark, _INTERPRETED)


@contextmanager
def _settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)


def one_row(spark: SparkSession, *, compiled: bool = False) -> DataFrame:
    """A relation of COLUMNS with one row; over a range, Spark runs a job with compiled code."""
    context = ColumnContext()
    values = [
        column(infer(parse_expression(sql), {}), context).alias(name)
        for name, (_, sql) in COLUMNS.items()
    ]
    if not compiled:
        return spark.sql("SELECT 1 FROM VALUES (1)").select(*values)
    # As the columns of a topic: never constant, as far as Spark can tell, and nullable.
    names = list(COLUMNS)
    unknown = [F.when(F.col("id") >= 0, v).alias(n) for n, v in zip(names, values, strict=True)]
    return spark.range(1).select(*unknown)


def evaluate(spark: SparkSession, sqls: Sequence[str], *, compiled: bool = False) -> list[str]:
    """For each expression `TYPE value`, or the message of the error that typing it gives."""
    answers: dict[int, str] = {}
    ready: list[tuple[int, Expression]] = []
    for i, sql in enumerate(sqls):
        try:
            ready.append((i, typed(sql)))
        except StreamSQLError as error:
            answers[i] = f"{error.kind}: {error.message.splitlines()[0]}"
    with _settings(spark, _COMPILED if compiled else _INTERPRETED):
        for i, expression, value in _values(one_row(spark, compiled=compiled), ready):
            kind = result_type(expression)
            answers[i] = f"{types.to_sql(kind)} {value_text(value, kind)}"
    return [answers[i] for i in range(len(sqls))]


def _values(
    rows: DataFrame, expressions: Sequence[tuple[int, Expression]]
) -> Iterator[tuple[int, Expression, Any]]:
    if not expressions:
        return
    context = ColumnContext(columns={name: F.col(name) for name in COLUMNS})
    columns = [column(e, context).alias(f"c{i}") for i, e in expressions]
    frame = rows.select(*columns)
    for (i, expression), kind in zip(expressions, frame.schema, strict=True):
        expected = spark_type(result_type(expression))
        assert _same(kind.dataType, expected), (
            f"{i}: {expression.sql()} is {kind.dataType.simpleString()} in Spark, "
            f"not {expected.simpleString()}"
        )
    (row,) = frame.collect()
    for (i, expression), value in zip(expressions, row, strict=True):
        yield i, expression, value


def _same(given: DataType, expected: DataType) -> bool:
    return given.simpleString() == expected.simpleString()


@dataclass(frozen=True)
class RaisingGuard:
    """Makes a failure of an expression visible: the evaluation raises its message."""

    def fail(self, message: Column, data_type: DataType) -> Column:
        return F.raise_error(message).cast(data_type)

    def finish(self, value: Column, data_type: DataType, text: str) -> Column:
        return value

    def contain(self, value: Column, data_type: DataType, text: str) -> Column:
        return value


def failure(spark: SparkSession, rows: DataFrame, sql: str) -> str:
    """The message with which the expression fails, or its value if it does not."""
    expression = typed(sql)
    context = ColumnContext({name: F.col(name) for name in COLUMNS}, RaisingGuard())
    with interpreted(spark):
        try:
            ((value,),) = rows.select(column(expression, context)).collect()
        except PySparkException as error:
            message = str(error).splitlines()[0]
            marker = "[USER_RAISED_EXCEPTION] "
            assert marker in message, message
            return message.split(marker)[1].removesuffix(" SQLSTATE: P0001")
    return value_text(value, type_of(expression))


# -- values as text ------------------------------------------------------------------------------


def value_text(value: Any, kind: SQLType) -> str:
    """A value as the cases write it: `'text'`, `[1, NULL]`, `{'a': 1}`, `{X: 1}`, `x'616263'`."""
    if value is None:
        return "NULL"
    if types.is_array(kind):
        inner = types.element_type(kind)
        return f"[{', '.join(value_text(v, inner) for v in value)}]"
    if types.is_map(kind):
        key, inner = types.key_type(kind), types.element_type(kind)
        entries = sorted(f"{value_text(k, key)}: {value_text(v, inner)}" for k, v in value.items())
        return "{" + ", ".join(entries) + "}"
    if types.is_struct(kind):
        fields = types.fields(kind)
        return "{" + ", ".join(f"{n}: {value_text(value[n], t)}" for n, t in fields) + "}"
    return _primitive_text(value, kind)


def _primitive_text(value: Any, kind: SQLType) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if kind == types.STRING:
        return f"'{value}'"
    if kind == types.BYTES:
        return f"x'{bytes(value).hex()}'"
    if kind == types.DOUBLE:
        return java_double(value)
    if kind == types.TIME:
        return (datetime(1970, 1, 1) + timedelta(milliseconds=value)).strftime("%H:%M:%S.") + (
            f"{value % 1000:03d}"
        )
    if isinstance(value, datetime):
        moment = value.replace(tzinfo=None)
        return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}"
    if isinstance(value, date):
        return value.isoformat()
    return f"{value:f}" if types.is_decimal(kind) else str(value)
