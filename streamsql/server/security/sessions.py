"""Console sessions, which replace a password or the token in a browser.

The session's id is in a cookie that is not accessible to scripts and not sent by other sites. With
users, it represents a login: the request continues with the original Authorization header, so
roles, changed passwords and other servers of the service behave the same. Without users, the token
that the server prints at startup opens it, and pages get no response without one; programs, which
send no browser headers, need none.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streamsql.server.http.errors import NO_TOKEN, Failure
from streamsql.server.security.auth import OPEN, is_page, refuse
from streamsql.server.settings.config import ServerConfig
from streamsql.web.origins import is_own, trusted_origin

IDLE_SECONDS = 12 * 3600.0
MAX_SESSIONS = 1000
"""The least recently used session is evicted."""
HEADER = "streamsql-console"
"""Sent by the console's page: without TLS or a loopback address, browsers do not send the origin of
a GET."""
LOGIN = "/streamsql/login"
SESSION = "streamsql.console.session"
"""Scope key of the session's id."""
_NEEDS_TOKEN = "The console requires the token that the server printed at startup"


@dataclass
class _Session:
    authorization: bytes | None
    used: float


class Sessions:
    """Open sessions, on the event loop. `token` opens one without users."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.token = secrets.token_urlsafe(24)
        self._clock = clock
        self._open: dict[str, _Session] = {}

    def fits(self, token: str) -> bool:
        return hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode())

    def open(self, authorization: bytes | None) -> str:
        """The id of a new session; `authorization`: the header that it represents."""
        while len(self._open) >= MAX_SESSIONS:
            self.close(next(iter(self._open)))
        id = secrets.token_urlsafe(24)
        self._open[id] = _Session(authorization, self._clock())
        return id

    def use(self, id: str) -> tuple[bool, bytes | None]:
        """Whether the session exists, and the header that it represents."""
        found = self._open.pop(id, None)
        if found is None or self._clock() - found.used > IDLE_SECONDS:
            return False, None
        found.used = self._clock()
        self._open[id] = found
        return True, found.authorization

    def close(self, id: str) -> None:
        self._open.pop(id, None)


def cookie_name(config: ServerConfig) -> str:
    """Per server: browsers share the cookies of a host among all of its ports."""
    return f"streamsql_{config.port}"


def browser_sessions(config: ServerConfig, sessions: Sessions) -> Middleware:
    return Middleware(
        BrowserSessions,
        sessions=sessions,
        cookie=cookie_name(config),
        users=config.users_file is not None,
        origins=frozenset(map(trusted_origin, config.cors_origins)),
    )


class BrowserSessions:
    """ASGI middleware before the authentication; `origins` are those of `--cors-origin`."""

    def __init__(
        self,
        app: ASGIApp,
        sessions: Sessions,
        cookie: str,
        *,
        users: bool,
        origins: frozenset[str],
    ) -> None:
        self._app = app
        self._sessions = sessions
        self._cookie = cookie
        self._users = users
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        known = self._resume(scope, headers)
        if not self._is_console(headers):
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        free = known or self._users or path == LOGIN or path in OPEN or is_page(path)
        if not free:
            await refuse(Failure(NO_TOKEN, _NEEDS_TOKEN), scope, receive, send)
            return
        await self._app(scope, receive, _unchallenged(send))

    def _resume(self, scope: Scope, headers: Headers) -> bool:
        id = _cookie(headers, self._cookie)
        known, authorization = self._sessions.use(id) if id else (False, None)
        if known:
            scope[SESSION] = id
        if authorization is not None and "authorization" not in headers:
            scope["headers"] = [*scope["headers"], (b"authorization", authorization)]
        return known

    def _is_console(self, headers: Headers) -> bool:
        """Whether the request comes from a page of this server, and not from a named origin."""
        if headers.get("origin") in self._origins:
            return False
        return HEADER in headers or (
            ("sec-fetch-site" in headers or "origin" in headers)
            and headers.get("sec-fetch-site") != "none"
            and is_own(*(headers.get(name, "") for name in ("sec-fetch-site", "origin", "host")))
        )


def _cookie(headers: Headers, name: str) -> str | None:
    for header in headers.getlist("cookie"):
        try:
            found = SimpleCookie(header).get(name)
        except CookieError:
            continue
        if found is not None:
            return found.value
    return None


def _unchallenged(send: Send) -> Send:
    """Without the header that makes browsers ask for a password."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = message.get("headers", ())
            kept = [header for header in headers if header[0].lower() != b"www-authenticate"]
            message = {**message, "headers": kept}
        await send(message)

    return sent
