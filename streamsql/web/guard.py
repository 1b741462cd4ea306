"""ASGI middleware that checks requests of browsers."""

from __future__ import annotations

import logging
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streamsql.web.origins import Policy, Refusal

HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
        b"object-src 'none'",
    ),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-content-type-options", b"nosniff"),
)
"""Default headers of responses: no other page may load or frame them, or guess their type."""
_NAMES = frozenset(name for name, _ in HEADERS)
_POLICY_VIOLATION = 1008
_log = logging.getLogger("streamsql.access")


class BrowserGuard:
    """Passes requests that the policy allows; `refused` formats the rejections of the others."""

    def __init__(self, app: ASGIApp, policy: Policy, refused: Callable[[Refusal], ASGIApp]) -> None:
        self._app = app
        self._policy = policy
        self._refused = refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Rejects the request, or passes it on and adds headers to its response."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        refusal = self._policy.refusal(scope)
        app = self._app
        if refusal is not None:
            _log.warning("refused: %s", refusal.message)
            if scope["type"] == "websocket":
                await receive()
                await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
                return
            app = self._refused(refusal)

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = message.get("headers", ())
                said = {name for name, _ in given} & _NAMES
                more = [header for header in HEADERS if header[0] not in said]
                message = {**message, "headers": [*given, *more]}
            await send(message)

        await app(scope, receive, guarded)
