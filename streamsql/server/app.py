"""The ASGI application: endpoints and middleware.

A new endpoint is a Route in its module's ROUTES and, for a new module, a line in `routes`. A new
middleware is a line in `middleware`; the first one sees a request first.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from streamsql.errors import StreamSQLError
from streamsql.server.console import assistance, files, login, scripts, topology
from streamsql.server.endpoints import (
    changes,
    cluster,
    health,
    inserts,
    ksql,
    native,
    openapi,
    prometheus,
    queries,
    terminate,
    websocket,
)
from streamsql.server.endpoints.forward import Forward
from streamsql.server.endpoints.lookups import Lookups
from streamsql.server.http.errors import Failure, RequestError, failure
from streamsql.server.middleware.guard import Guard
from streamsql.server.middleware.request_log import Paths, RequestLog
from streamsql.server.middleware.stack import security
from streamsql.server.security.browsers import browsers
from streamsql.server.security.sessions import browser_sessions
from streamsql.server.state.server_state import ServerState

_log = logging.getLogger("streamsql.server")


def routes() -> list[BaseRoute]:
    return [
        *queries.ROUTES,
        *health.ROUTES,
        *cluster.ROUTES,
        *ksql.ROUTES,
        *terminate.ROUTES,
        *inserts.ROUTES,
        *websocket.ROUTES,
        *native.ROUTES,
        *changes.ROUTES,
        *prometheus.ROUTES,
        *openapi.ROUTES,
        *files.ROUTES,
        *login.ROUTES,
        *assistance.ROUTES,
        *topology.ROUTES,
        *scripts.ROUTES,
    ]


def middleware(state: ServerState) -> list[Middleware]:
    """The middleware, the outermost first."""
    config = state.config
    return [
        Middleware(
            RequestLog,
            metrics=state.metrics.http,
            paths=Paths(routes()),
            log_all=config.access_log,
        ),
        browsers(config),
        Middleware(Guard, state=state),
        browser_sessions(config, state.sessions),
        *security(config),
        Middleware(Forward, state=state),
        Middleware(Lookups, state=state),
    ]


def build_app(state: ServerState, more: Sequence[BaseRoute] = ()) -> ASGIApp:
    """The application of one engine; `more`: further endpoints, for tests."""
    endpoints = Starlette(
        routes=[*routes(), *more],
        exception_handlers={
            RequestError: _refused,
            StreamSQLError: _refused,
            HTTPException: _http_error,
        },
    )
    endpoints.router.redirect_slashes = False
    endpoints.state.server = state
    # Not Starlette's, which adds layers to each request.
    app: ASGIApp = endpoints
    for cls, args, options in reversed(middleware(state)):
        app = cls(app, *args, **options)
    return app


async def _refused(request: Request, error: Exception) -> Response:
    return failure(error).response()


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return Failure(
        error.status_code * 100, error.detail, headers=dict(error.headers or {})
    ).response()
