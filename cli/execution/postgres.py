"""PostgreSQL's port of `streamsql server` and of the shell: what --postgres makes."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from streamsql.errors import ConfigError
from streamsql.server.settings.config import ServerConfig, listen_address
from streamsql.users.accounts import Users

if TYPE_CHECKING:
    from streamsql.engine import Engine
    from streamsql.postgres.listener import Listener
    from streamsql.users.work import WorkThreads

_log = logging.getLogger("streamsql.server")
_HERE = ("127.0.0.1", "::1", "localhost")
_CLOSE_SECONDS = 5.0


def listener(
    address: str, engine: Engine, config: ServerConfig, work: WorkThreads | None = None
) -> Listener:
    """The port, with the server's users, certificate and bounds, and its threads (`work`);
    ConfigError for one that cannot be."""
    from streamsql.postgres.listener import Listener
    from streamsql.postgres.relations.system import system
    from streamsql.postgres.settings import PostgresConfig

    host, port = postgres_address(address)
    users = None if config.users_file is None else Users(config.users_file)
    settings = PostgresConfig(
        host=host,
        port=port,
        tls_cert=config.tls_cert,
        tls_key=config.tls_key,
        tls_client_ca=config.tls_client_ca,
        max_message_bytes=config.max_request_bytes,
        max_statement_bytes=config.max_statement_bytes,
        max_push_queries=config.max_push_queries,
        threads=config.threads,
    )
    return Listener(engine, settings, system(engine), users, work)


def warn_if_open(address: str, config: ServerConfig) -> None:
    """Warns if every client can run code and delete data."""
    host, port = postgres_address(address)
    if config.users_file is None and host not in _HERE:
        _log.warning("no --users-file: every client that reaches %s:%s has full access", host, port)


def postgres_address(text: str) -> tuple[str, int]:
    """Host and port of HOST:PORT; of a port alone this machine's."""
    if text.strip().isdecimal():
        text = f"127.0.0.1:{text.strip()}"
    if "://" in text or ":" not in text:
        raise ConfigError(f"{text} is not an address for --postgres", hint="Use HOST:PORT.")
    return listen_address(text)


@contextmanager
def port_of_shell(address: str, engine: Engine) -> Iterator[tuple[str, int]]:
    """Listens while the shell is there, for this machine only: a shell knows no users. Host and
    port; ConfigError for another address, ExternalError for one that cannot be had."""
    host, _ = postgres_address(address)
    if host not in _HERE:
        raise ConfigError(
            f"the shell listens on this machine only, and not on {host}",
            hint="streamsql server --postgres has users and TLS.",
        )
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="postgres", daemon=True)
    thread.start()
    try:
        port = listener(address, engine, ServerConfig())
        asyncio.run_coroutine_threadsafe(port.start(), loop).result()
        try:
            yield host, port.port
        finally:
            asyncio.run_coroutine_threadsafe(port.close(), loop).result(_CLOSE_SECONDS)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_CLOSE_SECONDS)
        loop.close()
