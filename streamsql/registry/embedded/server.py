"""The embedded registry: its HTTP server in a thread of this process."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from streamsql.errors import ExternalError
from streamsql.waiting import await_condition
from streamsql.web.serving import claim, http_server

if TYPE_CHECKING:
    from streamsql.kafka.client import KafkaClient

HOST = "127.0.0.1"
PORT = 8081
"""Where clients look for a registry first."""
START_SECONDS = 15.0
STOP_SECONDS = 5.0


class HttpServer:
    """An ASGI application on a port of this machine; a free one if the port is taken, or 0."""

    def __init__(self, application: Any, port: int = 0) -> None:
        self._application = application
        self._claim = _claimed(port)
        self._port = int(self._claim.getsockname()[1])
        self.url = f"http://{HOST}:{self._port}"
        self._stop: Callable[[], object] = lambda: None
        self._thread = threading.Thread(target=self._run, name="schema registry", daemon=True)

    def start(self) -> str:
        """The URL, once requests are answered."""
        self._thread.start()
        # First with the claim held, then without it.
        self._await(self._beside_claim)
        self._claim.close()
        self._await(self._alone)
        return self.url

    def _await(self, is_there: Callable[[], bool]) -> None:
        failed = ExternalError("the embedded schema registry does not start")

        def look() -> bool:
            if not self._thread.is_alive():
                raise failed
            return is_there()

        if not await_condition(look, START_SECONDS, every=0.01):
            raise failed

    def _beside_claim(self) -> bool:
        """Whether a connection does not come to the claim."""
        with socket.create_connection((HOST, self._port), timeout=START_SECONDS):
            try:
                self._claim.accept()[0].close()
            except BlockingIOError:
                return True
        return False

    def _alone(self) -> bool:
        try:
            socket.create_connection((HOST, self._port), timeout=START_SECONDS).close()
        except OSError:
            return False
        return True

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        from granian.constants import HTTPModes

        server = http_server(
            self._application, HOST, self._port, http=HTTPModes.http1, websockets=False
        )
        self._stop = partial(asyncio.get_running_loop().call_soon_threadsafe, server.stop)
        await server.serve()

    def stop(self) -> None:
        if self._thread.is_alive():
            self._stop()
            self._thread.join(STOP_SECONDS)
        self._claim.close()


def _claimed(port: int) -> socket.socket:
    """A socket that listens on the port if it is free, otherwise on any port. It was bound
    exclusively, so no other process has the port; afterwards granian can share it."""
    for candidate in (port, 0):
        try:
            claimed = claim(HOST, candidate)
        except OSError:
            continue
        claimed.listen()
        claimed.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        claimed.setblocking(False)
        return claimed
    raise ExternalError("no port is free for the embedded schema registry")


class EmbeddedRegistry(HttpServer):
    """A registry with its schemas in Kafka."""

    def __init__(self, client: KafkaClient, port: int = PORT) -> None:
        from streamsql.registry.embedded.app import app
        from streamsql.registry.embedded.journal import Journal
        from streamsql.registry.embedded.store import Store

        journal = Journal(client)
        store = Store(journal.write)
        store.load(journal.read())
        super().__init__(app(store), port)
