"""Status endpoints: /info, /healthcheck, /status and similar."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from streamsql.errors import ConfigError
from streamsql.properties import settable
from streamsql.properties.foreign import sent_by_clients
from streamsql.server.http.errors import (
    BAD_REQUEST,
    NOT_FOUND,
    NOT_READY,
    RETRY_SECONDS,
    RequestError,
)
from streamsql.server.state.server_state import ServerState, state_of
from streamsql.version import VERSION


async def info(request: Request) -> Response:
    state = state_of(request)
    about: dict[str, Any] = {
        "version": VERSION,
        "kafkaClusterId": await _cluster_id(state),
        "ksqlServiceId": state.config.service_id,
        "serverStatus": "RUNNING" if state.engine.startup().ready else "STARTING",
    }
    return JSONResponse({"KsqlServerInfo": about})


async def _cluster_id(state: ServerState) -> str | None:
    return await state.run(state.engine.inspection.cluster_id)


async def healthcheck(request: Request) -> Response:
    """GET /healthcheck: always 200."""
    state = state_of(request)
    ready = state.engine.startup().ready
    details = {
        "metastore": ready,
        "kafka": await state.run(state.engine.inspection.kafka_answers),
        "commandRunner": ready,
    }
    return JSONResponse(
        {
            "isHealthy": all(details.values()),
            "details": {name: {"isHealthy": healthy} for name, healthy in details.items()},
            "serverState": "READY" if ready else "INITIALIZING",
        }
    )


async def live(request: Request) -> Response:
    """GET /chc/live: the process responds."""
    return JSONResponse({})


async def ready(request: Request) -> Response:
    """GET /chc/ready: the engine is up; otherwise 503."""
    if not state_of(request).engine.startup().ready:
        raise RequestError(
            NOT_READY, "The server is starting", headers={"Retry-After": str(RETRY_SECONDS)}
        )
    return JSONResponse({})


async def statuses(request: Request) -> Response:
    state = state_of(request)
    found = state.commands.all(state.engine.inspection.sources())
    return JSONResponse({"commandStatuses": {id: status.status for id, status in found.items()}})


async def status(request: Request) -> Response:
    state = state_of(request)
    command_id = "/".join(request.path_params[part] for part in ("type", "entity", "action"))
    found = state.commands.get(command_id, state.engine.inspection.sources())
    if found is None:
        raise RequestError(NOT_FOUND, "Command not found")
    return JSONResponse(found.to_json())


async def is_valid_property(request: Request) -> Response:
    name = request.path_params["name"]
    try:
        settable(name)
    except ConfigError as error:
        if not sent_by_clients(name):
            raise RequestError(BAD_REQUEST, error.message) from None
    return JSONResponse(True)


async def metadata(request: Request) -> Response:
    return JSONResponse({"version": VERSION, "clusterId": await _metadata_id(request)})


async def metadata_id(request: Request) -> Response:
    return JSONResponse(await _metadata_id(request))


async def _metadata_id(request: Request) -> dict[str, Any]:
    state = state_of(request)
    clusters = {
        "kafka-cluster": await _cluster_id(state),
        "ksql-cluster": state.config.service_id,
    }
    return {"scope": {"path": [], "clusters": clusters}, "id": ""}


ROUTES = [
    Route("/info", info),
    Route("/healthcheck", healthcheck),
    Route("/chc/live", live),
    Route("/chc/ready", ready),
    Route("/status", statuses),
    Route("/status/{type}/{entity}/{action}", status),
    Route("/is_valid_property/{name}", is_valid_property),
    Route("/v1/metadata", metadata),
    Route("/v1/metadata/id", metadata_id),
]
