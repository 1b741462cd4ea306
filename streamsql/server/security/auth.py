"""HTTP basic authentication, and the roles that endpoints need.

What a statement needs is decided where it is run (runtime/permissions.py), by the role
that holds while the request is at work.
"""

from __future__ import annotations

import base64
import binascii
import logging

import anyio
import anyio.to_thread
from starlette.types import ASGIApp, Receive, Scope, Send

from streamsql.roles import Role, acting_as
from streamsql.server.http.errors import FORBIDDEN, TOO_MANY_REQUESTS, UNAUTHORIZED, Failure
from streamsql.server.telemetry.logs import user_name
from streamsql.users.accounts import User, Users
from streamsql.users.limits import Rate

_log = logging.getLogger("streamsql.access")
USER = "streamsql.user"
"""Where a scope holds the User of an authenticated request."""
OPEN = frozenset({"/healthcheck", "/chc/live", "/chc/ready"})
"""Paths for those who only ask whether the server is well."""
PAGES = "/console/"
"""Below it are the files of the console: the same for everybody, and nothing of what is served."""
_REALM = {"WWW-Authenticate": 'Basic realm="streamsql", charset="UTF-8"'}
_NEEDS = {
    "/inserts-stream": Role.DEVELOPER,
    "/streamsql/inserts": Role.DEVELOPER,
    "/ksql/terminate": Role.ADMIN,
    "/heartbeat": Role.ADMIN,
    "/lag": Role.ADMIN,
}
"""What endpoints need that are no statements."""
_CHECKS = 2
"""Passwords checked at a time: each takes a core and some memory."""
_FAILURES_PER_SECOND = 0.5
_FAILURES = 10


class Authentication:
    """ASGI middleware: only users of the file get any further. `failures` bounds how often one
    address may fail."""

    def __init__(self, app: ASGIApp, users: Users, failures: Rate | None = None) -> None:
        self._app = app
        self._users = users
        self._failures = failures or Rate(_FAILURES_PER_SECOND, _FAILURES)
        self._checks: anyio.Semaphore | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI's: find out who asks, and refuse those who may not."""
        path = scope.get("path", "")
        if scope["type"] not in ("http", "websocket") or path in OPEN or is_page(path):
            # What may be asked without a name may not do anything either.
            with acting_as(Role.READ_ONLY):
                await self._app(scope, receive, send)
            return
        user = await self._user(scope)
        if isinstance(user, Failure):
            await refuse(user, scope, receive, send)
            return
        needed = _NEEDS.get(path.rstrip("/"), Role.READ_ONLY)
        if not user.role.may(needed):
            message = f"This needs the role {needed.value}, yours is {user.role.value}"
            await refuse(Failure(FORBIDDEN, message), scope, receive, send)
            return
        scope[USER] = user
        token = user_name.set(user.name)
        try:
            with acting_as(user.role):
                await self._app(scope, receive, send)
        finally:
            user_name.reset(token)

    async def _user(self, scope: Scope) -> User | Failure:
        given = _credentials(scope)
        if given is None:
            return Failure(UNAUTHORIZED, "Unauthorized", headers=_REALM)
        known = self._users.remembered(*given)
        if known is not None:
            return known
        address = client_address(scope)
        # Guessing passwords costs us a core: whoever has failed often has to wait.
        if (seconds := self._failures.wait(address)) > 0:
            return _failed_often(seconds)
        if self._checks is None:
            self._checks = anyio.Semaphore(_CHECKS)
        async with self._checks:
            return await self._checked(address, *given)

    async def _checked(self, address: str, name: str, password: str) -> User | Failure:
        """Who has this password. A failure is counted before the password is looked at, and a
        success taken back: logins that come at the same time count, too."""
        known = self._users.remembered(name, password)
        if known is not None:
            return known  # The client's other connections have waited beside the first.
        if (seconds := self._failures.take(address)) > 0:
            return _failed_often(seconds)
        user = await anyio.to_thread.run_sync(self._users.log_in, name, password)
        if user is None:
            _log.warning("login failed", extra={"client": address})
            return Failure(UNAUTHORIZED, "Unauthorized", headers=_REALM)
        self._failures.give_back(address)
        return user


def is_page(path: str) -> bool:
    """Whether a path is one of the console's files, which anybody may have."""
    return path == "/" or path.startswith(PAGES)


def _credentials(scope: Scope) -> tuple[str, str] | None:
    """Name and password of the Authorization header; None where there are none."""
    for name, value in scope["headers"]:
        if name.lower() != b"authorization":
            continue
        scheme, _, encoded = value.strip().partition(b" ")
        if scheme.lower() != b"basic":
            return None
        try:
            text = base64.b64decode(encoded.strip(), validate=True).decode("utf-8")
        except (binascii.Error, UnicodeDecodeError):
            return None
        user, colon, password = text.partition(":")
        return (user, password) if colon else None
    return None


def _failed_often(seconds: float) -> Failure:
    return too_many("Too many failed logins", seconds)


def client_address(scope: Scope) -> str:
    """The address that a request comes from, as far as it is known."""
    client = scope.get("client")
    return str(client[0]) if client else "unknown"


def too_many(message: str, seconds: float) -> Failure:
    """429, with how long to wait."""
    return Failure(TOO_MANY_REQUESTS, message, headers={"Retry-After": str(int(seconds) + 1)})


async def refuse(failure: Failure, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request, or the opening of a websocket, with a failure."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": failure.message})
        return
    await failure.response()(scope, receive, send)
