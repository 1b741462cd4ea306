"""A thread that makes something outside equal to the catalog, whenever it is asked to."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from streamsql.errors import ExternalError, StreamSQLError, unexpected
from streamsql.waiting import Backoff

_RETRIES = Backoff(1.0, 60.0)


class Rounds:
    """Each round is one call of `settle`, which is repeated after an error, and after as many
    seconds as it returns. The thread starts with the first round; `late` says that it has not
    ended."""

    def __init__(
        self, name: str, settle: Callable[[], float | None], log: logging.Logger, late: str
    ) -> None:
        self._name = name
        self._settle = settle
        self._log = log
        self._late = late
        self._round = threading.Condition()
        self._asked = self._done = 0
        self._error: StreamSQLError | None = None
        self._closed = False

    def ask(self) -> None:
        with self._round:
            if self._asked == 0:
                threading.Thread(target=self._run, name=self._name, daemon=True).start()
            self._asked += 1
            self._round.notify_all()

    def settled(self, timeout: float) -> StreamSQLError | None:
        """Waits for what has been asked for; the error of the last attempt, which is retried."""
        with self._round:
            asked = self._asked
            if self._round.wait_for(lambda: self._done >= asked, timeout):
                return self._error
            return ExternalError(self._late, retryable=True)

    def close(self) -> None:
        with self._round:
            self._closed = True
            self._round.notify_all()

    def _run(self) -> None:
        failures, again = 0, None
        while True:
            with self._round:
                pause = _RETRIES.after(failures) if failures else again
                self._round.wait_for(lambda: self._closed or self._done < self._asked, pause)
                if self._closed:
                    return
                asked = self._asked
            try:
                again = self._settle()
                error, failures = None, 0
            except StreamSQLError as found:
                error, failures = found, failures + 1
            except Exception as found:
                error, failures = unexpected(f"{self._name} failed", found), failures + 1
            if error is not None:
                self._log.warning("%s", error.message)
            with self._round:
                self._done, self._error = asked, error
                self._round.notify_all()
