"""What the tests of the HTTP interface share: one server, on one engine, and a schema registry."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import httpx2

from streamsql.engine import Engine, EngineConfig
from streamsql.kafka.client import KafkaClient
from streamsql.properties import SCHEMA_REGISTRY_URL
from streamsql.server.run import serve
from streamsql.server.settings.config import ServerConfig
from streamsql.server.state.server_state import ServerState
from streamsql.test_driver.registries import SharedRegistry
from tests.awaiting import await_until
from tests.ports import free_port

START_SECONDS = 240.0
ANSWER_SECONDS = 60.0


@dataclass(frozen=True)
class Server:
    """A server that runs in this process, so that a test can see what its queries have read."""

    engine: Engine
    kafka: KafkaClient
    registry: SharedRegistry
    http: httpx2.Client


@contextmanager
def open_server(folder: Path, bootstrap_servers: str | None = None) -> Iterator[Server]:
    """Without `bootstrap_servers`, on a broker of its own."""
    registry = SharedRegistry()
    engine = Engine(
        EngineConfig(
            data_dir=folder,
            bootstrap_servers=bootstrap_servers,
            properties={SCHEMA_REGISTRY_URL: registry.client.url},
        )
    )
    with _started(engine):
        state = ServerState(engine, ServerConfig(port=free_port()))
        kafka = engine._state.services.kafka.get()
        with _serving(state), httpx2.Client(base_url=state.config.url, timeout=ANSWER_SECONDS) as c:
            yield Server(engine, kafka, registry, c)


@contextmanager
def _started(engine: Engine) -> Iterator[None]:
    """Its queries live for seconds: optimised code would come too late for them."""
    before = os.environ.get("JAVA_TOOL_OPTIONS", "")
    quick = f"{before} -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"
    with patch.dict(os.environ, JAVA_TOOL_OPTIONS=quick), engine:
        engine.wait_until_ready(START_SECONDS)
        yield


@contextmanager
def _serving(state: ServerState) -> Iterator[None]:
    loops: list[asyncio.AbstractEventLoop] = []
    stop = asyncio.Event()

    async def main() -> None:
        loops.append(asyncio.get_running_loop())
        await serve(state, stop=stop)

    # Not by a loop of our own: `run` also ends the tasks that are left.
    thread = threading.Thread(target=lambda: asyncio.run(main()), name="server")
    thread.start()
    try:
        _await_port(state.config.host, state.config.port)
        yield
    finally:
        for loop in loops:
            loop.call_soon_threadsafe(stop.set)
        thread.join()


def _await_port(host: str, port: int) -> None:
    def open() -> bool:
        try:
            socket.create_connection((host, port), 1).close()
        except OSError:
            return False
        return True

    await_until(open, "the server to listen")
