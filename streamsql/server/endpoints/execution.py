"""Execution of a text for a client: the engine runs in a thread, and its results wait in a bounded
buffer. A full buffer blocks the thread and thereby the query; when the client disconnects, the
query is cancelled."""

from __future__ import annotations

import contextvars
import logging
import threading
from collections.abc import Callable, Iterator

from streamsql.client.handover import Handover
from streamsql.client.wire import DONE, encode, is_end, to_line
from streamsql.client.wire_errors import encode_error
from streamsql.errors import ExternalError, InternalError, StreamSQLError
from streamsql.results import LineStream, Result, RowStream
from streamsql.server.http.errors import RequestError
from streamsql.server.state.running_queries import RunningQueries
from streamsql.session import Session
from streamsql.users.work import WorkThreads

_log = logging.getLogger("streamsql.server")


class Execution:
    """One request in execution."""

    def __init__(
        self,
        results: Callable[[], Iterator[Result]],
        text: str,
        session: Session,
        outbox: Handover[bytes],
        running: RunningQueries,
        work: WorkThreads,
    ) -> None:
        """`results` are the engine's results in this session; errors need not repeat the client's
        `text`."""
        self._results = results
        self._text = text
        self._session = session
        self._known = (dict(session.properties), dict(session.variables))
        self._outbox = outbox
        self._running = running
        self._work = work
        self._at_work = False
        self._stream: RowStream | LineStream | None = None
        self._lock = threading.Lock()
        self._cancelled = False
        self._closed = False

    async def start(self) -> None:
        """Starts a thread for the statements; ExternalError at the limit of concurrent
        statements."""
        await self._work.enter()
        self._at_work = True
        # With the request's context, for its id in the log.
        run = contextvars.copy_context().run
        threading.Thread(target=run, args=(self._run,), name="statements", daemon=True).start()

    def cancel(self) -> None:
        """The client has disconnected: cancels the current query and the remaining statements."""
        self._outbox.abandon()
        self._end_stream(cancelled=True)

    def close(self) -> None:
        """Ends the current query on behalf of the server, and notifies the client."""
        self._end_stream(closed=True)

    def _end_stream(self, *, cancelled: bool = False, closed: bool = False) -> None:
        with self._lock:
            self._cancelled |= cancelled
            self._closed |= closed
            stream = self._stream
        if stream is not None:
            stream.cancel()

    def _run(self) -> None:
        try:
            if self._send_all(self._results()):
                self._put(DONE)
        except StreamSQLError as error:
            self._put(encode_error(error, self._text))
        except Exception as error:
            _log.error("a statement failed", exc_info=error)
            failure = InternalError("an internal error: please report it")
            self._put(encode_error(failure, self._text))
        finally:
            self._leave()
            self._outbox.end()

    def _send_all(self, results: Iterator[Result]) -> bool:
        """Returns whether the client received everything."""
        for result in results:
            if isinstance(result, RowStream | LineStream):
                self._send_stream(result)
            elif not self._send(result):
                return False
            if self._cancelled:
                return False
            self._send_session()
        self._send_session()
        return True

    def _send_stream(self, stream: RowStream | LineStream) -> None:
        try:
            self._running.reserve()
        except RequestError as error:
            stream.cancel()
            raise ExternalError(error.message, retryable=True) from None
        # A push query has a separate limit.
        self._leave()
        name = self._running.add(getattr(stream, "query_id", None), self)
        try:
            with self._lock:
                self._stream = stream
                ended = self._cancelled or self._closed
            if ended:
                stream.cancel()
            for item in encode(stream):
                # An ended query has not completed.
                if (self._closed and is_end(item)) or not self._put(item):
                    break
        finally:
            _let_go(stream)
            with self._lock:
                self._stream = None
            self._running.remove(name)
            self._running.release()
        if self._closed:
            raise ExternalError("the server has ended the query", retryable=True)
        if not self._cancelled:
            self._work.enter_thread()
            self._at_work = True

    def _leave(self) -> None:
        if self._at_work:
            self._at_work = False
            self._work.leave()

    def _send(self, result: Result) -> bool:
        return all(map(self._put, encode(result)))

    def _put(self, item: object) -> bool:
        return self._outbox.put(to_line(item))

    def _send_session(self) -> None:
        """Changes of SET, UNSET, DEFINE and UNDEFINE."""
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


def _let_go(stream: RowStream | LineStream) -> None:
    """Ends a query whose rows are not read to their end."""
    rows = stream.rows if isinstance(stream, RowStream) else stream.lines
    close = getattr(rows, "close", None)
    if close is not None:
        close()


def _new(before: dict[str, str], after: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in after.items() if before.get(name) != value}
