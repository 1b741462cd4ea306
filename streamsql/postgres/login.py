"""Authentication: SCRAM if the users file has a verifier, otherwise the plain password over TLS or
from localhost only."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from streamsql.postgres.errors import NOT_AUTHORIZED, WRONG_PASSWORD, PgError
from streamsql.postgres.wire import answers
from streamsql.postgres.wire.messages import Message, Password, ProtocolError, sasl_first
from streamsql.users.accounts import User, Users
from streamsql.users.limits import Rate
from streamsql.users.scram import MECHANISM, Exchange, LoginRefused, Verifier

_log = logging.getLogger("streamsql.access")
FAILURES, PER_SECOND = 10, 0.2
"""Per address: burst of wrong passwords, and then one per five seconds."""
Say = Callable[[bytes], Awaitable[None]]
Hear = Callable[[], Awaitable[Message]]


@dataclass(frozen=True)
class Caller:
    """Address of a connection, and whether it is protected from eavesdropping."""

    address: str
    private: bool


def is_private(address: str, tls: bool) -> bool:
    """Whether the connection is protected from eavesdropping."""
    try:
        return tls or ipaddress.ip_address(address).is_loopback
    except ValueError:
        return tls


class Authenticator:
    """Authenticates the users of a file; limits failures per address."""

    def __init__(self, users: Users, failures: Rate | None = None) -> None:
        self._users = users
        self._failures = failures or Rate(PER_SECOND, FAILURES)

    async def admit(self, name: str, caller: Caller, say: Say, hear: Hear) -> User:
        """The authenticated user; PgError otherwise."""
        if self._failures.take(caller.address) > 0:
            raise PgError(
                NOT_AUTHORIZED, "too many failed logins", hint="Wait some seconds, and try again."
            )
        verifier = self._users.verifier(name)
        if verifier is not None:
            await self._scram(name, verifier, say, hear)
            account = self._users.account(name)
            user = None if account is None else account.user
        elif caller.private:
            user = await self._password(name, say, hear)
        else:
            raise PgError(
                NOT_AUTHORIZED,
                f'user "{name}" has no SCRAM verifier, and the connection is not encrypted',
                hint="Connect with sslmode=require, or give the password again with "
                "`streamsql user add`, which keeps a verifier.",
            )
        if user is None:
            raise self._wrong(name, caller.address)
        self._failures.give_back(caller.address)
        return user

    async def _password(self, name: str, say: Say, hear: Hear) -> User | None:
        await say(answers.WANTS_PASSWORD)
        given = (await _answer(hear)).data.removesuffix(b"\0").decode("utf-8", "replace")
        known = self._users.remembered(name, given)
        return known or await asyncio.to_thread(self._users.log_in, name, given)

    async def _scram(self, name: str, verifier: Verifier, say: Say, hear: Hear) -> None:
        await say(answers.sasl_mechanisms([MECHANISM]))
        mechanism, first = sasl_first((await _answer(hear)).data)
        if mechanism != MECHANISM:
            raise ProtocolError("client selected an invalid SASL authentication mechanism")
        exchange = Exchange(verifier)
        try:
            await say(answers.sasl_step(exchange.first(first), last=False))
            await say(answers.sasl_step(exchange.final((await _answer(hear)).data), last=True))
        except LoginRefused as reason:
            _log.info("login of %s refused: %s", name, reason)
            raise self._wrong(name, None) from None

    def _wrong(self, name: str, address: str | None) -> PgError:
        _log.warning("login failed", extra={"client": address or "unknown"})
        return PgError(WRONG_PASSWORD, f'password authentication failed for user "{name}"')


async def _answer(hear: Hear) -> Password:
    message = await hear()
    if not isinstance(message, Password):
        raise ProtocolError("expected a password")
    return message
