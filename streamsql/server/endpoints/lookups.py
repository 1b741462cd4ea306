"""Fast path for key lookups: plain requests whose statement shape the engine knows. All others go
to the endpoints, which report errors. The response is that of the endpoints."""

from __future__ import annotations

import json
from collections.abc import Coroutine

from starlette.types import ASGIApp, Receive, Scope, Send

from streamsql.errors import StreamSQLError
from streamsql.results import Answer
from streamsql.server.http.errors import failure
from streamsql.server.http.media import CONTENT_TYPES, JSON, KSQL_JSON
from streamsql.server.http.replay import Replayed
from streamsql.server.rows.answers import AnswerResponse, AnswerWriter
from streamsql.server.rows.streamed_rows import FORMS
from streamsql.server.state.server_state import TOKEN_HEADER, ServerState
from streamsql.session import Session

_LONGEST = 8_000
"""Maximum size of a request in bytes."""
_FORMS = {
    "/query-stream": {JSON.encode(): JSON, KSQL_JSON.encode(): KSQL_JSON},
    "/query": dict.fromkeys((b"", b"*/*", JSON.encode(), KSQL_JSON.encode()), KSQL_JSON),
}
"""By path and accepted media type, without the row-by-row form."""
_TYPES = frozenset(
    form.encode() for name in CONTENT_TYPES for form in (name, f"{name}; charset=utf-8")
) | {b""}
_TOKEN = TOKEN_HEADER.encode()
_MAY_BE_EMPTY = frozenset({"properties", "streamsProperties", "sessionVariables"})
"""Fields of a plain request that may be present and empty."""
_decoder = json.JSONDecoder(strict=False)


class Lookups:
    """ASGI middleware, the innermost: behind all protection of the endpoints."""

    def __init__(self, app: ASGIApp, state: ServerState) -> None:
        self._app = app
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        media, length = _plain(scope)
        if media is None or length > min(_LONGEST, self._state.config.max_statement_bytes):
            await self._app(scope, receive, send)
            return
        message = await receive()
        sql = _statement(message.get("body", b""), length)
        coming = None if sql is None else self._lookup(sql)
        try:
            answer = None if coming is None else await coming
            if answer is None:
                await self._app(scope, Replayed([message], receive), send)
                return
            writer = _writer(answer, media)
            first = writer.first()
        except StreamSQLError as error:
            await failure(error, sql).response()(scope, receive, send)
            return
        if not first.last:
            await AnswerResponse(writer, first, self._state)(scope, receive, send)
            return
        body = "".join(first.texts).encode()
        size = str(len(body)).encode()
        headers = [(b"content-length", size), (b"content-type", media.encode())]
        headers += [(name.encode(), value.encode()) for name, value in writer.headers.items()]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})

    def _lookup(self, sql: str) -> Coroutine[object, object, Answer | None] | None:
        engine = self._state.engine
        server = engine.session
        session = Session(dict(server.properties), dict(server.variables), remote=True)
        try:
            return engine.lookup_soon(sql, session)
        except StreamSQLError:
            return None  # the endpoint comes to the same, and says so


def _writer(answer: Answer, media: str) -> AnswerWriter:
    return AnswerWriter(answer, FORMS[media](answer.query_id, answer.schema, False))


def _plain(scope: Scope) -> tuple[str | None, int]:
    """The response form, or None for a request that is not plain; and the length of its body."""
    forms = _FORMS.get(scope["path"]) if scope["type"] == "http" else None
    if forms is None or scope["method"] != "POST":
        return None, 0
    given: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name == _TOKEN:
            return None, 0
        given.setdefault(name, value)
    length = given.get(b"content-length", b"")
    if given.get(b"content-type", b"") not in _TYPES or not length.isdigit():
        return None, 0
    return forms.get(given.get(b"accept", b"")), int(length)


def _statement(body: bytes, length: int) -> str | None:
    """The statement of a request that has nothing else, if its body is complete. Some servers send
    the end of a body as a separate message, which is not awaited."""
    if len(body) != length:
        return None
    try:
        given = _decoder.decode(body.decode())
    except (ValueError, RecursionError):
        return None
    if not isinstance(given, dict):
        return None
    sql = given.pop("ksql", given.pop("sql", None))
    plain = all(name in _MAY_BE_EMPTY and value in (None, {}) for name, value in given.items())
    return sql if plain and isinstance(sql, str) and sql else None
