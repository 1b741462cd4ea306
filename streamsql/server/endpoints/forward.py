"""Forwards requests to the leader of a service, which runs the queries and catalog changes. A
missing leader is awaited: another server, possibly this one, takes over within seconds. A request
is not repeated if the leader fails after receiving it."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterable
from functools import cache, partial

import anyio
import httpx2
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streamsql.server.http.errors import NOT_READY, Failure, RequestError
from streamsql.server.http.replay import Replayed
from streamsql.server.http.requests import StatementRequest, parse_json
from streamsql.server.security import sessions
from streamsql.server.state.server_state import (
    TOKEN_HEADER,
    TOKEN_PROPERTY,
    ServerState,
)

STATEMENTS = ("/ksql", "/streamsql/execute")
"""Paths that are forwarded if one of their statements requires the leader."""
QUERIES = ("/query", "/query-stream", "/streamsql/execute")
"""Paths that are forwarded if they have a consistency token: only the leader knows the progress of
the queries."""
ALWAYS = ("/ksql/terminate", "/streamsql/plan", "/streamsql/apply")
FORWARDED = "streamsql-forwarded"
"""Marks forwarded requests, which are not forwarded again."""
CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 120.0
TAKE_OVER_SECONDS = 20.0
"""How long a leader is awaited."""
LOOK_SECONDS = 0.25
SYNC_SECONDS = 5.0
"""How long this server may take to apply what the leader has done, before it reports that."""
_FAILED = (
    "the leader at {url} has failed meanwhile\n"
    "Hint: Whether the statement has taken effect is not known: look before again."
)
_OWN_HEADERS = {"connection", "content-length", "date", "host", "server", "transfer-encoding"}
"""Headers of the connection."""
_BROWSERS_HEADERS = {"origin", "sec-fetch-site", "cookie", sessions.HEADER}
"""Headers of browsers, which this server has checked."""


class Forward:
    """ASGI middleware; passes everything on at the leader, and read-only requests elsewhere."""

    def __init__(self, app: ASGIApp, state: ServerState) -> None:
        self._app = app
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._is_candidate(scope):
            return await self._app(scope, receive, send)
        body, messages = await _body(receive, self._limit(scope))
        again = Replayed(messages, receive)
        if not await self._state.run(partial(self._needs_leader, scope, body)):
            return await self._app(scope, again, send)
        async with _client() as client:
            answer = await self._ask_leader(client, scope, body)
            if isinstance(answer, httpx2.Response):
                return await self._pass_on(answer, receive, send)
        await (answer.response() if answer else self._app)(scope, again, send)
        return None

    def _is_candidate(self, scope: Scope) -> bool:
        return (
            scope["type"] == "http"
            and scope["method"] == "POST"
            and scope["path"] in (*STATEMENTS, *QUERIES, *ALWAYS)
            and not self._state.engine.leads
            and FORWARDED not in Headers(scope=scope)
        )

    def _limit(self, scope: Scope) -> int:
        config = self._state.config
        return config.max_request_bytes if scope["path"] in ALWAYS else config.max_statement_bytes

    def _needs_leader(self, scope: Scope, body: bytes) -> bool:
        """Whether a request requires the leader; invalid requests do not. Parses the statements, so
        it runs in a thread."""
        path = scope["path"]
        if len(body) > self._limit(scope):
            return False
        try:
            given = StatementRequest.of(parse_json(body))
            waits = TOKEN_HEADER in Headers(scope=scope) or TOKEN_PROPERTY in given.properties
            if path in ALWAYS or (path in QUERIES and waits):
                return True
            if path not in STATEMENTS:
                return False
            script = self._state.script(scope, given.sql, self._state.session(given))
        except RequestError:
            return path in ALWAYS
        return self._state.engine.needs_leader(script)

    async def _ask_leader(
        self, client: httpx2.AsyncClient, scope: Scope, body: bytes
    ) -> httpx2.Response | Failure | None:
        """The leader's response with its body unread; None if this server is or may soon become the
        leader."""
        headers = [*_headers(Headers(scope=scope).items()), (FORWARDED, "1")]
        deadline = time.monotonic() + TAKE_OVER_SECONDS
        while not self._state.engine.leads:
            url = self._state.engine.leader_url
            if url is not None:
                # Not the client's header handling, which adds its own.
                request = httpx2.Request(
                    "POST", url.rstrip("/") + scope["path"], headers=headers, content=body
                )
                try:
                    return await client.send(request, stream=True)
                except (httpx2.ConnectError, httpx2.ConnectTimeout):
                    pass
                except httpx2.TransportError:
                    return Failure(NOT_READY, _FAILED.format(url=url))
            if time.monotonic() > deadline:
                return Failure(NOT_READY, "no server of the service is the leader")
            await anyio.sleep(LOOK_SECONDS)
        return None

    async def _pass_on(self, answer: httpx2.Response, receive: Receive, send: Send) -> None:
        headers = _headers(answer.headers.multi_items())
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        await send({"type": "http.response.start", "status": answer.status_code, "headers": raw})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_until_gone, receive, tasks.cancel_scope)
            async for chunk in answer.aiter_raw():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            # After the full response, this server also has its effects.
            await self._state.run(partial(self._state.engine.sync, SYNC_SECONDS), begun=True)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            tasks.cancel_scope.cancel()


async def _until_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


async def _body(receive: Receive, limit: int) -> tuple[bytes, list[Message]]:
    """The body up to its limit, and its messages."""
    body, messages = bytearray(), []
    while True:
        message = await receive()
        messages.append(message)
        body += message.get("body", b"")
        if not message.get("more_body", False) or len(body) > limit:
            return bytes(body), messages


def _headers(given: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    left_out = _OWN_HEADERS | _BROWSERS_HEADERS
    return [(name.lower(), value) for name, value in given if name.lower() not in left_out]


def _client() -> httpx2.AsyncClient:
    """A client for one request that ignores proxy variables. A pooled connection may have been
    closed by a leader, and its request could not be repeated."""
    timeout = httpx2.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)
    return httpx2.AsyncClient(timeout=timeout, verify=_trusted(), trust_env=False)


@cache
def _trusted() -> ssl.SSLContext:
    """The authorities of this machine and of SSL_CERT_FILE, which httpx2 only reads together with
    proxy variables."""
    return ssl.create_default_context()
