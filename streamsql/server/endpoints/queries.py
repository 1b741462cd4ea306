"""POST /query, /query-stream and /close-query: one SELECT or PRINT, with rows as its response. With
EMIT, rows are sent while the client is connected (query_stream.py); otherwise the response is
complete (answers.py)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Scope

from streamsql.engine import Script
from streamsql.errors import StreamSQLError
from streamsql.ksqldb import says
from streamsql.results import Answer, LineStream, RowStream
from streamsql.server.endpoints.query_stream import LineStreamResponse, RowStreamResponse, schema_of
from streamsql.server.http.errors import BAD_REQUEST, BAD_STATEMENT, STATEMENT, Failure, failure
from streamsql.server.http.media import (
    DELIMITED,
    JSON,
    KSQL_JSON,
    PROTOBUF,
    accepted,
    check_content_type,
)
from streamsql.server.http.requests import as_object, parse_json, read_body
from streamsql.server.rows.answers import AnswerResponse, AnswerWriter, Piece
from streamsql.server.rows.streamed_rows import FORMS
from streamsql.server.state.server_state import ServerState, state_of, statement_request
from streamsql.session import Session

QUERY_FORMS = (KSQL_JSON, JSON, DELIMITED, PROTOBUF)
STREAM_FORMS = (DELIMITED, JSON, KSQL_JSON, PROTOBUF)


async def query(request: Request) -> Response:
    """POST /query: JSON means ksqlDB's rows here."""
    media = accepted(request, QUERY_FORMS)
    return await _answer(request, KSQL_JSON if media == JSON else media)


async def query_stream(request: Request) -> Response:
    return await _answer(request, accepted(request, STREAM_FORMS))


async def _answer(request: Request, media: str) -> Response:
    check_content_type(request)
    state = state_of(request)
    given = await statement_request(request)
    asked = Asked(state, request.scope, given.sql, state.session(given))
    try:
        soon = state.engine.lookup_soon(given.sql, asked.session)
        if soon is not None and (answer := await soon) is not None:
            return AnswerResponse(*_begun(answer, media), state)
        begun = await state.run(partial(_begin, asked, media))
        if begun is not None:
            return AnswerResponse(*begun, state)
        return await _push(asked, media)
    except QueryRefused as refused:
        return refused.failure.response()
    except StreamSQLError as error:
        return failure(error, given.sql).response()


class QueryRefused(Exception):
    """A text that is not one SELECT or PRINT, with its response."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(frozen=True)
class Asked:
    """The text of a request in its session. All methods block and run in a thread."""

    state: ServerState
    scope: Scope
    sql: str
    session: Session

    def script(self) -> Script:
        """The parsed SELECT or PRINT; QueryRefused for anything else."""
        script = self.state.script(self.scope, self.sql, self.session)
        if script.error is not None:
            raise QueryRefused(failure(script.error, self.sql.strip()))
        if (found := len(script.statements)) != 1:
            message = f"Expected exactly one KSQL statement; found {found} instead"
            raise QueryRefused(Failure(BAD_REQUEST, message))
        if not script.statements[0].is_query:
            known = says("statement-type", type=script.statements[0].kind)
            more = {"statementText": self.sql, "entities": []}
            message = f"{_ELSEWHERE}\n{known.text()}"
            raise QueryRefused(Failure(BAD_STATEMENT, message, STATEMENT, more))
        return script

    def first(self, kind: Any) -> Any:
        """The result with the rows; preceding messages are not part of the response."""
        for result in self.state.engine.execute(self.script(), self.session):
            if isinstance(result, kind):
                return result
        raise AssertionError("a query gave no rows")


_ELSEWHERE = "This endpoint accepts SELECT and PRINT only; use /ksql for other statements."


def _begin(asked: Asked, media: str) -> tuple[AnswerWriter, Piece] | None:
    """The start of a complete response; None for a continuous query."""
    engine = asked.state.engine
    answer = engine.lookup(asked.sql, asked.session)
    if answer is None:
        script = asked.script()
        if script.statements[0].continuous:
            return None
        answer = engine.lookup(script, asked.session) or asked.first(Answer)
    return _begun(answer, media)


def _begun(answer: Answer, media: str) -> tuple[AnswerWriter, Piece]:
    writer = AnswerWriter(answer, FORMS[media](answer.query_id, answer.schema, False))
    return writer, writer.first()


async def _push(asked: Asked, media: str) -> Response:
    state = asked.state
    state.running.reserve()
    try:
        stream = await state.run(partial(asked.first, RowStream | LineStream))
        return _stream_response(stream, media, state)
    except BaseException:
        state.running.release()
        raise


def _stream_response(stream: RowStream | LineStream, media: str, state: ServerState) -> Response:
    bound = state.config.push_buffer_rows
    if isinstance(stream, LineStream):
        return LineStreamResponse(stream, state.running, bound)
    try:
        form = FORMS[media](stream.query_id, schema_of(stream), True)
    except StreamSQLError:
        stream.cancel()
        raise
    return RowStreamResponse(stream, form, state.running, bound)


async def close_query(request: Request) -> Response:
    """POST /close-query: ends a push query of any client."""
    check_content_type(request)
    state = state_of(request)
    body = parse_json(await read_body(request, state.config.max_request_bytes))
    query_id = as_object(body, "the request").get("queryId")
    if not isinstance(query_id, str):
        return Failure(BAD_REQUEST, 'the request has no "queryId"').response()
    if not state.running.close(query_id):
        return Failure(BAD_REQUEST, f"No query with id {query_id}").response()
    return JSONResponse({})


ROUTES: Sequence[Route] = [
    Route("/query", query, methods=["POST"]),
    Route("/query-stream", query_stream, methods=["POST"]),
    Route("/close-query", close_query, methods=["POST"]),
]
