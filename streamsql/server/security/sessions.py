"""Sessions of the console: what a browser shows instead of a password or the token.

The session's id is in a cookie that no script can read and that no page of another site brings
along. With users, it stands for the login that it was opened with: the request goes on as if it had
brought that itself, so that roles, changed passwords and other servers of the service see no
difference. Without users, it is opened by the token that the server prints when it starts, and a
page gets no answer without one; programs, which send nothing of what browsers do, need none.
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
"""The one that was used the longest ago makes room."""
HEADER = "streamsql-console"
"""Sent by the console's page: where there is neither TLS nor a loopback address, browsers do not
say of a GET which page it comes from."""
LOGIN = "/streamsql/login"
SESSION = "streamsql.console.session"
"""Where a scope holds the id of the session that it belongs to."""
_NEEDS_TOKEN = "The console needs the token that the server has printed when it started"


@dataclass
class _Session:
    authorization: bytes | None
    used: float


class Sessions:
    """Those that are open, on the event loop. `token` opens one where there are no users."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.token = secrets.token_urlsafe(24)
        self._clock = clock
        self._open: dict[str, _Session] = {}

    def fits(self, token: str) -> bool:
        """Whether this is the token."""
        return hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode())

    def open(self, authorization: bytes | None) -> str:
        """The id of a new session; `authorization`: the header that it stands for."""
        while len(self._open) >= MAX_SESSIONS:
            self.close(next(iter(self._open)))
        id = secrets.token_urlsafe(24)
        self._open[id] = _Session(authorization, self._clock())
        return id

    def use(self, id: str) -> tuple[bool, bytes | None]:
        """Whether there is such a session, and the header that it stands for."""
        found = self._open.pop(id, None)
        if found is None or self._clock() - found.used > IDLE_SECONDS:
            return False, None
        found.used = self._clock()
        self._open[id] = found
        return True, found.authorization

    def close(self, id: str) -> None:
        """It is of no use any more."""
        self._open.pop(id, None)


def cookie_name(config: ServerConfig) -> str:
    """Of one server: browsers keep the cookies of a host for all of its ports."""
    return f"streamsql_{config.port}"


def browser_sessions(config: ServerConfig, sessions: Sessions) -> Middleware:
    """The middleware for a server's settings."""
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
        """ASGI's: put a session's login in the place of its cookie, or refuse a page without."""
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
        """Whether a page of this server asks, and not one of an origin that was named."""
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
    """Without the header by which a browser would ask for a password in the page's place."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = message.get("headers", ())
            kept = [header for header in headers if header[0].lower() != b"www-authenticate"]
            message = {**message, "headers": kept}
        await send(message)

    return sent
