"""The innermost middleware: unexpected exceptions become responses without stack traces, and a
stopping server rejects new requests."""

from __future__ import annotations

import asyncio
import logging

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streamsql.server.http.errors import SHUTTING_DOWN, Failure, failure
from streamsql.server.state.server_state import ServerState

_log = logging.getLogger("streamsql.server")


class Guard:
    """ASGI middleware; does not change successful responses."""

    def __init__(self, app: ASGIApp, state: ServerState) -> None:
        self._app = app
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if self._state.stopping:
            await _refuse(scope, receive, send)
            return
        task = asyncio.current_task()
        assert task is not None
        self._state.requests.add(task)
        try:
            await self._guarded(scope, receive, send)
        finally:
            self._state.requests.discard(task)

    async def _guarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def tracked(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, tracked)
        except asyncio.CancelledError:
            # The server is stopping, and has waited for this request as long as possible.
            if not started:
                await _refuse(scope, receive, send)
        except Exception as error:
            _log.error("%s %s failed", scope["method"], scope["path"], exc_info=error)
            if not started:
                await failure(error).response()(scope, receive, send)


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    refusal = Failure(SHUTTING_DOWN, "The server is shutting down")
    await refusal.response()(scope, receive, send)
