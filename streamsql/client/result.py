"""The result of a text of statements for Python programs: rows, Arrow tables, or continuous
rows."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from streamsql.client.display import as_html, as_text
from streamsql.client.handover import Handover
from streamsql.client.row import Row, row_type
from streamsql.installed import installation_checked
from streamsql.results import (
    Answer,
    Field,
    LineStream,
    Message,
    Progress,
    Result,
    Rows,
    RowStream,
    Text,
    Warning,
)
from streamsql.results import Row as Cells

if TYPE_CHECKING:
    import pandas
    import pyarrow

AHEAD = 1000
"""Rows that an `async for` may have waiting before the query is held back."""
LINE = "LINE"
"""The column of PRINT."""


class QueryResult:
    """The result of `Connection.sql`: that of its last statement.

    A query that ends (a pull query, SHOW) has all its rows from the start. A push query (and PRINT)
    has them as they come: iterate once, with `for` or `async for`, until it ends at its LIMIT, is
    cancelled, or the block of its `with` is left.
    """

    def __init__(self, results: Iterator[Result]) -> None:
        self.columns: tuple[Field, ...] = ()
        """Names and SQL types of the rows' cells; a type is None where SHOW has no types."""
        self.messages: list[str] = []
        """Messages of the statements, including warnings."""
        self.query_id: str | None = None
        self.epoch: int | None = None
        """As of which a pull query read materialized views: `AS OF EPOCH` reads the same again. Of
        a push query over views: the last one whose rows all have come, see `epochs`."""
        self.text = ""
        """Of EXPLAIN and DESCRIBE FUNCTION, which have no rows."""
        self._results = results
        self._stream: RowStream | LineStream | None = None
        self._rows: list[Row] = []
        self._cancelled = False
        self._advance()
        self._following = self._follow()

    # -- rows ------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.columns)

    @property
    def is_push(self) -> bool:
        """Whether rows are still to come."""
        return self._stream is not None

    def __iter__(self) -> Iterator[Row]:
        return self._following if self._stream is not None else iter(self._rows)

    @property
    def rows(self) -> list[Row]:
        """All rows. Of a push query it waits for the end: only with a LIMIT there is one."""
        if self._stream is not None:
            self._rows = list(self._following)
        return self._rows

    def fetch(self, count: int) -> list[Row]:
        """The first rows, at most `count`; ends a push query, whose `rows` they are. An interrupt
        (Ctrl-C) also ends it, with the rows received so far."""
        if self._stream is None:
            return self._rows[:count]
        rows: list[Row] = []
        with self, contextlib.suppress(KeyboardInterrupt):
            while len(rows) < count and (row := next(self._following, None)) is not None:
                rows.append(row)
        self._rows = rows
        return rows

    def arrow(self) -> pyarrow.Table:
        """All rows as an Arrow table with the SQL types' own Arrow types; see `rows`."""
        with installation_checked():
            from streamsql.client.arrow import arrow_table

        return arrow_table(self.columns, self.rows)

    def pandas(self) -> pandas.DataFrame:
        """All rows as a data frame, whole numbers as such even where some are null; pandas must be
        installed."""
        with installation_checked():
            from streamsql.client.arrow import data_frame

            return data_frame(self.arrow())

    def epochs(self) -> Iterator[tuple[int, list[Row]]]:
        """Of a push query over materialized views, with 'streamsql.view.progress' = 'true': each
        epoch as it comes, with all of its rows."""
        stream = self._stream
        if not isinstance(stream, RowStream):
            return
        kinds = [row_type(self.names, tombstone=tombstone) for tombstone in (False, True)]
        kept: list[Row] = []
        try:
            for row in stream.rows:
                if isinstance(row, Progress):
                    self.epoch = row.epoch
                    yield row.epoch, kept
                    kept = []
                else:
                    kept.append(kinds[row.tombstone](row.values))
        finally:
            self.cancel()
            self._finish()

    async def __aiter__(self) -> AsyncIterator[Row]:
        handover: Handover[Row | BaseException] = Handover(AHEAD)
        work = threading.Thread(target=_pump, args=(self, handover), name="rows", daemon=True)
        work.start()
        try:
            while (items := await handover.take()) is not None:
                for item in items:
                    if isinstance(item, BaseException):
                        raise item
                    yield item
        finally:
            handover.abandon()
            self.cancel()

    # -- life ------------------------------------------------------------------------------------

    def cancel(self) -> None:
        """End a push query, from any thread; its iteration ends. No effect on other results."""
        stream = self._stream
        if stream is not None:
            self._cancelled = True
            stream.cancel()

    def __enter__(self) -> QueryResult:
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()
        self._finish()

    def _finish(self) -> None:
        """Releases the resources of the query, unless another thread is reading it."""
        stream, self._stream = self._stream, None
        rows = stream.rows if isinstance(stream, RowStream) else stream and stream.lines
        for generator in (rows, self._results):
            close = getattr(generator, "close", None)
            if close is not None:
                with contextlib.suppress(ValueError):
                    close()

    # -- reading ---------------------------------------------------------------------------------

    def _advance(self) -> None:
        """Runs statements up to one with continuous rows, or to the end."""
        for result in self._results:
            match result:
                case Message() | Warning():
                    self._note(result)
                case Text():
                    self._take((), [])
                    self.text = result.text
                case Rows():
                    self._take(result.fields, [Cells(tuple(row)) for row in result.rows])
                case Answer():
                    self._take(result.fields, result.rows)
                    self.query_id, self.epoch = result.query_id, result.epoch
                case RowStream():
                    self._take(result.fields, [])
                    self.query_id = result.query_id
                    self._stream = result
                    return
                case LineStream():
                    self._take((_line_field(),), [])
                    self._stream = result
                    return

    def _note(self, result: Message | Warning) -> None:
        if result.text:
            self.messages.append(result.text)
        if isinstance(result, Message) and result.query_id:
            self.query_id = result.query_id

    def _take(self, columns: Sequence[Field], rows: Any) -> None:
        self.columns, self.text = tuple(columns), ""
        self._rows = list(self._named(rows))

    def _named(self, rows: Any) -> Iterator[Row]:
        kinds = [row_type(self.names, tombstone=tombstone) for tombstone in (False, True)]
        for row in rows:
            if isinstance(row, Progress):
                self.epoch = row.epoch
            else:
                yield kinds[row.tombstone](row.values)

    def _follow(self) -> Iterator[Row]:
        """The rows of a push query; then the statements that follow it run."""
        stream = self._stream
        if stream is None:
            return
        try:
            if isinstance(stream, RowStream):
                yield from self._named(stream.rows)
            else:
                yield from self._named(Cells((line,)) for line in stream.lines)
        except BaseException:
            # Also when the consumer stops iterating.
            self.cancel()
            self._finish()
            raise
        if stream.final_message:
            self.messages.append(stream.final_message)
        if not self._cancelled:
            self._run_rest()
        self._finish()

    def _run_rest(self) -> None:
        """The statements after a push query: what they say is kept, what they show is not."""
        for result in self._results:
            if isinstance(result, Message | Warning):
                self._note(result)
            elif isinstance(result, RowStream | LineStream):
                result.cancel()
                return

    # -- showing ---------------------------------------------------------------------------------

    def __str__(self) -> str:
        return as_text(self)

    def __repr__(self) -> str:
        state = "push query" if self.is_push else f"{len(self._rows)} rows"
        return f"<QueryResult {', '.join(self.names) or '; '.join(self.messages)}: {state}>"

    def _repr_html_(self) -> str:
        return as_html(self)


def _line_field() -> Field:
    from streamsql.types import STRING

    return Field(LINE, STRING)


def _pump(result: QueryResult, handover: Any) -> None:
    """Read rows in a thread for an `async for`."""
    try:
        with result:
            for row in result:
                if not handover.put(row):
                    break
    except BaseException as error:
        handover.put(error)
    finally:
        handover.end()
