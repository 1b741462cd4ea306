"""POST /inserts-stream: rows in and acknowledgements out on one connection.

The first line names the target, all others are rows. Rows that arrive together are written together
and acknowledged as soon as Kafka has them, while further rows arrive.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from decimal import Decimal
from functools import partial
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from streamsql.client.wire_errors import encode_error
from streamsql.errors import ConfigError, StreamSQLError
from streamsql.ksqldb import says
from streamsql.results import RowInserts
from streamsql.server.http.errors import (
    BAD_REQUEST,
    BAD_STATEMENT,
    TOO_LARGE,
    RequestError,
    failure,
)
from streamsql.server.http.media import DELIMITED, JSON, KSQL_JSON, accepted, check_content_type
from streamsql.server.http.requests import (
    as_object,
    optional_object,
    parse_json,
    session_properties,
)
from streamsql.server.rows.json_values import json_text
from streamsql.server.state.server_state import ServerState, state_of
from streamsql.session import Session

_log = logging.getLogger("streamsql.server")
MAX_ROWS = 500
"""Maximum number of rows written together."""


async def inserts_stream(request: Request) -> Response:
    media = accepted(request, (DELIMITED, JSON, KSQL_JSON))
    check_content_type(request)
    state = state_of(request)
    lines = Lines(request, state.config.max_request_bytes)
    first = as_object(parse_json(await lines.first(), "the first line"), "the first line")
    target, session = _target(state, first)
    exact = first.get("exact") is True
    try:
        inserts = await state.run(partial(state.engine.inserts, target, session))
    except StreamSQLError as error:
        if not exact:
            return failure(error, target).response()
        refusal = {"status": "error", "seq": 0, "error": encode_error(error, ""), "last": True}
        return Response(json_text(refusal) + "\n", media_type=media)
    form = "[]" if media == JSON else ""
    return Acknowledgements(_answered(state, lines, _Writer(inserts, exact), form), media)


class Acknowledgements(Response):
    """Sends texts as they are produced. Unlike Starlette's response, it leaves the rest of the body
    to their producer."""

    def __init__(self, texts: AsyncIterator[str], media_type: str) -> None:
        super().__init__(media_type=media_type)
        del self.headers["content-length"]
        self._texts = texts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": b"", "more_body": True})
        async for text in self._texts:
            body = text.encode()
            await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _target(state: ServerState, given: dict[str, Any]) -> tuple[str, Session]:
    target = given.get("target")
    if not isinstance(target, str) or not target.strip():
        raise RequestError(
            BAD_REQUEST,
            'the first line has no "target"',
            ksqldb=says("no-argument", name="target"),
        )
    server = state.engine.session
    found = session_properties(server, optional_object(given.get("properties"), "properties"))
    return target.strip(), Session(found, dict(server.variables))


class Lines:
    """Lines of a body as they arrive; those that arrive together are one list."""

    def __init__(self, request: Request, limit: int) -> None:
        self._chunks = request.stream()
        self._limit = limit
        self._rest = b""
        self._ready: list[bytes] = []
        self._ended = False

    async def first(self) -> bytes:
        """RequestError for an empty body."""
        while not self._ready:
            if not await self._read():
                raise RequestError(BAD_REQUEST, "the request has no line")
        return self._ready.pop(0)

    async def next(self, most: int) -> list[bytes]:
        """At least one line; empty at the end."""
        while not self._ready:
            if not await self._read():
                return []
        found, self._ready = self._ready[:most], self._ready[most:]
        return found

    async def _read(self) -> bool:
        if self._ended:
            return False
        try:
            chunk = await anext(self._chunks, None)
        except ClientDisconnect:
            chunk, self._rest = None, b""  # Half a line is no row.
        if chunk is None:
            self._ended = True
            *lines, self._rest = self._rest, b""
        else:
            *lines, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > self._limit:
            raise RequestError(TOO_LARGE, f"a line has more than {self._limit} bytes")
        self._ready += [line for line in lines if line.strip()]
        return True


async def _answered(
    state: ServerState, lines: Lines, writer: _Writer, form: str
) -> AsyncIterator[str]:
    """The acknowledgements; `form` has the brackets of an array."""
    sequence = 0
    if form:
        yield form[0]
    while True:
        try:
            batch = await lines.next(MAX_ROWS)
            if not batch:
                break
            outcomes = await state.run(partial(writer.write, batch))
        except RequestError as error:
            outcomes, batch = [writer.problem(error)], []
        except StreamSQLError as error:
            outcomes = [writer.problem(error)] * len(batch)
        texts = []
        for outcome in outcomes:
            texts.append(json_text(_acknowledgement(outcome, sequence)))
            sequence += 1
        between = ",\n" if form else "\n"
        start = between if form and sequence > len(texts) else ""
        yield start + between.join(texts) + ("" if form else "\n")
        if not batch:
            break
    if form:
        yield form[1] + "\n"


def _acknowledgement(outcome: Mapping[str, Any], sequence: int) -> dict[str, Any]:
    return {"status": "error" if "message" in outcome else "ok", "seq": sequence, **outcome}


class _Writer:
    """Writes rows and returns the error of each. streamsql's own client (`exact`) receives
    unmodified errors and, with the last row, the consistency token."""

    def __init__(self, inserts: RowInserts, exact: bool) -> None:
        self._inserts = inserts
        self._exact = exact

    def write(self, lines: list[bytes]) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        found: list[dict[str, Any]] = []
        for line in lines:
            try:
                row = parse_json(line, "the row", Decimal, says("malformed-row"))
                rows.append(as_object(row, "the row"))
                found.append({})
            except RequestError as error:
                found.append(self.problem(error))
        outcomes = iter(self._inserts.write(rows))
        for place, known in enumerate(found):
            if not known and (wrong := next(outcomes)) is not None:
                found[place] = self.problem(wrong, BAD_STATEMENT)
        if self._exact and self._inserts.token:
            found[-1]["token"] = self._inserts.token
        return found

    def problem(self, error: RequestError | StreamSQLError, code: int = 0) -> dict[str, Any]:
        body = failure(error).body
        told = {"error_code": code or body["error_code"], "message": body["message"]}
        if not self._exact:
            return told
        known = error if isinstance(error, StreamSQLError) else ConfigError(error.message)
        return {**told, "error": encode_error(known, "")}


ROUTES = [Route("/inserts-stream", inserts_stream, methods=["POST"])]
