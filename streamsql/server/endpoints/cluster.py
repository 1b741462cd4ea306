"""/clusterStatus, /heartbeat and /lag. streamsql's servers find each other through their command
topic; reports of clients and servers that follow ksqlDB's protocol are only stored and returned."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from streamsql.server.http.errors import BAD_REQUEST, RequestError
from streamsql.server.http.media import check_content_type
from streamsql.server.http.requests import as_object, parse_json, read_body
from streamsql.server.state.hosts import NO_LAGS, host_status
from streamsql.server.state.server_state import ServerState, state_of
from streamsql.status import QueryState


async def cluster_status(request: Request) -> Response:
    state = state_of(request)
    now = int(time.time() * 1000)
    found = state.hosts.all(now)
    leader = state.engine.leader_url
    if leader is not None:
        found[_address(leader)] = host_status(True, now, {}, NO_LAGS)
    queries = await state.run(lambda: _own(state))
    found[_address(state.config.url)] = host_status(True, now, queries, NO_LAGS)
    return JSONResponse({"clusterStatus": found})


def _own(state: ServerState) -> dict[str, Any]:
    """The queries of this server; every store is on every server."""
    found = {}
    for query in state.engine.queries():
        if query.kind == "PERSISTENT" and query.sink is not None:
            standby = query.state is QueryState.STANDBY
            stores = [query.sink]
            found[query.id] = {
                "activeStores": [] if standby else stores,
                "activePartitions": [],
                "standByStores": stores if standby else [],
                "standByPartitions": [],
            }
    return found


def _address(url: str) -> str:
    parts = urlsplit(url)
    return parts.netloc or url


async def heartbeat(request: Request) -> Response:
    body = await _body(request)
    state_of(request).hosts.beat(_host_of(body, "hostInfo"), int(time.time() * 1000))
    return JSONResponse({"isOk": True})


async def lag(request: Request) -> Response:
    body = await _body(request)
    lags = as_object(body.get("hostStoreLags"), "hostStoreLags")
    state_of(request).hosts.lag(_host_of(body, "ksqlHost"), lags)
    return JSONResponse({"isOk": True})


async def _body(request: Request) -> dict[str, Any]:
    check_content_type(request)
    text = await read_body(request, state_of(request).config.max_request_bytes)
    return as_object(parse_json(text), "the request")


def _host_of(body: dict[str, Any], name: str) -> str:
    given = as_object(body.get(name), name)
    host, port = given.get("host"), given.get("port")
    if not isinstance(host, str) or not isinstance(port, int) or isinstance(port, bool):
        raise RequestError(BAD_REQUEST, f"{name} is not a host and port")
    return f"{host[:255]}:{port}"


ROUTES = [
    Route("/clusterStatus", cluster_status),
    Route("/heartbeat", heartbeat, methods=["POST"]),
    Route("/lag", lag, methods=["POST"]),
]
