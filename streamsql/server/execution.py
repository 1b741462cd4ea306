"""A text of statements at work for a client: the engine in a thread of its own, its results as
lines that wait for the client in a bounded buffer. A full one holds the thread back, and so the
query; when the client has gone, the query is cancelled.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Iterator

from streamsql.client.wire import DONE, encode, to_line
from streamsql.client.wire_errors import encode_error
from streamsql.engine import Engine
from streamsql.errors import InternalError, StreamSQLError
from streamsql.results import LineStream, Result, RowStream
from streamsql.session import Session

_log = logging.getLogger("streamsql.server")


class Outbox:
    """Lines between one thread that makes them and the event loop that sends them."""

    def __init__(self, loop: asyncio.AbstractEventLoop, limit: int) -> None:
        self._loop = loop
        self._limit = limit
        self._lines: deque[bytes] = deque()
        self._changed = threading.Condition()
        self._filled = asyncio.Event()
        self._ended = False
        self._abandoned = False

    def put(self, line: bytes) -> bool:
        """Waits for room; False when nobody will read it."""
        with self._changed:
            while len(self._lines) >= self._limit and not self._abandoned:
                self._changed.wait()
            if self._abandoned:
                return False
            self._lines.append(line)
            first = len(self._lines) == 1
        if first:
            self._tell()
        return True

    def end(self) -> None:
        """There will be no more."""
        with self._changed:
            self._ended = True
        self._tell()

    def abandon(self) -> None:
        """Nobody reads any more."""
        with self._changed:
            self._abandoned = True
            self._changed.notify_all()

    def _tell(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._filled.set)
        except RuntimeError:
            # The loop is closed: the server has ended.
            self.abandon()

    async def take(self, timeout: float) -> bytes | None:
        """All that waits, empty after `timeout` seconds without anything; None at the end."""
        try:
            await asyncio.wait_for(self._filled.wait(), timeout)
        except TimeoutError:
            return b""
        self._filled.clear()
        with self._changed:
            lines = b"".join(self._lines)
            self._lines.clear()
            self._changed.notify_all()
            if self._ended:
                self._filled.set()
                return lines or None
        return lines


class Execution:
    """One text on its way through the engine."""

    def __init__(self, engine: Engine, sql: str, session: Session, outbox: Outbox) -> None:
        self._engine = engine
        self._sql = sql
        self._session = session
        self._known = (dict(session.properties), dict(session.variables))
        self._outbox = outbox
        self._stream: RowStream | LineStream | None = None
        self._lock = threading.Lock()
        self._cancelled = False

    def start(self) -> None:
        threading.Thread(target=self._run, name="statements", daemon=True).start()

    def cancel(self) -> None:
        """End it, from any thread: the query under way, and what would follow."""
        self._outbox.abandon()
        with self._lock:
            self._cancelled = True
            stream = self._stream
        if stream is not None:
            stream.cancel()

    def _run(self) -> None:
        try:
            self._send_all(self._engine.execute(self._sql, self._session))
            self._outbox.put(to_line(DONE))
        except StreamSQLError as error:
            self._outbox.put(to_line(encode_error(error, self._sql)))
        except Exception as error:
            _log.error("a statement failed", exc_info=error)
            failure = InternalError("an internal error: please report it")
            self._outbox.put(to_line(encode_error(failure, self._sql)))
        finally:
            self._outbox.end()

    def _send_all(self, results: Iterator[Result]) -> None:
        for result in results:
            self._follow(result)
            if not all(map(self._put, encode(result))) or self._cancelled:
                return
            with self._lock:
                self._stream = None
            self._send_session()
        self._send_session()

    def _follow(self, result: Result) -> None:
        """Remember what `cancel` has to end."""
        if not isinstance(result, RowStream | LineStream):
            return
        with self._lock:
            self._stream = result
            cancelled = self._cancelled
        if cancelled:
            result.cancel()

    def _put(self, item: object) -> bool:
        return self._outbox.put(to_line(item))

    def _send_session(self) -> None:
        """What SET, UNSET, DEFINE and UNDEFINE have changed."""
        session = self._session
        properties, variables = self._known
        if (session.properties, session.variables) == (properties, variables):
            return
        self._known = (dict(session.properties), dict(session.variables))
        self._put(
            {
                "type": "session",
                "set": _new(properties, session.properties),
                "unset": [name for name in properties if name not in session.properties],
                "define": _new(variables, session.variables),
                "undefine": [name for name in variables if name not in session.variables],
            }
        )


def _new(before: dict[str, str], after: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in after.items() if before.get(name) != value}
