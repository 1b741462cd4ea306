"""Watches Kafka for the queries: whether it answers, and where topics end and queries are.

An embedded broker whose process has died is started again here.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable

from streamsql.errors import StreamSQLError
from streamsql.executor.queries.pulse import Moment, Pulse
from streamsql.executor.queries.spark_run import situation
from streamsql.executor.services.services import Services

_log = logging.getLogger("streamsql.kafka")
_log.addHandler(logging.NullHandler())
WATCH_SECONDS = 1.0
SOON_SECONDS = 0.05
"""The least between two looks, where somebody waits for the next."""
ANSWER_SECONDS = 2.0


class KafkaWatch:
    """One thread that asks every second; what it knows may be read from any thread."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._topics: Callable[[], Iterable[str]] = tuple
        self._stopped = threading.Event()
        self._wanted = threading.Event()
        self._pulse: Callable[[], Pulse] = Pulse
        self._moment = Moment()
        self._lost_since: float | None = None
        self._trouble: str | None = None
        """What went wrong at the last look, as logged."""
        self._thread = threading.Thread(target=self._run, name="kafka watch", daemon=True)

    def start(
        self, topics: Callable[[], Iterable[str]], pulse: Callable[[], Pulse] = Pulse
    ) -> None:
        """Begin to ask where `topics` end, and by `pulse` how far the queries have read them."""
        self._topics, self._pulse = topics, pulse
        self._thread.start()

    def close(self) -> None:
        """Look no more; waits for the look that is under way."""
        self._stopped.set()
        self._wanted.set()
        if self._thread.ident is not None:
            self._thread.join(ANSWER_SECONDS + WATCH_SECONDS)

    @property
    def outage(self) -> str | None:
        """What is wrong with Kafka just now, in words; None if it answers."""
        since = self._lost_since
        if since is None:
            return None
        text = f"no answer from Kafka for {time.monotonic() - since:.0f} s"
        return f"{text}; {self._trouble}" if self._trouble else text

    def look_soon(self) -> None:
        """Do not wait for the second to be over: somebody wants to know the ends of just now."""
        self._wanted.set()

    @property
    def moment(self) -> Moment:
        """Where topics ended and queries were when both were last looked at."""
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
                # The thread must outlive everything: without it no outage ever ends. A broker that
                # is gone, a full disk or a topic that is just being deleted may all be well again
                # at the next look.
                self._failed(error)

    def _failed(self, error: Exception) -> None:
        """Log an error once, however often it comes in a row."""
        trouble = error.message if isinstance(error, StreamSQLError) else str(error) or repr(error)
        detail = error.detail if isinstance(error, StreamSQLError) else None
        if words := situation(f"{trouble}\n{detail}"):
            trouble = f"{words}: {trouble}"
        if trouble != self._trouble:
            _log.warning("the watch over Kafka failed, and goes on: %s", trouble, exc_info=error)
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
        self._moment = Moment.now(ends, self._pulse)

    def _revive(self) -> None:
        broker = self._services.broker
        if broker is not None and not broker.alive() and not self._stopped.is_set():
            broker.start()
