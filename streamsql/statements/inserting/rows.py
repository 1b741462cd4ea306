"""Inserts of many rows as JSON objects: /inserts-stream and clients. Rules and messages are those
of INSERT .. VALUES, planned once per set of columns."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from streamsql.catalog import Source
from streamsql.errors import CatalogError, ParseError, PlanError, StreamSQLError, UserError
from streamsql.kafka.client import NewRecord
from streamsql.ksqldb import says
from streamsql.nodes import InsertValues
from streamsql.parser import parse_one
from streamsql.planner import permissions
from streamsql.planner.plans.statements import InsertValuesPlan
from streamsql.registry.serdes import Schemas
from streamsql.runtime.state import Context
from streamsql.schema import ROWTIME, Kind, is_hidden
from streamsql.statements.inserting.json_cells import cell, named
from streamsql.statements.inserting.records import insert_records
from streamsql.statements.tables.changes import records_of
from streamsql.tokens import to_token
from streamsql.types import BIGINT, quote
from streamsql.values.records import can_encode, key_encoder, value_encoder

Outcome = StreamSQLError | None
"""Result of a row: None if Kafka acknowledged it."""


class RowInserts:
    """Inserts into one target, for one client at a time."""

    def __init__(self, target: str, context: Context) -> None:
        """`name` is the target in SQL. Raises the errors of INSERT VALUES."""
        self._target = _name(target)
        self._context = context
        self._source: Source | None = None
        """The target of the plans."""
        self._plans: dict[tuple[str, ...], InsertValuesPlan] = {}
        self._columns: dict[str, str] = {}
        self.token: str | None = None
        """Consistency token of the last `write`."""
        self._look()

    def _look(self) -> None:
        """Plans for the current target, if it has changed. Raises the errors of INSERT VALUES if it
        was dropped, or rejects rows."""
        source = self._context.state.catalog.sources.get(self._target)
        if source is not None and source is self._source:
            return
        self._plans.clear()
        names = source.schema.names if source is not None else ()
        self._columns = {
            form: name for name in (*names, ROWTIME.name) for form in (name.upper(), quote(name))
        }
        # With all columns, only the target itself can be invalid.
        columns = (*source.schema.key, *source.schema.value) if source is not None else ()
        of_records = [column for column in columns if not is_hidden(column.name)]
        try:
            self._plan(tuple(column.name for column in of_records))
        except CatalogError as error:
            error.ksqldb = says("inserts-target", name=quote(self._target))
            raise
        self._source = source

    def write(self, rows: Sequence[Mapping[str, Any]]) -> list[Outcome]:
        """Writes rows and waits for Kafka; returns the outcome of each, in order. After an
        ExternalError the outcome of all rows is unknown. CatalogError if the target was dropped:
        nothing was written."""
        self.token = None
        self._look()
        planned = [self._cells(row) for row in rows]
        good = [p for p in planned if not isinstance(p, StreamSQLError)]
        if good:
            topic = good[0][0].source.topic.name
            written = insert_records(self._context.state.services, topic, self._records(good))
            self.token = to_token({topic: written})
        return [p if isinstance(p, StreamSQLError) else None for p in planned]

    def _plan(self, columns: tuple[str, ...]) -> InsertValuesPlan:
        plan = self._plans.get(columns)
        if plan is None:
            names = ", ".join(map(quote, columns)) or "ROWTIME"
            nulls = ", ".join("NULL" for _ in columns) or "0"
            sql = f"INSERT INTO {quote(self._target)} ({names}) VALUES ({nulls})"
            statement = parse_one(sql)
            permissions.check(statement, self._context.session)
            found = self._context.plan(statement)
            assert isinstance(found, InsertValuesPlan)
            plan = self._plans[columns] = found
        return plan

    def _cells(self, row: Mapping[str, Any]) -> _Planned | StreamSQLError:
        given = named(row)
        columns = tuple(self._columns.get(name, name) for name in given)
        try:
            plan = self._plan(columns)
            types = {column.name: column.type for column in plan.source.schema}
            cells = {
                name: cell(value, types.get(name, BIGINT))
                for name, value in zip(columns, given.values(), strict=True)
            }
            _check_key(plan, cells)
        except UserError as error:
            error.span = None  # It points into a statement that the user has not written.
            return error
        return plan, cells

    def _records(self, planned: Sequence[_Planned]) -> list[NewRecord]:
        source = planned[0][0].source
        if source.is_plain:
            return records_of(source, [cells for _, cells in planned])
        now = int(time.time() * 1000)
        times = [cells.get(ROWTIME.name) for _, cells in planned]
        if can_encode(source.topic):
            of_key = key_encoder(source.topic, source.schema)
            of_value = value_encoder(source.topic, source.schema)
            pairs = [(of_key(cells), of_value(cells)) for _, cells in planned]
        else:
            from streamsql.executor.frames.encode_rows import encode_rows

            services, session = self._context.state.services, self._context.session
            schemas = Schemas(lambda: services.registry(session.properties))
            rows = [cells for _, cells in planned]
            pairs = encode_rows(services.spark.get().session, source, rows, schemas.writing)
        return [
            NewRecord(key, value, now if moment is None else moment)
            for (key, value), moment in zip(pairs, times, strict=True)
        ]


_Planned = tuple[InsertValuesPlan, dict[str, Any]]


def _name(target: str) -> str:
    """Folded to upper case unless quoted by backticks."""
    statement = parse_one(f"INSERT INTO {target} VALUES (NULL)")
    if not isinstance(statement, InsertValues) or statement.columns:
        raise ParseError(f"invalid name of a stream or table: {target}")
    return statement.target


def _check_key(plan: InsertValuesPlan, cells: Mapping[str, Any]) -> None:
    if plan.source.kind is Kind.TABLE:
        for column in plan.source.schema.key:
            if not is_hidden(column.name) and cells.get(column.name) is None:
                raise PlanError(
                    f"Failed to insert values into '{plan.source.name}'. "
                    f"The primary key column {column.name} must not be null"
                )
