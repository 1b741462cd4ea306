"""Stores of an engine's served tables: opened, synchronized with the catalog, closed. A store is a
copy of its topic: lost or damaged stores are read from Kafka again."""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from streamsql.catalog import Catalog, Source
from streamsql.config import EPOCHS_TOPIC
from streamsql.errors import ExternalError, StreamSQLError
from streamsql.executor.services.services import Services

if TYPE_CHECKING:
    from streamsql.serving.table import StoredTable

_log = logging.getLogger("streamsql.stores")
CLOSE_SECONDS = 10.0
COMPLETE_SECONDS = 60.0
"""How long an answer waits for a store that is being filled."""
LOOK_SECONDS = 5.0
"""How often to see that every store is open."""


@dataclass
class _Opened:
    source: Source
    table: StoredTable
    dropped: bool = False
    """Whether its table has been removed from the catalog: a later table of the same definition
    may read another topic of the same name."""


class TableStores:
    """Stores by topic; may be used from any thread."""

    def __init__(
        self,
        services: Services,
        folder: Path,
        catalog: Callable[[], Catalog],
        following: Callable[[Source], None] = lambda source: None,
        history_ms: int | None = None,
    ) -> None:
        """`following` is called repeatedly with the stores that follow their tables without a
        query, by the maintenance thread. The rows of past epochs of views are kept for
        `history_ms`; None: views have no epochs."""
        self._history_ms = history_ms
        self._following = following
        self._services = services
        self._folder = folder
        self._catalog = catalog
        self._opened: dict[str, _Opened] = {}
        self._lock = threading.RLock()
        self._changed = threading.Event()
        self._closed = False
        self._eager = False
        self._thread = threading.Thread(target=self._reconcile_all, name="serving", daemon=True)

    def start(self, *, eager: bool) -> None:
        """Begin to follow: `eager` every served table, else those that were asked for before."""
        self._eager = eager
        self._changed.set()
        self._thread.start()

    def changed(self) -> None:
        """After a catalog change: stores of removed tables answer no longer. Asynchronously, they
        are closed and new tables followed."""
        sources = self._catalog().sources
        for opened in list(self._opened.values()):
            opened.dropped |= opened.source.name not in sources
        self._changed.set()

    def get(self, source: Source) -> StoredTable:
        """The store of a table, opened if need be; ExternalError where that fails."""
        spark = self._services.spark.get().session
        opened = self._opened.get(source.topic.name)
        if opened is not None and opened.table.spark is spark and self._holds(opened, source):
            return opened.table
        with self._lock:
            opened = self._opened.get(source.topic.name)
            if opened is not None:
                if opened.table.spark is spark and self._holds(opened, source):
                    return opened.table
                del self._opened[source.topic.name]
                opened.table.close()
            if self._closed:
                raise ExternalError("the engine was closed")
            table = self._open(source)
            self._opened[source.topic.name] = _Opened(source, table)
            return table

    def complete(self, source: Source) -> StoredTable:
        """A table's store, with all that was in its topic when the store was opened."""
        table = self.get(source)
        table.await_complete(COMPLETE_SECONDS)
        return table

    def is_open(self, table: StoredTable) -> bool:
        """Whether the store is still the one of its topic, in the latest JVM, which may have died
        since: `is_alive` asks the system."""
        opened = self._opened.get(table.topic)
        is_of_topic = opened is not None and opened.table is table and not opened.dropped
        return is_of_topic and self._services.latest_spark() is table.spark

    def is_alive(self, table: StoredTable) -> bool:
        """Whether the JVM that the store is in runs now."""
        return self._services.current_spark() is table.spark

    def peek(self, source: Source) -> StoredTable | None:
        """The store of a table that is being followed."""
        opened = self._opened.get(source.topic.name)
        return None if opened is None else opened.table

    def close(self) -> None:
        """Stop following; the stores stay on disk."""
        with self._lock:
            self._closed = True
            opened = list(self._opened.values())
            self._opened.clear()
        self._changed.set()
        for each in opened:
            each.table.close()
        if self._thread.ident is not None:
            self._thread.join(CLOSE_SECONDS)

    def _open(self, source: Source) -> StoredTable:
        from streamsql.serving.table import StoredTable

        client = self._services.kafka.get()
        connection = {**client.security, "bootstrap.servers": client.bootstrap}
        topic = source.topic
        self._folder.mkdir(parents=True, exist_ok=True)
        spark = self._services.spark.get().session
        return StoredTable(
            spark,
            self._path(topic.name),
            topic.name,
            connection,
            _retention(source),
            EPOCHS_TOPIC if source.is_view and self._history_ms is not None else None,
            self._history_ms or 0,
        )

    def _holds(self, opened: _Opened, source: Source) -> bool:
        """Whether the store is good for the table: opened for it, or for another that still is
        there and reads the same topic."""
        if opened.dropped:
            return False
        if opened.source is source:
            return True
        alike = None in (retentions := {_retention(opened.source), _retention(source)})
        known = self._catalog().sources.get(opened.source.name)
        is_there = known is not None and known.same_but_for_comment(opened.source)
        return is_there and (alike or len(retentions) == 1)

    def _path(self, topic: str) -> Path:
        return self._folder / quote(topic, safe="")

    # -- in line with the catalog ----------------------------------------------------------------

    def _reconcile_all(self) -> None:
        told: dict[str, str] = {}
        while not self._closed:
            self._changed.wait(LOOK_SECONDS)
            self._changed.clear()
            failures = {} if self._closed else self._look()
            told = told if self._closed or failures is None else _tell(failures, told)

    def _look(self) -> dict[str, Exception] | None:
        """Bring the stores in line with the catalog; what could not be, and why. None: no JVM runs,
        which took the stores with it. The next one is started when it is needed."""
        failures: dict[str, Exception] = {}
        try:
            if self._services.current_spark() is None:
                return None
            self._reconcile(failures)
        except Exception as error:
            # The JVM may have died in the midst of it: the next look sees to the rest.
            failures["the tables"] = error
        return failures

    def _reconcile(self, failures: dict[str, Exception]) -> None:
        served = {s.topic.name: s for s in self._catalog().sources.values() if s.has_store}
        with self._lock:
            gone = [topic for topic in self._opened if topic not in served]
            for topic in gone:
                self._opened.pop(topic).table.close()
            paths = {self._path(topic) for topic in served}
            if self._folder.is_dir():
                for path in self._folder.iterdir():
                    if path not in paths:
                        shutil.rmtree(path, ignore_errors=True)
        for topic, source in served.items():
            if self._eager or self._path(topic).is_dir():
                try:
                    self.get(source)
                    self._following(source)
                except StreamSQLError as error:
                    # A table may be dropped meanwhile. Queries retry others, and get the error.
                    if source.name in self._catalog().sources:
                        failures[f"the table {source.name}"] = error


def _tell(failures: dict[str, Exception], told: dict[str, str]) -> dict[str, str]:
    """Logs a new failure, but not at every poll; returns the current failures."""
    for what, error in failures.items():
        if told.get(what) != str(error):
            trace = None if isinstance(error, StreamSQLError) else error
            _log.warning("the stores of %s are unavailable: %s", what, error, exc_info=trace)
    return {what: str(error) for what, error in failures.items()}


def _retention(source: Source) -> int | None:
    """How long (ms) a row outlives the topic's newest one; None: forever."""
    return source.topic.retention_ms if source.is_windowed else None
