"""The port: accepts connections, tracks them, and closes them with the server."""

from __future__ import annotations

import asyncio
import hmac
import itertools
import logging

from streamsql.engine import Engine
from streamsql.errors import ExternalError
from streamsql.postgres.channel import Channel
from streamsql.postgres.client import System
from streamsql.postgres.concurrency_limits import ConcurrencyLimits
from streamsql.postgres.connection import Connection, Shared
from streamsql.postgres.login import Authenticator
from streamsql.postgres.settings import PostgresConfig
from streamsql.users.accounts import Users
from streamsql.users.work import WorkThreads

_log = logging.getLogger("streamsql.postgres")
BACKLOG = 512
CLOSE_SECONDS = 2.0
SPARE = 20
"""Connections beyond the limit that receive an error or carry a Cancel; others are closed."""


class Listener:
    """PostgreSQL's port of one server. Started and closed on its event loop."""

    def __init__(
        self,
        engine: Engine,
        config: PostgresConfig,
        system: System,
        users: Users | None = None,
        work: WorkThreads | None = None,
    ) -> None:
        """ConfigError for an invalid certificate. `work`: threads that other ports of the server
        share."""
        self._config = config
        self._engine = engine
        self._system = system
        self._authenticator = None if users is None else Authenticator(users)
        self._tls = config.tls()
        self._connections: dict[int, Connection] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._numbers = itertools.count(1)
        self._server: asyncio.Server | None = None
        self._shared: Shared | None = None
        self._work = work or WorkThreads(config.threads)

    async def start(self) -> None:
        """Listen; ExternalError if the address is not available."""
        config = self._config
        limits = ConcurrencyLimits(config.max_scans, config.max_push_queries, self._work)
        self._shared = Shared(
            *(self._engine, config, limits, self._system, self._authenticator, self._tls, self)
        )
        try:
            self._server = await asyncio.start_server(
                self._accept, config.host, config.port, backlog=BACKLOG
            )
        except OSError as error:
            where = f"{config.host}:{config.port}"
            reason = error.strerror or str(error)
            raise ExternalError(f"cannot listen on {where}: {reason}") from None

    @property
    def listens(self) -> bool:
        return self._server is not None

    @property
    def port(self) -> int:
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def full(self) -> bool:
        """Whether the maximum number of connections is reached."""
        return len(self._connections) > self._config.max_connections

    def cancel(self, process: int, secret: int) -> None:
        """Cancels the statement of a connection with the right secret."""
        found = self._connections.get(process)
        if found is not None and hmac.compare_digest(
            secret.to_bytes(4, "big"), found.secret.to_bytes(4, "big")
        ):
            found.cancel()

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CLOSE_SECONDS)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._connections) >= self._config.max_connections + SPARE:
            writer.transport.abort()
            return
        assert self._shared is not None
        config = self._config
        channel = Channel(reader, writer, config.max_statement_bytes, config.max_message_bytes)
        connection = Connection(self._shared, channel, next(self._numbers) & 0x7FFF_FFFF)
        self._connections[connection.process] = connection
        task = asyncio.get_running_loop().create_task(self._serve(connection))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, connection: Connection) -> None:
        try:
            await connection.serve()
        finally:
            del self._connections[connection.process]
