"""Rate limit per user, or per address without users."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from streamsql.server.security.auth import OPEN, USER, client_address, refuse, too_many
from streamsql.users.limits import Rate

BURST_SECONDS = 2.0
"""An idle client can send a burst of this many seconds' requests."""


class Throttle:
    """ASGI middleware, after Authentication if there is one."""

    def __init__(self, app: ASGIApp, per_second: float) -> None:
        self._app = app
        self._rate = Rate(per_second, per_second * BURST_SECONDS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and scope["path"] not in OPEN:
            user = scope.get(USER)
            client = f"user {user.name}" if user else client_address(scope)
            seconds = self._rate.take(client)
            if seconds > 0:
                message = "Host is at rate limit: too many requests"
                await refuse(too_many(message, seconds), scope, receive, send)
                return
        await self._app(scope, receive, send)
