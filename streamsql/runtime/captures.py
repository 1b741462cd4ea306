"""Keeps the connectors of captured tables equal to the catalog: created after their source, and
removed after it with what they have made in the database."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from streamsql.catalog import Capture, Catalog
from streamsql.errors import ExternalError, StreamSQLError, unexpected
from streamsql.executor.captures import connector_config, connector_name, prefix, remove
from streamsql.executor.services.services import Services
from streamsql.waiting import Backoff

_log = logging.getLogger("streamsql.connect")
_RETRIES = Backoff(1.0, 60.0)


class Captures:
    """A thread that runs only with an engine that has, or had, captured tables."""

    def __init__(
        self, services: Services, catalog: Callable[[], Catalog], instance: Callable[[], str]
    ):
        self._services = services
        self._catalog = catalog
        self._instance = instance
        self._known: dict[str, dict[str, str]] = {}
        self._started = False
        self._round = threading.Condition()
        self._asked = self._done = 0
        self._error: StreamSQLError | None = None
        self._closed = False

    def start(self) -> None:
        """Compares now and after each change of the catalog, if there are captured tables."""
        self._started = True
        self.changed()

    def compare(self) -> None:
        """There are connectors, which may belong to tables that exist no more."""
        self._ask()

    def changed(self) -> None:
        """The catalog has changed."""
        if self._started and self._wanted() != self._known:
            self._ask()

    def capture_of(self, connector: str) -> Capture | None:
        """What a connector captures; None if it is another one."""
        for source in self._catalog().sources.values():
            capture = source.capture
            if capture is not None and connector == self._name(capture, source.topic.name):
                return capture
        return None

    def settled(self, timeout: float) -> StreamSQLError | None:
        """Waits for what has been asked for; the error of the last attempt, which is retried."""
        with self._round:
            asked = self._asked
            if self._round.wait_for(lambda: self._done >= asked, timeout):
                return self._error
            return ExternalError("Kafka Connect does not answer", retryable=True)

    def close(self) -> None:
        with self._round:
            self._closed = True
            self._round.notify_all()

    def _ask(self) -> None:
        with self._round:
            if self._asked == 0:
                threading.Thread(target=self._run, name="captures", daemon=True).start()
            self._asked += 1
            self._round.notify_all()

    def _run(self) -> None:
        failures = 0
        while True:
            with self._round:
                pause = _RETRIES.after(failures) if failures else None
                self._round.wait_for(lambda: self._closed or self._done < self._asked, pause)
                if self._closed:
                    return
                asked = self._asked
            try:
                self._settle()
                error, failures = None, 0
            except StreamSQLError as found:
                error, failures = found, failures + 1
            except Exception as found:
                error, failures = unexpected("cannot compare the connectors", found), failures + 1
            if error is not None:
                _log.warning("%s", error.message)
            with self._round:
                self._done, self._error = asked, error
                self._round.notify_all()

    def _wanted(self) -> dict[str, dict[str, str]]:
        wanted = {}
        for source in self._catalog().sources.values():
            if source.capture is not None:
                name = self._name(source.capture, source.topic.name)
                wanted[name] = connector_config(source.capture, source.topic.name, name)
        return wanted

    def _name(self, capture: Capture, topic: str) -> str:
        return connector_name(capture, topic, self._instance())

    def _settle(self) -> None:
        wanted, own = self._wanted(), prefix(self._instance())
        client = self._services.capturing() if wanted else self._services.connect({})
        found = {c.name for c in client.connectors() if c.name.startswith(own)}
        for name in sorted(found - wanted.keys()):
            remove(client, name, self._services)
        for name in sorted(wanted.keys() - found):
            client.put(name, wanted[name])
        self._known = wanted
