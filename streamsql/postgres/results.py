"""Results of a statement as they arrive: the engine works in a thread, the client reads rows."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from streamsql.client.handover import Handover
from streamsql.errors import StreamSQLError
from streamsql.postgres.errors import PgError, Placed
from streamsql.postgres.forms import Column, Form, columns_of
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

_log = logging.getLogger("streamsql.postgres")
EXPLAINED = Field("QUERY PLAN")
LINE = Field("line")


@dataclass(frozen=True)
class Remark:
    """A notice sent with the result."""

    text: str
    severity: str = "NOTICE"
    after: int = 0
    """The number of the result's rows that it follows."""


def _nothing() -> None:
    pass


class Results:
    """Rows of one statement in a form. `columns` are known after `begin`; None without rows."""

    def __init__(self, tag: str) -> None:
        self.columns: tuple[Column, ...] | None = None
        self.remarks: deque[Remark] = deque()
        self.continuous = False
        """Whether the result is continuous."""
        self.done = False
        self.sent = 0
        self.park: Callable[[], None] = _nothing
        """Called when the client is slow or pauses, so that others do not wait for it."""
        self._tag = tag
        self._counted: int | None = None
        """The number of changed rows of a table."""
        self._rows: deque[Any] = deque()

    @property
    def tag(self) -> str:
        if self._counted is not None:
            verb = "INSERT 0" if self._tag.startswith("INSERT") else self._tag
            return f"{verb} {self._counted}" if self._tag != "TRUNCATE" else "TRUNCATE TABLE"
        return f"SELECT {self.sent}" if self._tag == "SELECT" else self._tag

    async def begin(self) -> None:
        """Waits until the columns are known; raises the statement's error."""

    async def take(self, limit: int | None) -> list[Any]:
        """At most that number of rows, waiting for the first; empty at the end (`done`)."""
        if not self._rows:
            await self._more()
        count = min(len(self._rows), limit or 1 << 30)
        following = (remark.after for remark in self.remarks if remark.after > self.sent)
        count = min(count, next(following, 1 << 60) - self.sent)
        taken = [self._rows.popleft() for _ in range(count)]
        self.sent += len(taken)
        return taken

    def due_remarks(self, sent: int) -> Iterator[Remark]:
        """Removes those that follow this number of rows, or fewer."""
        while self.remarks and self.remarks[0].after <= sent:
            yield self.remarks.popleft()

    async def gather(self, limit: int | None, seconds: float | None) -> list[Any]:
        """Rows for FETCH: of a continuous result the available ones after the first, or all within
        a number of seconds; otherwise as many as requested. An interrupted call consumes
        nothing."""
        enough = limit if limit is not None else 1 << 30
        deadline = None if seconds is None else asyncio.get_running_loop().time() + seconds
        try:
            async with asyncio.timeout_at(deadline):
                while len(self._rows) < enough and not self.done:
                    if self._rows and self.continuous and seconds is None:
                        break
                    await self._more()
        except TimeoutError:
            pass
        return await self.take(limit) if self._rows else []

    async def _more(self) -> None:
        """Append to the rows, or set `done`."""
        self.done = True

    def close(self) -> None:
        self.done = True


class Ready(Results):
    """Rows that are complete."""

    def __init__(
        self,
        tag: str,
        columns: Sequence[Column] | None,
        rows: Iterable[Sequence[object]],
        form: Form,
    ) -> None:
        super().__init__(tag)
        self.columns = None if columns is None else tuple(columns)
        if self.columns is not None:
            self._rows.extend(map(form.writer(self.columns), rows))


class Working(Results):
    """The results of a statement that runs in its own thread. A full buffer blocks the thread, and
    so the query."""

    def __init__(
        self, tag: str, run: Callable[[], Iterator[Result]], form: Form, buffer: int
    ) -> None:
        super().__init__(tag)
        self._run = run
        self._form = form
        self._outbox: Handover[object] = Handover(buffer)
        self._stream: RowStream | LineStream | None = None
        self._lock = threading.Lock()
        self._closed = False
        self._begun = False
        self._told = False
        """Whether the columns of a result have been sent."""
        self.ended = asyncio.Event()
        """Set when the thread has ended."""
        self._loop = asyncio.get_running_loop()

    async def begin(self) -> None:
        """Starts the thread, and waits for its first result."""
        if not self._begun:
            self._begun = True
            run = contextvars.copy_context().run
            thread = threading.Thread(target=run, args=(self._work,), name="postgres", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # no more threads
                self.ended.set()
                raise
        while self.columns is None and not self.done:
            await self._more()

    async def _more(self) -> None:
        items = await self._outbox.take()
        for item in items or ():
            match item:
                case Remark():
                    self.remarks.append(item)
                case Progress():
                    self.remarks.append(Remark(str(item), after=self.sent + len(self._rows)))
                case _Count():
                    self._counted = item.count
                case _Columns():
                    self.columns, self.continuous = item.columns, item.continuous
                case BaseException():
                    self.done = True
                    raise item
                case _:
                    self._rows.append(item)
        if items is None:
            self.done = True

    def close(self) -> None:
        """Ends the running query and drops its remaining rows."""
        super().close()
        self._outbox.abandon()
        with self._lock:
            self._closed = True
            stream = self._stream
        if stream is not None:
            stream.cancel()

    # -- in the thread -----------------------------------------------------------------------------

    def _work(self) -> None:
        try:
            for result in self._run():
                if not self._send(result):
                    break
        except (StreamSQLError, Placed, PgError) as error:
            self._outbox.put(error)
        except Exception as error:
            _log.error("a statement failed", exc_info=error)
            self._outbox.put(error)
        finally:
            self._outbox.end()
            try:
                self._loop.call_soon_threadsafe(self.ended.set)
            except RuntimeError:
                pass  # The loop is closed.

    def _send(self, result: Result) -> bool:
        """Whether more rows are requested."""
        match result:
            case Message(count=int(count)):
                return self._outbox.put(_Count(count))
            case Message() | Warning():
                severity = "WARNING" if isinstance(result, Warning) else "NOTICE"
                return not result.text or self._outbox.put(Remark(result.text, severity))
            case Text() | Rows() if self._told:
                # A statement of PostgreSQL has one result: further ones are notices.
                return self._outbox.put(Remark(_as_text(result), "INFO"))
            case Text():
                lines = [(line,) for line in result.text.splitlines()]
                return self._rows_of((EXPLAINED if self._tag == "EXPLAIN" else LINE,), lines)
            case Rows():
                return self._rows_of(result.fields, result.rows)
            case Answer():
                return self._rows_of(result.fields, (row.values for row in result.rows))
            case RowStream():
                rows = (row if isinstance(row, Progress) else row.values for row in result.rows)
                return self._flow(result, result.fields, rows)
            case LineStream():
                return self._flow(result, (LINE,), ((line,) for line in result.lines))

    def _flow(
        self,
        stream: RowStream | LineStream,
        fields: Sequence[Field],
        rows: Iterator[Sequence[object] | Progress],
    ) -> bool:
        with self._lock:
            self._stream = stream
            ended = self._closed
        try:
            if ended:
                return False
            return self._rows_of(fields, rows, continuous=True)
        finally:
            stream.cancel()
            with self._lock:
                self._stream = None

    def _rows_of(
        self,
        fields: Sequence[Field],
        rows: Iterable[Sequence[object] | Progress],
        *,
        continuous: bool = False,
    ) -> bool:
        columns = columns_of(fields)
        self._told = True
        if not self._outbox.put(_Columns(columns, continuous)):
            return False
        write = self._form.writer(columns)
        try:
            items = (row if isinstance(row, Progress) else write(row) for row in rows)
            return all(map(self._outbox.put, items))
        finally:
            close = getattr(rows, "close", None)
            if close is not None:
                close()


def _as_text(result: Text | Rows) -> str:
    if isinstance(result, Text):
        return result.text
    names = " | ".join(field.name for field in result.fields)
    lines = [" | ".join("" if cell is None else str(cell) for cell in row) for row in result.rows]
    return "\n".join([result.title or names, *([names] if result.title else []), *lines])


@dataclass(frozen=True)
class _Count:
    count: int


@dataclass(frozen=True)
class _Columns:
    columns: tuple[Column, ...]
    continuous: bool
