"""UPDATE, DELETE, TRUNCATE and INSERT of plain tables: rows found by a pull query, and written in
one transaction."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from streamsql.catalog import Source
from streamsql.errors import PlanError
from streamsql.kafka.records import NewRecord
from streamsql.nodes import (
    Delete,
    InsertInto,
    InsertValues,
    SelectItem,
    Truncate,
    Update,
)
from streamsql.planner.ddl.row_changes import RowsPlan
from streamsql.planner.plans.statements import InsertValuesPlan, PullPlan
from streamsql.planner.returning import returning_query
from streamsql.planner.types.constants import evaluate_constant
from streamsql.properties import standard
from streamsql.results import Result
from streamsql.runtime.state import Context
from streamsql.schema import ROW_KEY
from streamsql.statements import pull
from streamsql.statements.dispatch import handle
from streamsql.statements.tables.seen import up_to_date
from streamsql.statements.tables.writing import write
from streamsql.values.python import value_of
from streamsql.values.records import key_encoder, value_encoder

Cells = Mapping[str, Any]


@handle.register
def update(statement: Update, context: Context) -> Iterable[Result]:
    return change_rows(statement, context)


@handle.register
def delete(statement: Delete, context: Context) -> Iterable[Result]:
    return change_rows(statement, context)


@handle.register
def truncate(statement: Truncate, context: Context) -> Iterable[Result]:
    return change_rows(statement, context)


def change_rows(
    statement: Update | Delete | Truncate | InsertInto, context: Context
) -> Iterable[Result]:
    plan = context.plan(statement)
    assert isinstance(plan, RowsPlan)
    return write_rows(plan, context)


def write_rows(plan: RowsPlan, context: Context) -> Iterable[Result]:
    """Returns when the transaction is committed, or its records wait for COMMIT."""
    table = plan.source
    current = up_to_date(context, table.topic.name)
    rows = [row.values for row in pull.answer(plan.pull, current).rows]
    old, changed = _cells(plan, rows)
    records = [] if plan.deletes else records_of(table, changed)
    records = [*tombstones(table, changed if plan.deletes else old), *records]
    return _written(records, changed, plan.returning, table, context)


def insert_rows(
    statement: InsertValues, planned: InsertValuesPlan, context: Context
) -> Iterable[Result]:
    """INSERT .. VALUES of constants."""
    table = planned.source
    rows = [
        dict(zip(row.columns, map(evaluate_constant, row.expressions), strict=True))
        for row in planned.rows
    ]
    return _written(records_of(table, rows), rows, statement.returning, table, context)


def _written(
    records: Sequence[NewRecord],
    rows: Sequence[Cells],
    returning: Sequence[SelectItem],
    table: Source,
    context: Context,
) -> list[Result]:
    """Writes the records of the rows; RETURNING is planned before that, so that an error in it
    leaves all as it was."""
    if not returning:
        return [write(context, {table.topic.name: records}, len(rows))]
    session = replace(context.session, properties=standard(context.session.properties))
    of_standard = replace(context, session=session)
    planned = of_standard.plan(returning_query(returning, table, rows))
    assert isinstance(planned, PullPlan)
    message = write(context, {table.topic.name: records}, len(rows))
    return [pull.answer(planned, of_standard), message]


def _cells(
    plan: RowsPlan, rows: Sequence[Sequence[Any]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Of an UPDATE that moves rows the keys that they had; and the rows to write or to delete."""
    table = plan.source
    keys = [column.name for column in table.schema.key]
    before = len(keys) if len(plan.pull.schema) > len(plan.columns) else 0
    types = {column.name: column.type for column in table.schema}
    old, changed = [], []
    for row in rows:
        if plan.moves:
            old.append(dict(zip(keys, row[:before], strict=True)))
        cells = zip(plan.columns, row[before:], strict=True)
        changed.append({name: value_of(value, types[name]) for name, value in cells})
    return old, changed


def records_of(table: Source, rows: Iterable[dict[str, Any]]) -> list[NewRecord]:
    """A record for each row; a row of a table without a key gets one. PlanError where a part of the
    key, or a column that is NOT NULL, is null."""
    of_key = key_encoder(table.topic, table.schema)
    of_value = value_encoder(table.topic, table.schema)
    names = [column.name for column in table.schema.key]
    required = [*names, *(d.name for d in table.definitions if d.not_null and d.name not in names)]
    records = []
    for cells in rows:
        if names == [ROW_KEY]:
            cells = {ROW_KEY: uuid.uuid4().hex, **cells}
        for name in required:
            if cells.get(name) is None:
                why = "is a part of the primary key" if name in names else "is NOT NULL"
                raise PlanError(f"null value in column {name} of table {table.name}, which {why}")
        records.append(NewRecord(of_key(cells), of_value(cells)))
    return records


def tombstones(table: Source, rows: Iterable[Cells]) -> list[NewRecord]:
    of_key = key_encoder(table.topic, table.schema)
    return [NewRecord(of_key(cells), None) for cells in rows]
