"""Runs the application on granian in the engine's process: HTTP/1.1 and HTTP/2, also without TLS.
SIGTERM and SIGINT stop it: new requests are rejected, push queries end, the engine closes."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import Callable
from typing import Any, Protocol

from granian.constants import HTTPModes, SSLProtocols
from granian.log import LogLevels
from granian.server.embed import Server

from streamsql.errors import ExternalError, StreamSQLError
from streamsql.server.app import build_app
from streamsql.server.settings.config import ServerConfig
from streamsql.server.state.server_state import ServerState
from streamsql.web.serving import claim, http_server

_log = logging.getLogger("streamsql.server")
LOOK_SECONDS = 0.05
DRAIN_SECONDS = 2.0
"""How long open responses are awaited."""


class Beside(Protocol):
    """Another port of the same server, on its event loop."""

    async def start(self) -> None:
        """Starts listening; ExternalError if the address is unavailable."""
        ...

    async def close(self) -> None: ...


async def serve(
    state: ServerState,
    *,
    stop: asyncio.Event | None = None,
    on_listening: Callable[[str], None] | None = None,
    beside: Beside | None = None,
) -> None:
    """Serves until `stop` is set; reports the URL by `on_listening`. `beside` is served as long.
    ExternalError if an address is unavailable."""
    config = state.config
    _check_address(config)
    if beside is not None:
        await beside.start()
    server = _http_server(build_app(state), config)
    serving = asyncio.create_task(server.serve())
    stop = stop or asyncio.Event()
    stopped = asyncio.create_task(stop.wait())
    broken = asyncio.create_task(_startup_error(state))
    if on_listening is not None:
        on_listening(config.url)
    try:
        ends = {serving, stopped, broken}
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    finally:
        state.stopping = True
        if beside is not None:
            await beside.close()
        await _drained(state)
        stopped.cancel()
        server.stop()
        await asyncio.wait({serving}, timeout=DRAIN_SECONDS)
    if broken.done():
        raise broken.result()
    broken.cancel()
    if serving.done() and (error := serving.exception()) is not None:
        raise ExternalError(f"the HTTP server failed: {error}") from error


async def _startup_error(state: ServerState) -> StreamSQLError:
    """The startup error of the engine; waits forever without one."""
    while True:
        status = state.engine.startup()
        if status.error is not None:
            return status.error
        if status.ready:
            await asyncio.Event().wait()
        await asyncio.sleep(LOOK_SECONDS)


async def _drained(state: ServerState) -> None:
    """Ends push queries, and waits briefly for open requests."""
    deadline = time.monotonic() + DRAIN_SECONDS
    while state.requests and time.monotonic() < deadline:
        state.running.close_all()
        await asyncio.sleep(LOOK_SECONDS)
    left = list(state.requests)
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


def run(
    state: ServerState,
    on_listening: Callable[[str], None] | None = None,
    beside: Beside | None = None,
) -> None:
    """Serves in the main thread until SIGTERM or SIGINT."""

    async def main() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        await serve(state, stop=stop, on_listening=on_listening, beside=beside)

    asyncio.run(main())


def _http_server(application: Any, config: ServerConfig) -> Server:
    return http_server(
        application,
        config.host,
        config.port,
        http=HTTPModes.auto,
        log_level=LogLevels.critical,
        backlog=1024,
        ssl_cert=config.tls_cert,
        ssl_key=config.tls_key,
        ssl_protocol_min=SSLProtocols.tls12,
        ssl_ca=config.tls_client_ca,
        ssl_client_verify=config.tls_client_ca is not None,
    )


def _check_address(config: ServerConfig) -> None:
    """Detects another server on the port."""
    try:
        claim(config.host, config.port).close()
    except OSError as error:
        where = f"{config.host}:{config.port}"
        reason = error.strerror or str(error)
        raise ExternalError(f"cannot listen on {where}: {reason}") from None
