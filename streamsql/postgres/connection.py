"""A connection: startup, login, messages, cancellation."""

from __future__ import annotations

import asyncio
import logging
import secrets
import ssl
import time
from dataclasses import dataclass
from typing import Protocol

from streamsql.engine import Engine
from streamsql.postgres.channel import Channel, Gone
from streamsql.postgres.client import Client, System
from streamsql.postgres.concurrency_limits import ConcurrencyLimits
from streamsql.postgres.errors import (
    CANCELLED,
    NOT_AUTHORIZED,
    PROTOCOL,
    SHUTTING_DOWN,
    TOO_MANY,
    PgError,
    fields_of,
)
from streamsql.postgres.login import Authenticator, Caller, is_private
from streamsql.postgres.session_protocol import SessionProtocol
from streamsql.postgres.settings import NAMES, PostgresConfig, Settings
from streamsql.postgres.wire import answers
from streamsql.postgres.wire.messages import (
    Cancel,
    Encrypt,
    Message,
    ProtocolError,
    StartUp,
    Terminate,
)
from streamsql.properties import SEMANTICS
from streamsql.roles import Role
from streamsql.session import Session

_log = logging.getLogger("streamsql.postgres")
LOOK_SECONDS = 0.5
START_SECONDS = 10.0
"""Shorter than a client's login timeout."""
_NOT_SETTINGS = frozenset({"user", "database", "replication", "options"})


class Others(Protocol):
    """A connection's view of the other connections."""

    @property
    def full(self) -> bool:
        """Whether the maximum number of connections is reached."""
        ...

    def cancel(self, process: int, secret: int) -> None:
        """Cancels the statement of another connection."""
        ...


@dataclass(frozen=True)
class Shared:
    """Shared state of a listener's connections."""

    engine: Engine
    config: PostgresConfig
    limits: ConcurrencyLimits
    system: System
    authenticator: Authenticator | None
    """None: all users have full access."""
    tls: ssl.SSLContext | None
    others: Others


class Connection:
    """`process` and `secret` identify the connection in a Cancel."""

    def __init__(self, shared: Shared, channel: Channel, process: int) -> None:
        self._shared = shared
        self._channel = channel
        self.process = process
        self.secret = secrets.randbits(32)
        self._protocol: SessionProtocol | None = None
        self._task: asyncio.Task[None] | None = None
        self._cancelled = False

    async def serve(self) -> None:
        """Handles messages until one side closes."""
        try:
            async with asyncio.timeout(self._shared.config.login_seconds):
                begun = await self._begin()
            if begun is not None:
                self._protocol = begun
                await self._messages(begun)
        except (Gone, TimeoutError):
            pass  # A client that sent nothing gets no response.
        except ProtocolError as error:
            self._fatal(PgError(PROTOCOL, str(error)))
        except PgError as error:
            self._fatal(error)
        except asyncio.CancelledError:
            self._fatal(PgError(SHUTTING_DOWN, "the server is shutting down"))
            raise
        except Exception as error:
            _log.error("a connection failed", exc_info=error)
            self._fatal(error)
        finally:
            if self._protocol is not None:
                self._protocol.close()
            await self._channel.close()

    def _fatal(self, error: BaseException) -> None:
        self._channel.write(answers.error(fields_of(error, severity="FATAL")))

    # -- beginning ---------------------------------------------------------------------------------

    async def _begin(self) -> SessionProtocol | None:
        """Everything up to the first ReadyForQuery; None if there is no session."""
        while True:
            first = await self._channel.first()
            match first:
                case Encrypt(tls=tls):
                    if self._channel.tls:
                        raise ProtocolError("the connection is encrypted already")
                    await self._channel.encrypt(self._shared.tls if tls else None)
                case Cancel(process, secret):
                    self._shared.others.cancel(process, secret)
                    return None
                case StartUp():
                    return await self._start_up(first)

    async def _start_up(self, first: StartUp) -> SessionProtocol:
        shared, given = self._shared, first.parameters
        unknown = [name for name in given if name.startswith("_pq_.")]
        if first.minor or unknown:
            self._channel.write(answers.negotiate_version(unknown))
        name = given.get("user", "")
        if not name:
            raise PgError(NOT_AUTHORIZED, "no PostgreSQL user name specified in startup packet")
        if "replication" in given and given["replication"] not in ("", "0", "off", "false", "no"):
            raise PgError("0A000", "replication is not supported")
        self._check_room()
        settings = _settings(given)
        role = await self._log_in(name)
        await self._started()
        self._channel.write(answers.AUTHENTICATED)
        session = Session(*_of_engine(shared.engine), remote=True, role=role)
        client = Client(
            *(shared.engine, shared.config, shared.limits, shared.system),
            *(name, session, settings, self.process),
        )
        protocol = SessionProtocol(client, self._channel)
        protocol.report()
        self._channel.write(answers.backend_key(self.process, self.secret))
        await self._channel.say(answers.ready(client.status))
        return protocol

    async def _started(self) -> None:
        """Waits for the engine's startup with a timeout."""
        deadline = time.monotonic() + START_SECONDS
        while not self._shared.engine.startup().ready:
            if time.monotonic() > deadline:
                raise PgError("57P03", "the server is starting up", hint="Try again soon.")
            await asyncio.sleep(LOOK_SECONDS / 10)

    def _check_room(self) -> None:
        if self._shared.others.full:
            raise PgError(TOO_MANY, "sorry, too many clients already")

    async def _log_in(self, name: str) -> Role | None:
        shared, channel = self._shared, self._channel
        if shared.authenticator is None:
            return None
        caller = Caller(channel.address, is_private(channel.address, channel.tls))
        user = await shared.authenticator.admit(name, caller, channel.say, channel.read)
        return user.role

    # -- messages ----------------------------------------------------------------------------------

    async def _messages(self, protocol: SessionProtocol) -> None:
        while True:
            message = await self._channel.read()
            if isinstance(message, Terminate):
                return
            if protocol.is_short(message):
                # Short work cannot be cancelled: a task of its own would take longer.
                await protocol.handle(message)
            else:
                await self._handle(protocol, message)

    async def _handle(self, protocol: SessionProtocol, message: Message) -> None:
        """Handles a message, unless it is cancelled or the client disconnects meanwhile."""
        self._cancelled = False
        task = self._task = asyncio.create_task(self._interruptible(protocol, message))
        try:
            while not (await asyncio.wait({task}, timeout=LOOK_SECONDS))[0]:
                if self._channel.gone:
                    raise Gone
            task.result()
        finally:
            self._task = None
            if not task.done():
                task.cancel()
                await asyncio.wait({task})

    async def _interruptible(self, protocol: SessionProtocol, message: Message) -> None:
        try:
            await protocol.handle(message)
        except asyncio.CancelledError:
            if not self._cancelled:
                raise
            await protocol.interrupted(
                message, PgError(CANCELLED, "canceling statement due to user request")
            )

    def cancel(self) -> None:
        if self._task is not None and not self._task.done():
            self._cancelled = True
            self._task.cancel()


def _of_engine(engine: Engine) -> tuple[dict[str, str], dict[str, str]]:
    properties = {SEMANTICS: "standard", **engine.session.properties}
    return properties, dict(engine.session.variables)


def _settings(given: dict[str, str]) -> Settings:
    """Session settings in the client's first message."""
    settings = Settings()
    wanted = {name.lower(): value for name, value in given.items() if name not in _NOT_SETTINGS}
    words = given.get("options", "").replace("--", "-c ").split()
    for flag, word in zip(words, words[1:], strict=False):
        if flag == "-c" and "=" in word:
            name, _, value = word.partition("=")
            wanted[name.lower().replace("-", "_")] = value
    for name, value in wanted.items():
        if name.startswith("_pq_."):
            continue
        if name in NAMES or "." in name:
            settings.begin(name, value)
        else:
            settings.get(name)
    settings.database = given.get("database") or given.get("user", "")
    return settings
