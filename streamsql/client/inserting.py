"""INSERT statements for rows of Python values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

from streamsql.client.literals import literal
from streamsql.client.row import Row
from streamsql.errors import BindError, did_you_mean
from streamsql.schema import ROWTIME, Namespace
from streamsql.types import SQLType, quote

if TYPE_CHECKING:
    from streamsql.api.catalogs import Source

BATCH = 200
"""Rows sent at a time."""


def insert_batches(source: Source, rows: Iterable[Any]) -> Iterator[tuple[str, int]]:
    """Texts of INSERT statements, with how many there are in each.

    A row is a mapping (or a dataclass, or a result's Row) with columns' names, of which some may be
    left out, or a sequence of values for all columns.
    """
    kinds = {c.name: c.type for c in source.schema if c.namespace is not Namespace.HEADERS}
    batch: list[str] = []
    for row in rows:
        batch.append(_statement(source.name, kinds, row))
        if len(batch) == BATCH:
            yield "\n".join(batch), len(batch)
            batch = []
    if batch:
        yield "\n".join(batch), len(batch)


def _statement(name: str, kinds: Mapping[str, SQLType], row: Any) -> str:
    cells = _cells(name, kinds, row)
    columns = ", ".join(map(quote, cells))
    values = ", ".join(literal(value, _kind(kinds, column)) for column, value in cells.items())
    return f"INSERT INTO {quote(name)} ({columns}) VALUES ({values});"


def _kind(kinds: Mapping[str, SQLType], column: str) -> SQLType:
    return kinds.get(column, ROWTIME.type)


def _cells(name: str, kinds: Mapping[str, SQLType], row: Any) -> dict[str, Any]:
    if isinstance(row, Row):
        row = row.asdict()
    elif is_dataclass(row) and not isinstance(row, type):
        row = asdict(row)
    if isinstance(row, Mapping):
        return {_column(name, kinds, str(key)): value for key, value in row.items()}
    if not isinstance(row, Sequence) or isinstance(row, str | bytes):
        raise BindError(f"a row for {name} is a mapping or a sequence, not {type(row).__name__}")
    if len(row) != len(kinds):
        raise BindError(f"{name} has {len(kinds)} columns, the row has {len(row)} values")
    return dict(zip(kinds, row, strict=True))


def _column(name: str, kinds: Mapping[str, SQLType], given: str) -> str:
    """The column of that name, in another case if there is none in this one."""
    for candidate in (given, given.upper()):
        if candidate in kinds or candidate == ROWTIME.name:
            return candidate
    hint = did_you_mean(given, kinds) or f"{name} has the columns {', '.join(kinds)}."
    raise BindError(f"{name} has no column {given}", hint=hint)
