"""Endpoints of streamsql's shell and Python client with typed results. streamsql/client/wire.py
describes the protocol."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

import anyio
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from streamsql.api.catalogs import encode_catalog
from streamsql.client.handover import Handover
from streamsql.client.wire import ALIVE, ALIVE_SECONDS, to_line
from streamsql.client.wire_status import encode_status
from streamsql.engine import Engine
from streamsql.results import Result
from streamsql.server.endpoints.execution import Execution
from streamsql.server.state.server_state import state_of, statement_request
from streamsql.version import VERSION

NDJSON = "application/x-ndjson"


class LinesResponse(Response):
    """The lines of an execution until it ends or the client disconnects."""

    def __init__(self, execution: Execution, outbox: Handover[bytes]) -> None:
        super().__init__(media_type=NDJSON, headers={"Cache-Control": "no-store"})
        del self.headers["content-length"]
        self._execution = execution
        self._outbox = outbox

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await self._execution.start()
        try:
            await send(start)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._until_gone, receive, tasks.cancel_scope)
                await self._send_lines(send)
                tasks.cancel_scope.cancel()
        finally:
            self._execution.cancel()

    async def _send_lines(self, send: Send) -> None:
        while (lines := await self._outbox.take(ALIVE_SECONDS)) is not None:
            body = b"".join(lines) or to_line(ALIVE)
            await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    @staticmethod
    async def _until_gone(receive: Receive, scope: anyio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        scope.cancel()


async def execute(request: Request) -> Response:
    """POST {sql, properties, sessionVariables}: results as lines."""
    state = state_of(request)
    given = await statement_request(request)
    outbox: Handover[bytes] = Handover(state.config.push_buffer_rows)
    session = state.session(given)
    script = state.parsed(request.scope) or given.sql

    def results() -> Iterator[Result]:
        return state.engine.execute(script, session)

    execution = Execution(results, given.sql, session, outbox, state.running, state.work)
    return LinesResponse(execution, outbox)


async def catalog(request: Request) -> Response:
    """GET: the catalog; 304 if the client has the current one."""
    engine = state_of(request).engine
    body, etag = _ENCODED.of(engine)
    headers = {"ETag": etag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type="application/json")


async def status(request: Request) -> Response:
    """GET: startup progress and queries."""
    state = state_of(request)
    engine = state.engine
    queries = await state.run(engine.queries)
    return _json({"version": VERSION, **encode_status(engine.startup(), queries)})


def _json(body: Mapping[str, Any]) -> Response:
    return Response(json.dumps(body).encode(), media_type="application/json")


class _Encoded:
    """The encoded catalog, cached because it rarely changes."""

    def __init__(self) -> None:
        self._catalog: object = None
        self._sent = (b"", "")

    def of(self, engine: Engine) -> tuple[bytes, str]:
        catalog = engine.catalog()
        if catalog is not self._catalog:
            body = json.dumps(encode_catalog(catalog)).encode()
            self._sent = (body, f'"{hashlib.sha256(body).hexdigest()[:32]}"')
            self._catalog = catalog
        return self._sent


_ENCODED = _Encoded()

ROUTES = [
    Route("/streamsql/execute", execute, methods=["POST"]),
    Route("/streamsql/catalog", catalog, methods=["GET"]),
    Route("/streamsql/status", status, methods=["GET"]),
]
