"""HTTP basic authentication, and the roles of endpoints. planner/permissions.py checks statements
with the role of the current request."""

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
"""Scope key of an authenticated request's User."""
OPEN = frozenset({"/healthcheck", "/chc/live", "/chc/ready"})
"""Paths of health checks."""
PAGES = "/console/"
"""Prefix of the console's static files."""
_REALM = {"WWW-Authenticate": 'Basic realm="streamsql", charset="UTF-8"'}
_NEEDS = {
    "/inserts-stream": Role.DEVELOPER,
    "/streamsql/inserts": Role.DEVELOPER,
    "/ksql/terminate": Role.ADMIN,
    "/heartbeat": Role.ADMIN,
    "/lag": Role.ADMIN,
}
"""Roles of endpoints without statements."""
_CHECKS = 2
"""Concurrent password checks: each uses a core and some memory."""
_FAILURES_PER_SECOND = 0.5
_FAILURES = 10


class Authentication:
    """ASGI middleware: only users of the file pass. `failures` bounds the failures of one
    address."""

    def __init__(self, app: ASGIApp, users: Users, failures: Rate | None = None) -> None:
        self._app = app
        self._users = users
        self._failures = failures or Rate(_FAILURES_PER_SECOND, _FAILURES)
        self._checks: anyio.Semaphore | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] not in ("http", "websocket") or path in OPEN or is_page(path):
            # Requests without a name have no permissions.
            with acting_as(Role.READ_ONLY):
                await self._app(scope, receive, send)
            return
        user = await self._user(scope)
        if isinstance(user, Failure):
            await refuse(user, scope, receive, send)
            return
        needed = _NEEDS.get(path.rstrip("/"), Role.READ_ONLY)
        if not user.role.may(needed):
            message = f"This requires the role {needed.value}; your role is {user.role.value}"
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
        # Password checks use a core: an address with many failures has to wait.
        if (seconds := self._failures.wait(address)) > 0:
            return _failed_often(seconds)
        if self._checks is None:
            self._checks = anyio.Semaphore(_CHECKS)
        async with self._checks:
            return await self._checked(address, *given)

    async def _checked(self, address: str, name: str, password: str) -> User | Failure:
        """The user of a password. A failure is counted before the check and taken back on success,
        so concurrent logins count, too."""
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
    """Whether a path is a static file of the console."""
    return path == "/" or path.startswith(PAGES)


def _credentials(scope: Scope) -> tuple[str, str] | None:
    """Name and password of the Authorization header, or None."""
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
    """The client's address, if known."""
    client = scope.get("client")
    return str(client[0]) if client else "unknown"


def too_many(message: str, seconds: float) -> Failure:
    return Failure(TOO_MANY_REQUESTS, message, headers={"Retry-After": str(int(seconds) + 1)})


async def refuse(failure: Failure, scope: Scope, receive: Receive, send: Send) -> None:
    """Rejects a request or a WebSocket handshake."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": failure.message})
        return
    await failure.response()(scope, receive, send)
