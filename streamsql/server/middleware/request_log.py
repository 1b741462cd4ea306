"""Request id, access log and metrics of every request. Bodies and query strings are never
logged."""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Iterable

from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streamsql.server.security.auth import USER, client_address
from streamsql.server.telemetry.http_metrics import HttpMetrics
from streamsql.server.telemetry.logs import request_id

HEADER = "X-Request-ID"
_HEADER_BYTES = HEADER.lower().encode()
_GOOD_ID = re.compile(rb"[\w.\-:]{1,128}", re.ASCII)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "WS"})
OTHER = "other"
"""Label of unknown paths and methods in metrics, which bounds their number."""
_log = logging.getLogger("streamsql.access")


class Paths:
    """Labels of paths in metrics: the path or its route."""

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        known = [route for route in routes if isinstance(route, Route | WebSocketRoute)]
        self._plain = frozenset(route.path for route in known if "{" not in route.path)
        self._patterns = [(r.path_regex, r.path) for r in known if "{" in r.path]

    def label(self, path: str) -> str:
        """The route of a path, which bounds the number of labels; one label for all unknown
        paths."""
        if path in self._plain:
            return path
        return next((label for regex, label in self._patterns if regex.match(path)), OTHER)


class RequestLog:
    """ASGI middleware, the outermost; `log_all`: also logs successful requests."""

    def __init__(self, app: ASGIApp, metrics: HttpMetrics, paths: Paths, log_all: bool) -> None:
        self._app = app
        self._metrics = metrics
        self._paths = paths
        self._log_all = log_all

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        id = _id_of(scope)
        token = request_id.set(id)
        status, first, started = 0, 0.0, time.perf_counter()

        async def observed(message: Message) -> None:
            nonlocal status, first
            if message["type"] == "http.response.start":
                status, first = message["status"], time.perf_counter() - started
                headers = [*message.get("headers", ()), (_HEADER_BYTES, id.encode())]
                message = {**message, "headers": headers}
            elif message["type"] == "websocket.accept":
                status, first = 101, time.perf_counter() - started
            elif message["type"] == "websocket.close" and not status:
                status = 403
            await send(message)

        path = self._paths.label(scope["path"])
        method = scope.get("method", "WS")
        known = method if method in _METHODS else OTHER
        self._metrics.begun(path)
        try:
            await self._app(scope, receive, observed)
        except BaseException:
            status = status or 500
            raise
        finally:
            elapsed = time.perf_counter() - started
            # A stream of rows lasts as long as its client; the time to its start is measured.
            self._metrics.ended(path, known, status, first or elapsed)
            if self._log_all or status >= 500:
                self._line(scope, method, status, elapsed)
            request_id.reset(token)

    def _line(self, scope: Scope, method: str, status: int, elapsed: float) -> None:
        user = scope.get(USER)
        level = logging.ERROR if status >= 500 and status != 503 else logging.INFO
        more = {
            "status": status,
            "ms": round(elapsed * 1000, 1),
            "client": client_address(scope),
            **({"user": user.name} if user else {}),
        }
        _log.log(level, "%s %s", method, scope["path"], extra=more)


def _id_of(scope: Scope) -> str:
    """The client's request id if valid, otherwise a new one."""
    for name, value in scope["headers"]:
        if name == _HEADER_BYTES and _GOOD_ID.fullmatch(value):
            return str(value, "ascii")
    return os.urandom(16).hex()
