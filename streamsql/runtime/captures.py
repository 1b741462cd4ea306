"""Keeps the connectors of captured tables equal to the catalog: created after their source, and
removed after it with what they have made in the database."""

from __future__ import annotations

import logging
from collections.abc import Callable

from streamsql.catalog import Capture, Catalog
from streamsql.connectors.client import ConnectClient
from streamsql.errors import StreamSQLError
from streamsql.executor.captures import (
    CaptureConnector,
    Snapshots,
    SnapshotState,
    connector_name,
    connectors_of,
    prefix,
    remove,
)
from streamsql.executor.services.services import Services
from streamsql.runtime.rounds import Rounds

_log = logging.getLogger("streamsql.connect")
_SNAPSHOT_SECONDS = 1.0
"""How often snapshots that are under way are looked at."""


class Captures:
    """A thread that runs only with an engine that has, or had, captured tables."""

    def __init__(
        self, services: Services, catalog: Callable[[], Catalog], instance: Callable[[], str]
    ):
        self._services = services
        self._catalog = catalog
        self._instance = instance
        self._known: dict[str, CaptureConnector] = {}
        self._snapshots: dict[str, Snapshots] = {}
        self._started = False
        self._rounds = Rounds("captures", self._settle, _log, "Kafka Connect does not answer")

    def start(self) -> None:
        """Compares now and after each change of the catalog, if there are captured tables."""
        self._started = True
        self.changed()

    def compare(self) -> None:
        """There are connectors, which may belong to tables that exist no more."""
        self._rounds.ask()

    def changed(self) -> None:
        """The catalog has changed."""
        if self._started and self._wanted() != self._known:
            self._rounds.ask()

    def capture_of(self, connector: str) -> Capture | None:
        """The login of what a connector captures; None if it is another one."""
        found = self._wanted().get(connector)
        return None if found is None else found.login

    def connector_of(self, database: str) -> str | None:
        """The name of the connector of a source; None if no table is captured from it."""
        found = (c.name for c in self._wanted().values() if c.login.origin == database)
        return next(found, None)

    def snapshot(self, capture: Capture, topic: str) -> SnapshotState | None:
        """How far the snapshot of a source's table is; None if it is not known yet."""
        snapshots = self._snapshots.get(connector_name(capture, topic, self._instance()))
        return None if snapshots is None else snapshots.states.get(topic)

    def settled(self, timeout: float) -> StreamSQLError | None:
        """Waits for what has been asked for; the error of the last attempt, which is retried."""
        return self._rounds.settled(timeout)

    def close(self) -> None:
        self._rounds.close()

    def _wanted(self) -> dict[str, CaptureConnector]:
        return connectors_of(self._catalog(), self._instance())

    def _settle(self) -> float | None:
        """Seconds until the next look, if something is under way."""
        wanted, own = self._wanted(), prefix(self._instance())
        client = self._services.capturing() if wanted else self._services.connect({})
        found = {c.name for c in client.connectors() if c.name.startswith(own)}
        complete, errors = True, list[StreamSQLError]()
        for name in sorted(found | wanted.keys()):
            # The database of one connector may be away, which does not concern the others.
            try:
                if name in wanted:
                    complete &= self._keep(client, wanted[name], name in found)
                else:
                    remove(client, name, self._services)
                    self._snapshots.pop(name, None)
            except StreamSQLError as error:
                errors.append(error)
        if errors:
            raise errors[0]
        self._known = wanted
        return None if complete else _SNAPSHOT_SECONDS

    def _keep(self, client: ConnectClient, connector: CaptureConnector, exists: bool) -> bool:
        """Creates or changes a connector; whether all of its snapshots are complete."""
        name = connector.name
        snapshots = self._snapshots.get(name)
        is_new = snapshots is None or snapshots.connector != connector
        if snapshots is None or is_new:
            snapshots = Snapshots(self._services, connector)
        if is_new:
            snapshots.prepare()
        if not exists or (is_new and client.config(name) != {**connector.config, "name": name}):
            client.put(name, connector.config)
        self._snapshots[name] = snapshots
        return not connector.is_shared or snapshots.proceed()
