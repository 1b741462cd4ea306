"""The latest status of a server, refreshed in the background while it is displayed. The prompt of a
shell polls several times a second; the server is polled every other second, after each statement,
and for the catalog only when it has changed."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from streamsql.client.transport import Transport
from streamsql.client.wire_status import decode_status
from streamsql.errors import ExternalError, StreamSQLError
from streamsql.status import QueryInfo, StartupStatus, StartupStep, StepState

if TYPE_CHECKING:
    from streamsql.api.catalogs import Catalog

STATUS = "/streamsql/status"
CATALOG = "/streamsql/catalog"
EVERY_SECONDS = 2.0


class Watch:
    """A thread that asks a server how it is, begun by the first question."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.version = ""
        self._status = StartupStatus((StartupStep("server", StepState.RUNNING, "connecting"),))
        self._queries: list[QueryInfo] = []
        self._catalog: Catalog | None = None
        self._etag: str | None = None
        self._lock = threading.Lock()
        self._begun = False
        self._closed = False
        self._wake = threading.Event()

    def look(self) -> None:
        """Ask now how the server is; raises the error of one that cannot be reached."""
        self._ask_status()

    def startup(self) -> StartupStatus:
        """How far the server's start is, as last heard."""
        self._begin()
        return self._status

    def queries(self) -> list[QueryInfo]:
        """The queries, as last heard."""
        self._begin()
        return self._queries

    def catalog(self) -> Catalog:
        """The newest that is known; the first time it is asked for now, and is empty where the
        server does not give it."""
        if self._catalog is None:
            try:
                self._ask_catalog()
            except StreamSQLError:
                pass
        self._begin()
        if self._catalog is None:
            from streamsql.api.catalogs import Catalog

            return Catalog()
        return self._catalog

    def refresh(self) -> None:
        """Refreshes the catalog; raises the error of the request."""
        self._ask_catalog()

    def hurry(self) -> None:
        """Requests a refresh after a statement."""
        self._wake.set()

    def close(self) -> None:
        self._closed = True
        self._wake.set()

    def _begin(self) -> None:
        with self._lock:
            if self._begun or self._closed:
                return
            self._begun = True
        threading.Thread(target=self._run, name="server watch", daemon=True).start()

    def _run(self) -> None:
        while True:
            self._wake.wait(EVERY_SECONDS)
            self._wake.clear()
            if self._closed:
                return
            try:
                self._ask_status()
                if self._catalog is not None:
                    self._ask_catalog()
            except StreamSQLError as error:
                self._status = _lost(error)

    def _ask_status(self) -> None:
        body = self._transport.get(STATUS).body
        try:
            assert body is not None
            self._status, self._queries = decode_status(body)
            self.version = str(body["version"])
        except (KeyError, TypeError, ValueError):
            raise ExternalError(
                f"{self._transport.address.url} is not a streamsql server"
            ) from None

    def _ask_catalog(self) -> None:
        reply = self._transport.get(CATALOG, self._etag)
        if reply.body is None:
            return
        from streamsql.api.catalogs import decode_catalog

        try:
            self._catalog, self._etag = decode_catalog(reply.body), reply.etag
        except (KeyError, TypeError, ValueError, IndexError):
            raise ExternalError(
                f"{self._transport.address.url} is a server of another version with an "
                "unreadable catalog"
            ) from None


def _lost(error: StreamSQLError) -> StartupStatus:
    """Shown as a failed part; statements are still attempted."""
    return StartupStatus((StartupStep("server", StepState.FAILED, error.message),), error)
