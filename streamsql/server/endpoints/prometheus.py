"""GET /metrics for Prometheus."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from streamsql.server.state.server_state import state_of


async def metrics(request: Request) -> Response:
    state = state_of(request)
    accept = request.headers.get("accept", "")
    body, media_type = await state.run(lambda: state.metrics.text(accept))
    return Response(body, headers={"Content-Type": media_type})


ROUTES = [Route("/metrics", metrics, methods=["GET"])]
