"""Endpoints of the editor: completion and errors."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from streamsql.api.completion import Names, locate, suggest
from streamsql.api.language import KEYWORDS
from streamsql.errors import StreamSQLError
from streamsql.server.http.errors import BAD_REQUEST, RequestError
from streamsql.server.http.media import check_content_type
from streamsql.server.http.requests import as_object, parse_json, read_body
from streamsql.server.state.server_state import state_of, statement_request

MAX_COMPLETED = 100_000
"""Maximum number of characters for completion, which parses at every key."""


async def check(request: Request) -> Response:
    """POST {sql, properties}: errors of the statements, without running them."""
    check_content_type(request)
    state = state_of(request)
    given = await statement_request(request)
    session = state.session(given)
    errors = await state.run(lambda: state.engine.inspection.check(given.sql, session))
    body = json.dumps({"errors": [_shown(error, given.sql) for error in errors]})
    # Escaped: an error may contain invalid text, such as an unpaired surrogate.
    return Response(body, media_type="application/json")


def _shown(error: StreamSQLError, sql: str) -> dict[str, Any]:
    start, end = (error.span.start, error.span.end) if error.span else (0, len(sql))
    return {
        "from": _units(sql[:start]),
        "to": _units(sql[:end]),
        "kind": error.kind,
        "message": error.message,
        "detail": error.detail,
        "hint": error.hint,
    }


def _units(text: str) -> int:
    """Length in UTF-16 units, as browsers count."""
    return len(text) + sum(character > "\uffff" for character in text)


async def suggestions(request: Request) -> Response:
    """POST {before, after}: suggestions at the cursor, and the length of the replaced part of
    `before`."""
    check_content_type(request)
    state = state_of(request)
    body = await read_body(request, state.config.max_statement_bytes)
    given = as_object(parse_json(body), "the request")
    before, after = given.get("before"), given.get("after", "")
    if not isinstance(before, str) or not isinstance(after, str):
        raise RequestError(BAD_REQUEST, 'the request has no text "before"')
    if len(before) + len(after) > MAX_COMPLETED:
        return JSONResponse({"replaces": 0, "suggestions": []})

    def work() -> dict[str, Any]:
        names = Names(variables=state.engine.session.variables)
        found = suggest(before + after, len(before), state.engine.catalog(), names)
        replaces = _units(locate(before + after, len(before)).word)
        shown = [[each.text, each.kind, each.description] for each in found]
        return {"replaces": replaces, "suggestions": shown}

    return JSONResponse(await state.run(work))


async def words(request: Request) -> Response:
    """GET: keywords for syntax highlighting."""
    return JSONResponse(sorted(KEYWORDS))


ROUTES = [
    Route("/streamsql/check", check, methods=["POST"]),
    Route("/streamsql/suggest", suggestions, methods=["POST"]),
    Route("/streamsql/words", words, methods=["GET"]),
]
