"""The columns of a result, and its rows as messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Any, Protocol

from streamsql.postgres.sql.column_names import column_names
from streamsql.postgres.sql.texts import shown
from streamsql.postgres.values.types import PgType, codec_encoder, encoder, type_of
from streamsql.postgres.wire.answers import ColumnForm, data_row
from streamsql.postgres.wire.messages import format_of
from streamsql.results import Field
from streamsql.types import SQLType

RowWriter = Callable[[Sequence[object]], bytes]


@dataclass(frozen=True)
class Column:
    """A column as the client sees it. `of` is the SQL type; None: `type` determines the
    encoding."""

    name: str
    type: PgType
    of: SQLType | None = None

    def writer(self, format: int, zone: tzinfo | None) -> Callable[[object], bytes]:
        """Encodes a value that is not null as a cell."""
        if self.of is not None:
            return encoder(self.of, format, zone)
        return codec_encoder(self.type, format)


def columns_of(fields: Sequence[Field]) -> tuple[Column, ...]:
    """The columns of an engine result."""
    return tuple(Column(shown(f.name), type_of(f.type), f.type) for f in fields)


def named(columns: Sequence[Column], text: str) -> tuple[Column, ...]:
    """The columns of a query with PostgreSQL's names."""
    names = column_names(text, tuple(column.name for column in columns))
    return tuple(replace(c, name=name) for c, name in zip(columns, names, strict=True))


class Form(Protocol):
    """Output of rows: as messages, except for cursors."""

    def writer(self, columns: Sequence[Column]) -> Callable[[Sequence[object]], Any]:
        """Encodes a row's values as a message."""
        ...


class AsTheyAre:
    """The rows of a cursor, whose form is known when they are fetched."""

    def writer(self, columns: Sequence[Column]) -> Callable[[Sequence[object]], Any]:
        """Changes nothing."""
        return tuple


@dataclass(frozen=True)
class RowForm:
    """Rows as DataRow messages, the columns in text or binary as requested."""

    formats: tuple[int, ...] = ()
    zone: tzinfo | None = None

    def description(self, columns: Sequence[Column]) -> list[ColumnForm]:
        return [
            ColumnForm(c.name, c.type.oid, c.type.size, c.type.modifier, self._format(index))
            for index, c in enumerate(columns)
        ]

    def writer(self, columns: Sequence[Column]) -> RowWriter:
        """Encodes a row's values as a DataRow."""
        writers = [c.writer(self._format(index), self.zone) for index, c in enumerate(columns)]

        def write(values: Sequence[object]) -> bytes:
            cells = zip(writers, values, strict=True)
            return data_row([None if v is None else to_cell(v) for to_cell, v in cells])

        return write

    def _format(self, index: int) -> int:
        return format_of(self.formats, index)
