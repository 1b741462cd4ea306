"""Running statements and showing what they give, so that Ctrl-C always gets through.

The engine works in a thread of its own; the caller's thread shows results as they come and is free
to hear an interrupt, which ends a push query and leaves everything else running.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import chain, islice
from typing import Protocol

from streamsql.cli.terminal.render import Renderer, RowWriter, record_line
from streamsql.results import (
    Answer,
    Cancellable,
    LineStream,
    Progress,
    Result,
    Row,
    Rows,
    RowStream,
)

BACKLOG = 20_000
"""Rows that may wait to be shown before the query is held back."""
GATHER = 2_000
"""Rows shown in one write at most."""
CANCEL_SECONDS = 5.0
FITTED = 1_000
"""Results up to this number of rows are shown at once, with columns as wide as their widest
cells."""


class Executes(Protocol):
    """The required part of an engine."""

    def execute(self, sql: str) -> Iterator[Result]:
        """Run statements; their results as they come. Raises the StreamSQLError of the first that
        fails."""


class Waiting(Protocol):
    """Shows that something is awaited: entered while no result is there yet."""

    def __call__(self) -> AbstractContextManager[object]: ...


@dataclass(frozen=True)
class _Failed:
    error: BaseException


class _End:
    """The statements have run."""


@dataclass(frozen=True)
class _StreamEnd:
    """End of the rows or lines, and its message."""

    remark: str | None = None


_Item = Result | Row | Progress | str | _Failed | _End | _StreamEnd


class Interrupted(Exception):
    """Ctrl-C while a statement ran; `stream` if it was a push query, which has been ended."""

    def __init__(self, stream: bool) -> None:
        super().__init__("interrupted")
        self.stream = stream


class Execution:
    """One text of statements on its way through the engine."""

    def __init__(self, engine: Executes, sql: str) -> None:
        self._items: queue.Queue[_Item] = queue.Queue(BACKLOG)
        self._stream: Cancellable | None = None
        self._cancelled = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(engine, sql), name="statements", daemon=True
        )
        self._thread.start()

    def _run(self, engine: Executes, sql: str) -> None:
        try:
            for result in engine.execute(sql):
                if isinstance(result, RowStream | LineStream):
                    self._follow(result)
                elif isinstance(result, Answer):
                    self._show_answer(result)
                else:
                    self._put(result)
                if self._cancelled.is_set():
                    break
        except BaseException as error:
            self._put(_Failed(error))
        self._put(_End())

    def _follow(self, stream: RowStream | LineStream) -> None:
        self._stream = stream
        self._put(stream)
        if self._cancelled.is_set():
            stream.cancel()
        items = stream.rows if isinstance(stream, RowStream) else stream.lines
        for item in items:
            self._put(item)
        self._stream = None
        self._put(_StreamEnd(stream.final_message))

    def _show_answer(self, answer: Answer) -> None:
        rows = iter(answer.rows)
        first = list(islice(rows, FITTED))
        if len(first) < FITTED:
            self._put(Rows(answer.fields, [row.values for row in first]))
        else:
            self._put(answer)
            for row in chain(first, rows):
                self._put(row)
                if self._cancelled.is_set():
                    return
        self._put(_StreamEnd(answer.final_message))

    def _put(self, item: _Item) -> None:
        while not self._cancelled.is_set():
            try:
                self._items.put(item, timeout=0.1)
                return
            except queue.Full:
                continue

    def next(self, timeout: float | None = None) -> _Item | None:
        """The next thing to show; None after `timeout` seconds without one."""
        try:
            return self._items.get(timeout=timeout)
        except queue.Empty:
            return None

    def gathered(self, first: Row) -> tuple[list[Row], _Item | None]:
        """The available rows, and the end of the rows if reached."""
        rows = [first]
        while len(rows) < GATHER:
            try:
                item = self._items.get_nowait()
            except queue.Empty:
                return rows, None
            if not isinstance(item, Row):
                return rows, item
            rows.append(item)
        return rows, None

    def cancel(self) -> bool:
        """End what runs, and whether that was a push query; later statements do not run."""
        self._cancelled.set()
        stream = self._stream
        if stream is not None:
            stream.cancel()
            self._thread.join(CANCEL_SECONDS)
        return stream is not None


def run(engine: Executes, sql: str, renderer: Renderer, waiting: Waiting = nullcontext) -> None:
    """Run the statements and show their results.

    Raises the statement's StreamSQLError, or Interrupted after a Ctrl-C.
    """
    execution = Execution(engine, sql)
    try:
        _show_all(execution, renderer, waiting)
    except KeyboardInterrupt:
        raise Interrupted(execution.cancel()) from None
    except BaseException:
        execution.cancel()
        raise


def _show_all(execution: Execution, renderer: Renderer, waiting: Waiting) -> None:
    writer: RowWriter | None = None
    streaming = False
    pending: _Item | None = None
    while True:
        item = pending if pending is not None else _await(execution, waiting, streaming)
        pending = None
        match item:
            case _End():
                return
            case _Failed(error=error):
                raise error
            case Row():
                assert writer is not None
                rows, pending = execution.gathered(item)
                writer.write(rows)
            case Progress():
                renderer.remark(renderer.style.dim(str(item)))
            case str():
                renderer.write([record_line(item)])
            case _StreamEnd(remark=remark):
                if remark:
                    renderer.remark(renderer.style.dim(remark))
                streaming, writer = False, None
            case RowStream() | Answer():
                streaming, writer = True, renderer.rows(item.fields)
            case LineStream():
                streaming = True
            case _:
                renderer.show(item)


def _await(execution: Execution, waiting: Waiting, streaming: bool) -> _Item:
    item = execution.next(None if streaming else 0.2)
    if item is not None:
        return item
    with waiting():
        while item is None:
            item = execution.next(0.2)
    return item
