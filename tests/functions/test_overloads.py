"""Each overload of each function is called with columns of fitting types: Spark has to understand
what is built of it, and to give the type that the signature announces."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from sqlglot import exp

from streamsql import types
from streamsql.executor.expressions.expression import ColumnContext, aggregate, column
from streamsql.executor.spark.jvm import Jvm
from streamsql.executor.spark.types import spark_type
from streamsql.functions import REGISTRY, AggregateFunction, Function
from streamsql.functions.base import Overload
from streamsql.functions.signature import Parameter, Pattern
from streamsql.nodes import Expression
from streamsql.planner.types.inference import infer
from streamsql.types import SQLType, type_of

pytestmark = pytest.mark.spark

VARIABLES: list[SQLType] = [types.BIGINT, types.STRING, types.DATE, types.TIMESTAMP, types.TIME]
"""The values of a type variable, one after the other."""


@dataclass
class Caller:
    """Builds a call and collects the columns that it reads."""

    variable: SQLType
    columns: dict[str, SQLType]

    def call(self, function: Function, overload: Overload) -> Expression:
        arguments = [self.argument(p) for p in overload.signature.parameters]
        return exp.Anonymous(this=function.name, expressions=arguments)

    def argument(self, parameter: Parameter) -> Expression:
        pattern = parameter.pattern
        if pattern.name == "LAMBDA":
            return _lambda(pattern)
        if pattern.name == "INTERVALUNIT":
            return exp.Var(this="DAYS")
        if parameter.constant:
            return (_NAMED.get(parameter.name) or _CONSTANTS[pattern.name]).copy()
        kind = self.type(pattern)
        name = f"C{len(self.columns)}"
        self.columns[name] = kind
        return exp.Column(this=exp.to_identifier(name, quoted=True))

    def type(self, pattern: Pattern) -> SQLType:
        if pattern.name in ("D", "DECIMAL"):
            return types.decimal(6, 2)
        if pattern.is_variable:
            return self.variable
        inner = [self.type(p) for p in pattern.inner]
        if pattern.name == "ARRAY":
            return types.array(inner[0])
        return types.map_(*inner) if inner else types.PRIMITIVES[pattern.name]


_CONSTANTS: dict[str, Expression] = {
    "INT": exp.Literal.number("1"),
    "STRING": exp.Literal.string("(a)(b)"),
    "DOUBLE": exp.Literal.number("0.5"),
    "BOOLEAN": exp.Boolean(this=False),
}
_NAMED: dict[str, Expression] = {
    "part": exp.Literal.string("hour"),
    "pattern": exp.Literal.string("YYYY-MM-DD"),
    "unit": exp.Literal.string("hour"),
}


def _lambda(pattern: Pattern) -> Expression:
    """Gives its first parameter, or a condition about it."""
    *parameters, result = pattern.inner
    names = [f"P{i}" for i in range(len(parameters))]
    first: Expression = exp.Column(this=exp.to_identifier(names[0], quoted=True))
    body = exp.Is(this=first, expression=exp.Null()) if result.name == "BOOLEAN" else first
    return exp.Lambda(this=body, expressions=[exp.to_identifier(n, quoted=True) for n in names])


def _calls(function: Function, columns: dict[str, SQLType]) -> list[Expression]:
    calls = []
    for overload in function.overloads:
        generic = overload.signature.generics > 0
        for variable in VARIABLES if generic else VARIABLES[:1]:
            call = Caller(variable, columns).call(function, overload)
            calls.append(infer(call, columns))
    return calls


@pytest.mark.parametrize("function", list(REGISTRY), ids=lambda f: f.name)
def test_spark_gives_the_announced_type(function: Function, spark: SparkSession) -> None:
    columns: dict[str, SQLType] = {}
    calls = _calls(function, columns)
    nulls = [F.lit(None).cast(spark_type(kind)).alias(name) for name, kind in columns.items()]
    order = F.struct(F.lit(0).alias("offset"), F.lit(0).alias("partition"))
    rows = spark.range(1).select(*nulls, order.alias("$order"))
    context = ColumnContext(columns={n: F.col(n) for n in columns}, jvm=Jvm(spark))
    if isinstance(function, AggregateFunction):
        answer = rows.agg(*(aggregate(call, context, F.col("`$order`")) for call in calls))
    else:
        answer = rows.select(*(column(call, context) for call in calls))
    for call, field in zip(calls, answer.schema, strict=True):
        expected = type_of(call)
        if REGISTRY.is_table_function(function.name):
            expected = types.array(expected)
        assert field.dataType.simpleString() == spark_type(expected).simpleString(), call.sql()
