"""Match: one row per match of a pattern, by a keyed operator: Spark has none. The operator finds
the rows of a match and evaluates conditions over them with Spark's expressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StructField, StructType
from sqlglot import exp

from streamsql import types
from streamsql.executor.expressions.expression import ColumnContext, column, predicate
from streamsql.executor.frames.context import (
    NULL_COLUMN,
    OFFSET_COLUMN,
    PARTITION_COLUMN,
    TIME_COLUMN,
    Scope,
    made_columns,
    quoted,
    system_columns,
)
from streamsql.executor.frames.guard import JvmErrorGuard, expression_context
from streamsql.executor.frames.keyed import (
    input_rows,
    normalized,
    operate,
    packed_columns,
    struct_type,
    unpacked,
)
from streamsql.executor.frames.layouts import columns_of_type
from streamsql.executor.operators.aggregation.grouping import ORDER, Grouping, grouping, total
from streamsql.executor.operators.lowering import Inputs, Lowering, row_by_row
from streamsql.executor.operators.match_program import program, variables_of
from streamsql.executor.spark.types import spark_type
from streamsql.nodes import Expression, SkipTo
from streamsql.planner.operators import (
    Aggregate,
    Match,
    MatchColumn,
    Named,
    Place,
    keys_text,
    match_text,
)
from streamsql.planner.scopes.text import expression_text
from streamsql.schema import ROWTIME
from streamsql.types import type_of

_KIND, _TOTALS = "patterns.PatternMatches", "patterns.Totals"
_WAITING = "aggregates.WaitingRows"
_STEP = "Match"
_GROUP, _MADE = "$group", "$made"
_AT_ONCE = -1
_AT_THE_END = 2**63 - 1
_FOR_EVER = -1
_LAST_ROW = (None, Place())
_Where = tuple[str | None, Place]
"""A row of a match: its variable, and its position among the rows of the variable."""


@dataclass(frozen=True)
class _Reading:
    """Values read of a match: rows, and aggregates of variables."""

    places: tuple[_Where, ...]
    variables: tuple[str | None, ...]
    """Variables whose rows are aggregated."""
    totals: tuple[DataFrame, ...]
    """For each of these variables its aggregates, over the frame of a row's values."""

    def where(self, of: MatchColumn) -> int:
        """The number of the row or of the aggregates, which follow the rows."""
        if of.place is not None:
            return self.places.index((of.variable, of.place))
        return len(self.places) + self.variables.index(of.variable)


def lower(node: Match, inputs: Inputs, scope: Scope) -> DataFrame:
    (rows,) = inputs
    rows = rows.where(~quoted(NULL_COLUMN))
    grouped = _grouping(node, scope)
    names = scope.layouts.columns(
        list(dict.fromkeys([*_values(node), *grouped.needed])),
        {*_values(node), *grouped.needed, *rows.columns},
        _KIND,
    )
    prepared = _prepare(node, grouped, rows, scope)
    kept = [*packed_columns(rows, names), *([ORDER] if grouped.calls else [])]
    values = prepared.select(*map(quoted, kept))
    numbers = {name: n for n, name in enumerate(variables_of(node.pattern))}
    read = _reading(node.read, grouped, values, scope)
    told = _reading(node.columns, grouped, values, scope, _LAST_ROW)
    width = len(values.columns)
    totals = _java_totals(read, numbers, scope)
    conditions = _conditions(node, read, totals, values.schema, numbers, scope)
    results = scope.jvm.match_results(
        _places(told, numbers), _java_totals(told, numbers, scope), width
    )
    group_type = struct_type(prepared, quoted(_GROUP))
    _note_stores(node, group_type, read, values.schema, scope)
    taken = scope.jvm.pack(F.struct(*map(quoted, values.columns)), values.schema)
    waits = _AT_ONCE if node.grace_ms is None else node.grace_ms
    made = operate(
        [input_rows(prepared, scope.jvm.pack(quoted(_GROUP), group_type), taken)],
        _KIND,
        program(node.pattern),
        conditions,
        results,
        _skip(node, numbers),
        _FOR_EVER if node.within_ms is None else node.within_ms,
        waits if rows.isStreaming else _AT_THE_END,
        scope=scope,
    )
    return _result(node, made, told, values.schema, scope)


# -- rows ----------------------------------------------------------------------------------------


def _values(node: Match) -> dict[str, Expression]:
    """Values of a single row: its columns, and expressions over them."""
    wanted = [key.expression for key in node.keys]
    wanted += [c.expression for c in node.all_columns if c.place is not None]
    return {_value_name(expression): expression for expression in wanted}


def _value_name(expression: Expression) -> str:
    return (
        expression.name if isinstance(expression, exp.Column) else f"${expression_text(expression)}"
    )


def _grouping(node: Match, scope: Scope) -> Grouping:
    named = (Named(c.name, c.expression) for c in node.all_columns if c.place is None)
    return grouping(Aggregate(node.input, (), tuple(named)), scope)


def _prepare(node: Match, grouped: Grouping, rows: DataFrame, scope: Scope) -> DataFrame:
    """Partition and values of each row, in addition to the input's columns."""
    context = expression_context(node.input.schema, scope, _STEP)
    keys = [
        normalized(column(key.expression, context), spark_type(type_of(key.expression))).alias(
            f"key{number}"
        )
        for number, key in enumerate(node.keys)
    ]
    made = {name: column(e, context) for name, e in _values(node).items()}
    made = {**grouped.needed, **made}
    place = F.struct(*map(quoted, (TIME_COLUMN, OFFSET_COLUMN, PARTITION_COLUMN)))
    return rows.select(
        F.struct(*(keys or [F.lit(True).alias("all")])).alias(_GROUP),
        *(value.alias(name) for name, value in made.items() if name not in rows.columns),
        place.alias(ORDER),
        *map(quoted, rows.columns),
    )


# -- values read of a match --------------------------------------------------------------------


def _reading(
    columns: Sequence[MatchColumn],
    grouped: Grouping,
    values: DataFrame,
    scope: Scope,
    *besides: _Where,
) -> _Reading:
    places = [(c.variable, c.place) for c in columns if c.place is not None]
    calls = [c for c in columns if c.place is None]
    variables = tuple(dict.fromkeys(c.variable for c in calls))
    results = dict(
        zip((item.name for item in grouped.node.aggregates), grouped.results(scope), strict=True)
    )
    totals = tuple(
        values.groupBy().agg(*(results[c.name] for c in calls if c.variable == variable))
        for variable in variables
    )
    return _Reading(tuple(dict.fromkeys([*besides, *places])), variables, totals)


def _places(reading: _Reading, numbers: dict[str, int]) -> str:
    return ";".join(
        f"{_number(variable, numbers)},{'true' if place.first else 'false'},"
        f"{place.offset},{place.back}"
        for variable, place in reading.places
    )


def _number(variable: str | None, numbers: dict[str, int]) -> int:
    return -1 if variable is None else numbers[variable]


def _java_totals(reading: _Reading, numbers: dict[str, int], scope: Scope) -> Any:
    buffers = [scope.jvm.aggregate_buffers(frame) for frame in reading.totals]
    variables = ",".join(str(_number(variable, numbers)) for variable in reading.variables)
    return scope.jvm.totals(buffers, variables)


def _conditions(
    node: Match,
    read: _Reading,
    totals: Any,
    values: StructType,
    numbers: dict[str, int],
    scope: Scope,
) -> Any:
    """Conditions over structs: the rows that they read, and the aggregates."""
    kinds = [*(values for _ in read.places), *(frame.schema for frame in read.totals)]
    # A constant condition is a column of some frame, too.
    fields = [StructField(f"s{number}", kind) for number, kind in enumerate(kinds or [values])]
    structs = scope.context.spark.createDataFrame([], StructType(fields))
    context = ColumnContext(columns={c.name: _read(c, read) for c in node.read})
    met = [
        F.coalesce(predicate(c.expression, context), F.lit(False)).alias(f"c{number}")
        for number, c in enumerate(node.conditions)
    ]
    defined = {c.variable: number for number, c in enumerate(node.conditions)}
    where = {c.name: read.where(c) for c in node.read}
    reads = (
        sorted(
            {where[found.name] for found in c.expression.find_all(exp.Column)} & {*where.values()}
        )
        for c in node.conditions
    )
    return scope.jvm.match_conditions(
        structs.select(*met),
        _places(read, numbers),
        totals,
        ",".join(str(defined.get(name, -1)) for name in numbers),
        ";".join(",".join(map(str, found)) for found in reads),
        len(values.fields),
    )


def _read(of: MatchColumn, reading: _Reading) -> Column:
    struct = quoted(f"s{reading.where(of)}")
    if of.place is not None:
        return struct.getField(_value_name(of.expression))
    value = struct.getField(of.name)
    kind = type_of(of.expression)
    return value.cast(spark_type(kind)) if types.is_decimal(kind) else value


def _skip(node: Match, numbers: dict[str, int]) -> str:
    names = {SkipTo.FIRST: "FIRST", SkipTo.LAST: "LAST", SkipTo.NEXT_ROW: "NEXT_ROW"}
    name = names.get(node.after.to, "PAST_LAST_ROW")
    return name if node.after.variable is None else f"{name},{numbers[node.after.variable]}"


# -- state and results --------------------------------------------------------------------------


def _note_stores(
    node: Match, group_type: StructType, read: _Reading, values: StructType, scope: Scope
) -> None:
    text = f"MATCH_RECOGNIZE {keys_text(node) or 'nothing'}: {match_text(node)}"
    key = columns_of_type(group_type)
    scope.layouts.add(_KIND, text, key, columns_of_type(values))
    if read.totals:
        lines = [
            line
            for frame in read.totals
            for line in scope.jvm.aggregate_buffers(frame).layout().splitlines()
        ]
        kept = tuple((name, kind) for name, kind in (line.split("\t") for line in lines))
        scope.layouts.add(_TOTALS, text, key, kept)
    if node.grace_ms is not None:
        scope.layouts.add(_WAITING, text, key, columns_of_type(values))


def _result(
    node: Match, made: DataFrame, told: _Reading, values: StructType, scope: Scope
) -> DataFrame:
    kinds = [*(values for _ in told.places), *(frame.schema for frame in told.totals)]
    parts = StructType([StructField(f"f{n}", BinaryType()) for n in range(len(kinds))])
    opened = made.select(unpacked("made", parts, scope).alias(_MADE), *_system())
    structs = opened.select(
        *(
            scope.jvm.unpack(quoted(_MADE).getField(f"f{n}"), kind).alias(f"s{n}")
            for n, kind in enumerate(kinds)
        ),
        *system_columns(),
    )
    last = quoted(f"s{told.places.index(_LAST_ROW)}")
    rows = structs.select(
        *(last.getField(_value_name(key.expression)).alias(key.name) for key in node.keys),
        *(
            quoted(f"s{told.where(c)}")
            .getField(c.name if c.place is None else _value_name(c.expression))
            .alias(c.name)
            for c in node.columns
        ),
        *system_columns(),
    )
    guard = JvmErrorGuard(scope, _STEP)
    return rows.select(
        *(quoted(key.name) for key in node.keys),
        *(
            total(Named(c.name, c.expression), guard) if c.place is None else quoted(c.name)
            for c in node.columns
        ),
        quoted(TIME_COLUMN).alias(ROWTIME.name),
        *system_columns(),
    )


def _system() -> list[Column]:
    """A match has the time of its last row, and its own place."""
    return made_columns(F.col("time"), F.lit(False), F.col("partition"), F.col("offset"))


LOWERING = Lowering(lower, row_by_row(lower))
