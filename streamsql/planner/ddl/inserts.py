"""INSERT INTO .. VALUES: constant expressions, converted to the columns' types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from streamsql.catalog import Catalog, Source
from streamsql.errors import (
    BindError,
    CatalogError,
    ConfigError,
    PlanError,
    StreamSQLError,
    TypeMismatchError,
    UnsupportedError,
    did_you_mean,
)
from streamsql.ksqldb import Sentence, says
from streamsql.nodes import Expression, InsertValues
from streamsql.planner.ddl.row_changes import RowsPlan, plan_inserted_values
from streamsql.planner.plans.context import Planning
from streamsql.planner.plans.dispatch import plan_statement
from streamsql.planner.plans.statements import InsertValuesPlan
from streamsql.planner.scopes.scope import Scope
from streamsql.planner.scopes.spans import span_of
from streamsql.planner.types.arithmetic import base_name
from streamsql.planner.types.binding import aggregates_in, bind, columns_in, table_functions_in
from streamsql.planner.types.constants import NOT_CONSTANT, evaluate_constant
from streamsql.planner.types.empty import expecting
from streamsql.planner.types.inference import coerce, fits_laxly
from streamsql.planner.types.mismatch import mismatch
from streamsql.planner.types.scope import text_of
from streamsql.planner.with_clause.changes import check_writable
from streamsql.properties import INSERT_INTO_VALUES, get_bool
from streamsql.schema import PSEUDO_COLUMNS, ROWTIME, Column, Kind, Namespace, Schema, is_hidden
from streamsql.types import DATE, TIME, TIMESTAMP, is_single, quote, to_sql, type_of

_TIME_FORMATS = {
    TIMESTAMP: ". Timestamp format must be yyyy-mm-ddThh:mm:ss[.S]",
    TIME: ". Time format must be hh:mm:ss[.S]",
    DATE: ". Date format must be yyyy-mm-dd",
}
"""ksqlDB's advice for text in place of a time."""


def plan_insert_values(
    statement: InsertValues, catalog: Catalog, session: Mapping[str, str]
) -> InsertValuesPlan:
    """The typed expressions by column."""
    if get_bool(session, INSERT_INTO_VALUES) is False:
        raise ConfigError(
            f"INSERT INTO .. VALUES is switched off by '{INSERT_INTO_VALUES}'",
            ksqldb=says("inserts-disabled"),
        )
    source = _target(statement, catalog)
    rows = [replace(statement, values=values, more=()) for values in statement.rows]
    first, *more = [_row(row, source, catalog) for row in rows]
    return replace(first, more=tuple(more))


def _row(statement: InsertValues, source: Source, catalog: Catalog) -> InsertValuesPlan:
    expressions = constants(statement, source, catalog)
    _check_primary_key(source, expressions, statement)
    rowtime = expressions.pop(ROWTIME.name, None)
    return InsertValuesPlan(source, tuple(expressions), tuple(expressions.values()), rowtime)


def constants(
    statement: InsertValues,
    source: Source,
    catalog: Catalog,
    besides: tuple[Column, ...] = (ROWTIME,),
) -> dict[str, Expression]:
    """The typed expressions by column; `besides` are pseudo columns that can be given a value."""
    columns = _columns(statement, source, besides)
    return {
        column.name: _value(value, column, source, catalog)
        for column, value in zip(columns, statement.values, strict=True)
    }


def _target(statement: InsertValues, catalog: Catalog) -> Source:
    name = statement.target
    source = catalog.sources.get(name)
    if source is None:
        raise _unknown_target(statement, catalog)
    kind = source.kind.value.lower()
    if source.is_source:
        raise PlanError(f"Cannot insert values into read-only {kind}: {name}", span=statement.span)
    check_writable(source.topic.value_format.name, name)
    if source.is_windowed:
        raise PlanError(
            f"Cannot insert values into windowed {kind}: {name}",
            span=statement.span,
            ksqldb=says("insert-into-windowed"),
        )
    return source


def _unknown_target(statement: InsertValues, catalog: Catalog) -> CatalogError:
    name = statement.target
    message = f"Cannot insert values into an unknown stream/table: {quote(name)}"
    for other in catalog.sources:
        if other.upper() == name.upper():
            upper = other == other.upper()
            advice = (
                "try removing double quotes from the source name."
                if upper
                else "wrap the source name in double quotes to make it case-sensitive."
            )
            shown = other if upper else f'"{other}"'
            return CatalogError(
                message,
                hint=f"Did you mean {shown}? {advice}",
                span=statement.span,
                ksqldb=says("insert-target", name=quote(name), other=shown, advice=advice),
            )
    return CatalogError(
        message,
        hint=did_you_mean(name, catalog.sources) or "SHOW STREAMS and SHOW TABLES list them.",
        span=statement.span,
    )


def _columns(statement: InsertValues, source: Source, besides: tuple[Column, ...]) -> list[Column]:
    """The columns of the values: those listed, or keys followed by values."""
    if not statement.columns:
        columns = [c for c in source.shown if c.namespace is not Namespace.HEADERS]
        if source.is_plain:
            # As in PostgreSQL, the last columns may be left out.
            columns = columns[: len(statement.values)]
        if len(columns) != len(statement.values):
            names = ", ".join(quote(c.name) for c in columns)
            shown = ", ".join(map(text_of, statement.values))
            reason = "Expected a value for each column. "
            raise PlanError(
                f"{reason}Expected Columns: [{', '.join(c.name for c in columns)}]. "
                f"Got {len(statement.values)} values",
                hint="List the columns that you give: INSERT INTO name (column, ..) VALUES (..).",
                span=statement.span,
                ksqldb=_cannot(source, f"{reason}Expected Columns: [{names}]. Got [{shown}]"),
            )
        return columns
    if len(statement.columns) != len(statement.values):
        raise PlanError(
            "Expected number columns and values to match: "
            f"{len(statement.columns)}, {len(statement.values)}",
            span=statement.span,
        )
    return [_column(name, source, statement, besides) for name in statement.columns]


def _column(
    name: str, source: Source, statement: InsertValues, besides: tuple[Column, ...]
) -> Column:
    if statement.columns.count(name) > 1:
        raise PlanError(f"Duplicate column in INSERT: {name}", span=statement.span)
    for pseudo in besides:
        if name == pseudo.name:
            return pseudo
    if name in (c.name for c in PSEUDO_COLUMNS):
        message = f"Inserting into column {quote(name)} is not allowed."
        raise PlanError(
            message,
            hint="Kafka sets it.",
            span=statement.span,
            ksqldb=_cannot(source, message),
        )
    column = source.schema.find(name)
    if column is None:
        message = f"Column name {quote(name)} does not exist."
        raise BindError(
            message,
            hint=did_you_mean(name, source.schema.names)
            or f"{source.name} has the columns {', '.join(source.schema.names)}.",
            span=statement.span,
            ksqldb=_cannot(source, message),
        )
    if column.namespace is Namespace.HEADERS:
        raise PlanError(f"Cannot insert into HEADER columns: {name}", span=statement.span)
    return column


def _value(value: Expression, column: Column, source: Source, catalog: Catalog) -> Expression:
    for call in (*aggregates_in(value), *table_functions_in(value)):
        raise PlanError(f"{call.name} is not allowed in VALUES", span=span_of(call))
    for found in columns_in(value):
        if found.table:
            raise BindError(
                f"Failed to prepare statement: '{found.table}' is not a valid stream/table name "
                "or alias.",
                hint="Only constants are allowed in VALUES.",
                span=span_of(found),
            )
        raise BindError(
            f"Column '{found.name}' is not allowed in VALUES: only constants are.",
            hint="Text is quoted by single quotes: 'text'.",
            span=span_of(found),
            ksqldb=_cannot(source, says("insert-column", value=text_of(value)).text()),
        )
    bound: Expression | None = None
    try:
        scope = Scope(source.name, Schema(()), types=catalog.types)
        bound = bind(expecting(value, column.type), scope, "VALUES")
        fitted = coerce(bound, column.type, lax=True)
        evaluate_constant(fitted)  # for its errors: an invalid number, a DECIMAL that is too long
        return fitted
    except (UnsupportedError, BindError):
        raise
    except StreamSQLError as error:
        given = None if bound is None else type_of(bound)
        if given and (wrong := mismatch(column.name, given, column.type, fits_laxly)):
            raise TypeMismatchError(
                f"Failed to insert values into '{source.name}'. {wrong.message}.",
                hint=wrong.hint,
                span=error.span or span_of(value),
            ) from error
        raise TypeMismatchError(
            f"Failed to insert values into '{source.name}'. {error.message}",
            detail=error.detail or f"It is for column {column}.",
            hint=error.hint,
            span=error.span or span_of(value),
            ksqldb=_cannot(source, reason) if (reason := _reason(error, bound, column)) else None,
        ) from error


def _cannot(source: Source, reason: str) -> Sentence:
    """ksqlDB's sentence for a failed INSERT."""
    return says("cannot-insert", source=source.name, reason=reason)


def _reason(error: StreamSQLError, value: Expression | None, column: Column) -> str | None:
    """ksqlDB's reason for rejecting a value: it has no type (None: as here), or not the
    column's."""
    if value is None:
        return None if error.ksqldb is None else error.ksqldb.text()
    given = base_name(type_of(value))
    return says(
        "insert-type",
        type=to_sql(column.type),
        field=quote(column.name),
        given=given,
        value=value.name if isinstance(value, exp.Literal) else text_of(value),
        advice=_TIME_FORMATS.get(column.type, "") if given == "STRING" else "",
    ).text()


def _check_primary_key(
    source: Source, given: Mapping[str, Expression], statement: InsertValues
) -> None:
    if source.kind is not Kind.TABLE:
        return
    keys = (c.name for c in source.schema.key if not is_hidden(c.name))
    missing = [name for name in keys if name not in given]
    if missing:
        raise PlanError(
            f"Failed to insert values into '{source.name}'. "
            "Value for primary key column(s) "
            f"{', '.join(missing)} is required for tables",
            span=statement.span,
        )


def _is_simple(statement: InsertValues, table: Source) -> bool:
    """Whether the rows are those of the table as they are written: constants, with no others, and
    none that a REAL rounds."""
    constants = (exp.Literal, exp.Null, exp.Boolean)
    given = set(statement.columns or table.order[: len(statement.values)])
    whole = all(
        definition.generated is None and (definition.default is None or definition.name in given)
        for definition in table.definitions
    )
    whole = whole and not any(is_single(column.type) for column in table.schema)
    return whole and all(isinstance(v, constants) for row in statement.rows for v in row)


@plan_statement.register
def _(statement: InsertValues, planning: Planning) -> InsertValuesPlan | RowsPlan:
    target = planning.catalog.sources.get(statement.target)
    plain = target is not None and target.is_plain
    if target is not None and plain and not _is_simple(statement, target):
        return plan_inserted_values(statement, planning)
    try:
        planned = plan_insert_values(statement, planning.catalog, planning.session)
    except TypeMismatchError:
        if plain:  # whose rows are converted as in an assignment of standard SQL
            return plan_inserted_values(statement, planning)
        raise
    values = (evaluate_constant(e) for row in planned.rows for e in row.expressions)
    if plain and any(value is NOT_CONSTANT for value in values):
        return plan_inserted_values(statement, planning)
    return planned
