"""COPY: rows of a query out, rows into a stream or table."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from decimal import Decimal
from functools import partial
from typing import Any

from streamsql.engine import Engine
from streamsql.errors import CatalogError, StreamSQLError
from streamsql.postgres.channel import Channel
from streamsql.postgres.client import Client
from streamsql.postgres.copy_forms import Cells, CopyForm, CopyReader
from streamsql.postgres.errors import BAD_COPY, WRONG_VALUE, PgError
from streamsql.postgres.sql.commands import Copy
from streamsql.postgres.sql.texts import Piece, shown
from streamsql.postgres.values import scalars
from streamsql.postgres.values.types import decoder, of_record, type_of
from streamsql.postgres.wire import answers
from streamsql.postgres.wire.messages import CopyData, CopyDone, CopyFail, Flush, Sync
from streamsql.results import RowInserts
from streamsql.roles import acting_as
from streamsql.schema import Column
from streamsql.types import (
    INTERVAL,
    SQLType,
    element_type,
    fields,
    innermost,
    is_json,
    is_row,
    quote,
)
from streamsql.values.intervals import Interval, interval
from streamsql.values.nested import json_writer

BATCH = 1000


async def copy_to(command: Copy, piece: Piece, client: Client, channel: Channel) -> None:
    """COPY .. TO STDOUT. The rows of a push query are flushed as they arrive."""
    form = CopyForm.of(command.options, client.settings.zone)
    text = command.query
    if text is None:
        columns = ", ".join('"' + name.replace('"', '""') + '"' for name in command.columns)
        text = f"SELECT {columns or '*'} FROM {command.target}"
    query = await client.prepare(Piece(text, piece.start + command.offset))
    results = await client.start(query, (), form)
    count = 0
    try:
        if results.columns is None:
            raise PgError("42601", "COPY TO takes a SELECT")
        channel.write(answers.copy_out(len(results.columns), form.code))
        if results.continuous:
            await channel.flush()
        while rows := await results.take(None):
            count += len(rows)
            for row in rows:
                channel.write(row)
            if (results.continuous or channel.full) and await channel.is_slow():
                results.park()
                await channel.flush()
    finally:
        results.close()
    rest = form.end if count else form.head(results.columns) + form.end
    if rest:
        channel.write(answers.copy_data(rest))
    channel.write(answers.COPY_DONE + answers.complete(f"COPY {count}"))


async def copy_from(command: Copy, piece: Piece, client: Client, channel: Channel) -> None:
    """COPY .. FROM STDIN. Rows are written as they arrive: an invalid one ends it, and earlier ones
    are kept."""
    form = CopyForm.of(command.options)
    if command.query is not None:
        raise PgError("42601", "COPY FROM takes the name of a stream or table")
    short = client.limits.short
    target, columns = await short(lambda: _target(command, client.engine))
    with acting_as(client.session.role):
        inserts = await short(lambda: client.engine.inserts(quote(target), client.session))
    copied = _Copied(inserts, columns, form, client.config.max_message_bytes, target)
    await channel.say(answers.copy_in(len(columns), form.code))
    while True:
        match await channel.read():
            case CopyData(data):
                await short(partial(copied.take, data))
            case CopyDone():
                await short(lambda: copied.take(b"", last=True))
                break
            case CopyFail(reason):
                raise PgError("57014", f"COPY from stdin failed: {reason}")
            case Sync() | Flush():
                continue
            case other:
                name = type(other).__name__
                raise PgError("08P01", f"unexpected message {name} during COPY from stdin")
    channel.write(answers.complete(f"COPY {copied.written}"))


def _target(command: Copy, engine: Engine) -> tuple[str, list[Column]]:
    *schema, name = command.target.split(".")
    if [part.strip('"').lower() for part in schema] not in ([], ["public"]):
        raise CatalogError(f"{command.target} does not exist")
    name = shown(name.strip('"') if name.startswith('"') else name.lower())
    schema_of = engine.inspection.source(name).schema
    known = [*schema_of.key, *schema_of.value]
    if not command.columns:
        return name, known
    by_name = {column.name: column for column in known}
    missing = [given for given in command.columns if shown(given) not in by_name]
    if missing:
        raise PgError("42703", f'column "{missing[0]}" of relation "{command.target}" is not there')
    return name, [by_name[shown(given)] for given in command.columns]


class _Copied:
    """Rows on the way into a topic. Blocks: used in threads, one after the other."""

    def __init__(
        self,
        inserts: RowInserts,
        columns: Sequence[Column],
        form: CopyForm,
        bound: int,
        target: str,
    ) -> None:
        self._inserts = inserts
        self._reader = CopyReader(form, bound)
        self._readers = [(quote(c.name), _reader(c, form.code)) for c in columns]
        self._where = shown(target)
        self.written = 0

    def take(self, data: bytes, *, last: bool = False) -> None:
        """Writes the complete rows received so far."""
        batch: list[dict[str, Any]] = []
        for cells in self._reader.feed(data, last=last):
            batch.append(self._row(cells))
            if len(batch) == BATCH:
                self._write(batch)
                batch = []
        self._write(batch)

    def _row(self, cells: Cells) -> dict[str, Any]:
        if len(cells) != len(self._readers):
            what = "missing data" if len(cells) < len(self._readers) else "extra data"
            raise self._wrong(BAD_COPY, f"{what}: {len(cells)} of {len(self._readers)} columns")
        row = {}
        for (name, read), cell in zip(self._readers, cells, strict=True):
            try:
                row[name] = None if cell is None else read(cell)
            except (ValueError, OverflowError, ArithmeticError) as error:
                raise self._wrong(WRONG_VALUE, f"column {name}: {error}") from None
        return row

    def _write(self, batch: list[dict[str, Any]]) -> None:
        if not batch:
            return
        outcomes = self._inserts.write(batch)
        self.written += sum(outcome is None for outcome in outcomes)
        for error in filter(None, outcomes):
            assert isinstance(error, StreamSQLError)
            raise self._wrong(WRONG_VALUE, error.message)

    def _wrong(self, code: str, message: str) -> PgError:
        where = f"COPY {self._where}, line {self._reader.lines}: {self.written} rows were written."
        return PgError(code, message, detail=where)


def _reader(column: Column, format: int) -> Callable[[bytes], Any]:
    """From a field to its JSON value, which inserts take."""
    kind = type_of(column.type)
    read = decoder(kind, format)
    if kind.codec is scalars.JSONB and not is_json(column.type):
        return lambda data: _parsed(read(data))
    if column.type == INTERVAL:
        return lambda data: asdict(interval(read(data)) or Interval())
    if is_row(innermost(column.type)) and not format:
        return partial(_record, column.type)
    write = json_writer(column.type, lambda entry: entry.json)
    return lambda data: json.loads(write(read(data)), parse_float=Decimal)


def _record(kind: SQLType, data: bytes) -> Any:
    """A row, or rows in arrays: of fields in PostgreSQL's form, or as JSON."""
    found = decoder(type_of(kind), 0)(data)
    return _row_of(kind, found)


def _row_of(kind: SQLType, found: Any) -> Any:
    if isinstance(found, list):
        return [None if item is None else _row_of(element_type(kind), item) for item in found]
    if found.lstrip().startswith("{"):
        return _parsed(found)
    cells = of_record(found)
    members = fields(kind)
    if len(cells) != len(members):
        raise ValueError(f"a row of {len(cells)} fields instead of {len(members)}")
    return {
        name: None if cell is None else _reader(Column(name, member), 0)(cell.encode())
        for (name, member), cell in zip(members, cells, strict=True)
    }


def _parsed(found: Any) -> Any:
    """The values of JSON texts, which may be in arrays."""
    if isinstance(found, list):
        return [None if item is None else _parsed(item) for item in found]
    return json.loads(found, parse_float=Decimal)
