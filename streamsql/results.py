"""What executing a statement gives back: the contract of engine, shell and server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    # Whoever only shows results is spared what types are made of.
    from streamsql.errors import StreamSQLError
    from streamsql.schema import Schema
    from streamsql.types import SQLType

Value = object
"""A cell: None, bool, int, float, Decimal, str, bytes, date, time, datetime, list or dict."""


@dataclass(frozen=True)
class Message:
    """Something was done: `Stream created`, `Created query with ID CSAS_X_1`."""

    text: str
    """Empty where the statement's success says it all."""
    query_id: str | None = None
    token: str | None = None
    """Stands for the records written: a pull query that is given it waits until it sees them."""


@dataclass(frozen=True)
class Warning:
    """Done, or left undone, with a remark (IF NOT EXISTS on what exists)."""

    text: str


@dataclass(frozen=True)
class Field:
    """A column of a result; `type` is None where the text says it all (SHOW)."""

    name: str
    type: SQLType | None = None


@dataclass(frozen=True)
class Rows:
    """A complete result, such as that of SHOW; `title` stands above it."""

    fields: tuple[Field, ...]
    rows: Sequence[tuple[Value, ...]]
    title: str = ""


@dataclass(frozen=True)
class Text:
    """Several lines to be shown as they are: DESCRIBE FUNCTION, EXPLAIN."""

    text: str


@dataclass(frozen=True)
class Row:
    """A row of a push query; a tombstone has its value columns None."""

    values: tuple[Value, ...]
    tombstone: bool = False


class Cancellable(Protocol):
    """Something running that can be told to end, from any thread."""

    def cancel(self) -> None:
        """End it, from any thread; it is no error to do so twice."""


@dataclass
class RowStream:
    """A push query: iterate `rows` (blocks until there is one), `cancel` to end it.

    Ends by itself at its LIMIT; `final_message` then says so. `lines` instead of rows: PRINT.
    """

    query_id: str
    fields: tuple[Field, ...]
    rows: Iterator[Row]
    source: Cancellable = field(repr=False)
    final_message: str | None = None

    def cancel(self) -> None:
        """End the push query, from any thread."""
        self.source.cancel()


@dataclass
class LineStream:
    """PRINT: lines of text as records arrive."""

    lines: Iterator[str]
    source: Cancellable = field(repr=False)
    final_message: str | None = None

    def cancel(self) -> None:
        """End it, from any thread."""
        self.source.cancel()


@dataclass
class Answer:
    """What a pull query answers: complete, in the columns of `schema`, of which a table's keys are
    KEY columns.

    `rows` can be iterated once, and may still be on their way: an error can come out of them, and
    `final_message` is known at their end.
    """

    query_id: str
    schema: Schema
    rows: Iterable[Row]
    final_message: str | None = None

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns, without what makes some of them keys."""
        return tuple(Field(column.name, column.type) for column in self.schema)


class RowInserts(Protocol):
    """A way to write many rows into one stream or table, for one client at a time."""

    @property
    def token(self) -> str | None:
        """Stands for the records that the last `write` wrote."""

    def write(self, rows: Sequence[Mapping[str, Any]]) -> list[StreamSQLError | None]:
        """Write rows, by the names of their columns, and wait until Kafka has them; what is wrong
        with each, in their order.

        ExternalError where Kafka or Spark fails: then nothing is known of any of them.
        """
        ...


Result = Message | Warning | Rows | Text | Answer | RowStream | LineStream
