"""A text of statements at work for a client: the engine in a thread of its own, its results as
lines that wait for the client in a bounded buffer. A full one holds the thread back, and so the
query; when the client has gone, the query is cancelled.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator

from streamsql.client.handover import Handover
from streamsql.client.wire import DONE, encode, to_line
from streamsql.client.wire_errors import encode_error
from streamsql.engine import Engine
from streamsql.errors import InternalError, StreamSQLError
from streamsql.results import LineStream, Result, RowStream
from streamsql.session import Session

_log = logging.getLogger("streamsql.server")


class Execution:
    """One text on its way through the engine."""

    def __init__(self, engine: Engine, sql: str, session: Session, outbox: Handover[bytes]) -> None:
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
