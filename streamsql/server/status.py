"""The endpoints that tell how the server is: /info, /healthcheck and their like."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from streamsql.server.state import state_of


async def root(request: Request) -> Response:
    return RedirectResponse("/info", 307)


async def info(request: Request) -> Response:
    state = state_of(request)
    ready = state.engine.startup().ready
    about: dict[str, Any] = {
        "version": version("streamsql"),
        "ksqlServiceId": state.config.service_id,
        "serverStatus": "RUNNING" if ready else "STARTING",
    }
    return JSONResponse({"KsqlServerInfo": about})


ROUTES = [Route("/", root), Route("/info", info)]
