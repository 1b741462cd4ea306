"""Results of statements: the contract of engine, shell and server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    # Clients that only show results do not load the types.
    from streamsql.errors import StreamSQLError
    from streamsql.schema import Schema
    from streamsql.types import SQLType

Value = object
"""A cell: None, bool, int, float, Decimal, str, bytes, date, time, datetime, list or dict."""


@dataclass(frozen=True)
class Message:
    """A statement succeeded: `Stream created`, `Created query with ID CSAS_X_1`."""

    text: str
    """Empty if success needs no message."""
    query_id: str | None = None
    token: str | None = None
    """Consistency token of the written records."""
    count: int | None = None
    """How many rows of a table the statement inserted, changed or deleted."""


@dataclass(frozen=True)
class Warning:
    """A statement succeeded or was skipped, with a remark (IF NOT EXISTS on an existing object)."""

    text: str


@dataclass(frozen=True)
class Field:
    """A column of a result; `type` is None for plain text (SHOW)."""

    name: str
    type: SQLType | None = None

    @property
    def type_name(self) -> str | None:
        """The text of the type: `INTEGER`, `DECIMAL(10, 2)`."""
        if self.type is None:
            return None
        from streamsql.types import to_sql

        return to_sql(self.type)


@dataclass(frozen=True)
class Rows:
    """A complete result, such as that of SHOW, with an optional `title`."""

    fields: tuple[Field, ...]
    rows: Sequence[tuple[Value, ...]]
    title: str = ""


@dataclass(frozen=True)
class Text:
    """Preformatted lines: DESCRIBE FUNCTION, EXPLAIN."""

    text: str


@dataclass(frozen=True)
class Row:
    """A row of a push query; a tombstone has its value columns None."""

    values: tuple[Value, ...]
    tombstone: bool = False


@dataclass(frozen=True)
class Progress:
    """Among the rows of a push query over views: all rows of an epoch have come. `time` is when it
    began, in ms since the Unix epoch."""

    epoch: int
    time: int

    def __str__(self) -> str:
        began = datetime.fromtimestamp(self.time / 1000, UTC).replace(tzinfo=None)
        return f"epoch {self.epoch} of {began.isoformat(' ', 'milliseconds')}"


class Cancellable(Protocol):
    """A running result that any thread can cancel."""

    def cancel(self) -> None: ...


@dataclass
class RowStream:
    """A push query: iterate `rows` (blocking), `cancel` to end it. It ends at its LIMIT with a
    `final_message`. Progress is among the rows where the session requests it. PRINT has `lines`
    instead of rows."""

    query_id: str
    fields: tuple[Field, ...]
    rows: Iterator[Row | Progress]
    source: Cancellable = field(repr=False)
    final_message: str | None = None

    def cancel(self) -> None:
        self.source.cancel()


@dataclass
class LineStream:
    """PRINT: lines of text as records arrive."""

    lines: Iterator[str]
    source: Cancellable = field(repr=False)
    final_message: str | None = None

    def cancel(self) -> None:
        self.source.cancel()


@dataclass
class Answer:
    """The result of a pull query in the columns of `schema`; a table's keys are KEY columns. `rows`
    can be iterated once and may raise an error; `final_message` is known at their end."""

    query_id: str
    schema: Schema
    rows: Iterable[Row]
    final_message: str | None = None
    epoch: int | None = None
    """As of which materialized views have been read; None: none has been, or one was between two
    epochs. `streamsql.view.epoch` reads the same rows again."""

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(Field(column.name, column.type) for column in self.schema)


class RowInserts(Protocol):
    """Writes many rows into one stream or table, for one client at a time."""

    @property
    def token(self) -> str | None: ...

    def write(self, rows: Sequence[Mapping[str, Any]]) -> list[StreamSQLError | None]:
        """Writes rows, given by column names, and waits for Kafka's acknowledgements; returns the
        error of each row, in order. After an ExternalError the outcome of all rows is unknown."""
        ...


Result = Message | Warning | Rows | Text | Answer | RowStream | LineStream
