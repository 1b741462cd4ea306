"""Rows of Python values on their way into a stream or table: checked by type, and as JSON.

The JSON is that of /inserts-stream, which an engine in this process takes too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from streamsql.client.row import Row
from streamsql.errors import BindError, did_you_mean
from streamsql.schema import ROWTIME, Namespace
from streamsql.types import SQLType, quote
from streamsql.values.nested import Codec, converter
from streamsql.values.python import value_of
from streamsql.values.scalars import json_text
from streamsql.values.wire import to_json_value

if TYPE_CHECKING:
    from streamsql.api.catalogs import Source

BATCH = 500
"""Rows written at a time."""

JSONRow = Mapping[str, Any]
"""JSON values by column name in backticks, which preserves case."""


def batches(source: Source, rows: Iterable[Any]) -> Iterator[list[JSONRow]]:
    """Rows for `RowInserts.write`. TypeMismatchError for a value that is not of its column's type,
    BindError for a row that has not the columns.

    A row is a mapping (or a dataclass, or a result's Row) with columns' names, of which some may be
    left out, or a sequence of values for all columns.
    """
    encode = _encoder(source)
    encoded = map(encode, rows)
    while batch := list(islice(encoded, BATCH)):
        yield batch


def _encoder(source: Source) -> Callable[[Any], JSONRow]:
    kinds = {c.name: c.type for c in source.schema if c.namespace is not Namespace.HEADERS}
    columns = {**kinds, ROWTIME.name: kinds.get(ROWTIME.name, ROWTIME.type)}
    codecs = {
        name: (kind, quote(name), converter(kind, to_json_value, _entries, _members))
        for name, kind in columns.items()
    }

    def encode(row: Any) -> JSONRow:
        found = {}
        for column, given in _cells(source.name, kinds, row).items():
            kind, name, codec = codecs[column]
            value = value_of(given, kind)
            found[name] = None if value is None else codec(value)
        return found

    return encode


def _entries(key: Codec, value: Codec, entries: Mapping[Any, Any]) -> dict[str, Any]:
    """A map's entries: names of a JSON object are texts, that of a null the word."""
    found = {}
    for k, v in entries.items():
        name = None if k is None else key(k)
        text = name if isinstance(name, str) else json_text(name)
        found[text] = None if v is None else value(v)
    return found


def _members(kinds: Sequence[tuple[str, Codec]], struct: Mapping[str, Any]) -> dict[str, Any]:
    return {
        quote(name): None if (cell := struct.get(name)) is None else codec(cell)
        for name, codec in kinds
    }


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
    """The column of that name, otherwise ignoring case."""
    for candidate in (given, given.upper()):
        if candidate in kinds or candidate == ROWTIME.name:
            return candidate
    hint = did_you_mean(given, kinds) or f"{name} has the columns {', '.join(kinds)}."
    raise BindError(f"{name} has no column {given}", hint=hint)
