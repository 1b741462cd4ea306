"""Monitors Kafka for the queries: its availability, the ends of topics, and the positions of
queries. Restarts an embedded broker whose process has exited."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable

from streamsql.errors import StreamSQLError
from streamsql.executor.queries.spark_run import situation
from streamsql.executor.queries.status_poll import Moment
from streamsql.executor.services.services import Services
from streamsql.executor.spark.messages import Status

_log = logging.getLogger("streamsql.kafka")
_log.addHandler(logging.NullHandler())
WATCH_SECONDS = 1.0
SOON_SECONDS = 0.05
"""Minimum interval of requested polls."""
ANSWER_SECONDS = 2.0


class KafkaWatch:
    """A thread that polls every second; results can be read from any thread."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._topics: Callable[[], Iterable[str]] = tuple
        self._stopped = threading.Event()
        self._wanted = threading.Event()
        self._status: Callable[[], Status] = Status
        self._moment = Moment()
        self._lost_since: float | None = None
        self._trouble: str | None = None
        """The last logged failure."""
        self._thread = threading.Thread(target=self._run, name="kafka watch", daemon=True)

    def start(
        self, topics: Callable[[], Iterable[str]], status: Callable[[], Status] = Status
    ) -> None:
        """Starts polling the ends of `topics`, and the positions of queries by `status`."""
        self._topics, self._status = topics, status
        self._thread.start()

    def close(self) -> None:
        """Stops polling; waits for a poll in progress."""
        self._stopped.set()
        self._wanted.set()
        if self._thread.ident is not None:
            self._thread.join(ANSWER_SECONDS + WATCH_SECONDS)

    @property
    def outage(self) -> str | None:
        """Description of the current Kafka outage; None if it responds."""
        since = self._lost_since
        if since is None:
            return None
        text = f"no answer from Kafka for {time.monotonic() - since:.0f} s"
        return f"{text}; {self._trouble}" if self._trouble else text

    def look_soon(self) -> None:
        """Triggers a poll without waiting for the interval."""
        self._wanted.set()

    @property
    def moment(self) -> Moment:
        """Ends and positions at the time of the last poll."""
        return self._moment

    def _run(self) -> None:
        while not self._stopped.wait(SOON_SECONDS):
            self._wanted.wait(WATCH_SECONDS - SOON_SECONDS)
            self._wanted.clear()
            if self._stopped.is_set():
                return
            try:
                self._look()
                self._trouble = None
            except Exception as error:
                # The thread must survive everything: without it, an outage never ends. A missing
                # broker, a full disk and a topic during deletion can all be resolved at the next
                # poll.
                self._failed(error)

    def _failed(self, error: Exception) -> None:
        """Logs consecutive occurrences of an error once."""
        trouble = error.message if isinstance(error, StreamSQLError) else str(error) or repr(error)
        detail = error.detail if isinstance(error, StreamSQLError) else None
        if words := situation(f"{trouble}\n{detail}"):
            trouble = f"{words}: {trouble}"
        if trouble != self._trouble:
            _log.warning("polling Kafka failed and will be retried: %s", trouble, exc_info=error)
        self._trouble = trouble

    def _look(self) -> None:
        client = self._services.kafka.peek()
        if client is None:
            return
        if client.reachable(ANSWER_SECONDS):
            self._lost_since = None
        else:
            self._lost_since = self._lost_since or time.monotonic()
            self._revive()
            return
        try:
            ends = client.all_end_offsets(self._topics())
        except StreamSQLError:
            ends = {}
        self._moment = Moment.now(ends, self._status)

    def _revive(self) -> None:
        broker = self._services.broker
        if broker is not None and not broker.alive() and not self._stopped.is_set():
            broker.start()
