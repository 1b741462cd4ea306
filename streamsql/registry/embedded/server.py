"""The embedded registry: its HTTP server in a thread of this process."""

from __future__ import annotations

import logging
import socket
import threading
from typing import TYPE_CHECKING, Any

import uvicorn

from streamsql.errors import ExternalError
from streamsql.waiting import await_condition

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
        self._socket = _listening(port)
        self.url = f"http://{HOST}:{self._socket.getsockname()[1]}"
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        config = uvicorn.Config(
            application,
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            interface="asgi3",
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="schema registry", daemon=True)

    def start(self) -> str:
        """The URL, once requests are answered."""
        self._thread.start()
        await_condition(self._settled, START_SECONDS, every=0.01)
        if not self._server.started:
            raise ExternalError("the embedded schema registry does not start")
        return self.url

    def _settled(self) -> bool:
        return self._server.started or not self._thread.is_alive()

    def _run(self) -> None:
        self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)
        self._socket.close()


def _listening(port: int) -> socket.socket:
    for candidate in (port, 0):
        found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((HOST, candidate))
            found.listen(128)
            return found
        except OSError:
            found.close()
    raise ExternalError("no port is free for the embedded schema registry")


class EmbeddedRegistry(HttpServer):
    """A registry whose schemas lie in Kafka."""

    def __init__(self, client: KafkaClient, port: int = PORT) -> None:
        from streamsql.registry.embedded.app import app
        from streamsql.registry.embedded.journal import Journal
        from streamsql.registry.embedded.store import Store

        journal = Journal(client)
        store = Store(journal.write)
        store.load(journal.read())
        super().__init__(app(store), port)
